// A connection's state, and the calls of the key space that commands make.
#pragma once

#include <outlast/base/function_ref.hpp>
#include <outlast/server/conversation.hpp>
#include <outlast/server/items.hpp>
#include <outlast/server/resp.hpp>

#include <src/server/resp/command_table.hpp>
#include <src/server/resp/reply_writer.hpp>
#include <src/server/resp/request_parser.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::server::resp {

/// What a client has set about its connection.
struct client_state {
  std::string name;
  std::string library;
  std::string library_version;
  bool has_no_replies = false;  ///< CLIENT REPLY OFF
  bool skips_this_reply = false;
  bool skips_next_reply = false;  ///< CLIENT REPLY SKIP
  bool is_authenticated = false;
  bool is_durable = false;  ///< replies wait until they are durable
  bool touches = true;      ///< reads count as uses
};

/// A key whose change makes the next EXEC answer nothing.
struct watched_key {
  std::string key;
  std::uint64_t unique;  ///< of the item; 0: it was absent
  std::int64_t expires_ms;
};

/// A command after MULTI.
struct queued_command {
  const command* which;
  std::string bytes;               ///< of its words, one after the other
  std::vector<std::size_t> sizes;  ///< of its words
};

/// The state between MULTI and EXEC.
struct transaction_state {
  bool is_open = false;
  bool is_broken = false;  ///< a command was refused; EXEC is refused as well
  std::size_t bytes = 0;   ///< of the queue and of the watched keys
  std::vector<queued_command> queue;
  std::vector<watched_key> watched;
};

/// The conversation. Its public members are for the functions of the commands.
class session final : public conversation {
 public:
  session(item_space& space, const resp_options& options, resp_counters& counters,
          const resp_ends& ends);
  ~session() override;
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  fed feed(std::string_view bytes, std::int64_t now_ms, std::string& replies) override;

  /// Reads the item of `key`. Returns false if it is absent.
  bool look(std::string_view key, item_space::reader reader) { return look(key, how(), reader); }
  bool look(std::string_view key, use how, item_space::reader reader);
  /// Changes the item of `key`. Throws as item_space::modify().
  change_result change(std::string_view key, item_space::decider decide);
  /// As look() and change(), for an item that is a string or absent. Throws a refusal if not.
  bool look_string(std::string_view key, item_space::reader reader);
  change_result change_string(std::string_view key, item_space::decider decide);
  /// As look() and change(), with the parts of the item. Requires: the space has parts.
  bool look_parts(std::string_view key, use how, item_space::parts_reader reader);
  change_result change_parts(std::string_view key, item_space::parts_decider decide);
  /// Makes the calls of `work` one change. Calls inside a transaction belong to it.
  void together(base::function_ref<void()> work);
  void erase_all();
  std::uint64_t scan(std::uint64_t cursor, std::size_t count, item_space::visitor visit);

  /// Executes a command whose words are accepted. An error of the space becomes its reply.
  void call(const command& which, arguments words);
  /// Adds the error of a wrong number of words.
  void refuse_arity(std::string_view name);
  void refuse_syntax() { out.error("ERR syntax error"); }
  /// Reads the number of a database. Adds an error and returns false if it is not 0.
  bool accept_database(std::string_view text);
  void refuse_integer() { out.error("ERR value is not an integer or out of range"); }

  /// Forgets the queued commands and the watched keys.
  void end_transaction();
  /// Returns whether `bytes` more may be kept for the transaction. Counts them if so.
  bool reserve_queue(std::size_t bytes);
  /// Resets what RESET does: transaction, name, protocol, password.
  void reset();
  /// Authenticates if the password is right. Adds an error and returns false if not.
  bool authenticate(std::string_view user, std::string_view password);
  /// Makes the replies wait until the changes of this connection are durable. Returns false inside
  /// a transaction, whose commands never wait.
  bool wait_for_changes() noexcept;
  /// Switches whether all replies wait until they are durable.
  void set_durable(bool is_durable);
  void close() noexcept { closes_ = true; }

  [[nodiscard]] item_space& space() const noexcept { return space_; }
  [[nodiscard]] const resp_options& options() const noexcept { return options_; }
  [[nodiscard]] resp_counters& counters() const noexcept { return counters_; }
  [[nodiscard]] const resp_ends& ends() const noexcept { return ends_; }
  [[nodiscard]] std::int64_t now_ms() const noexcept { return now_ms_; }
  [[nodiscard]] std::int64_t created_ms() const noexcept { return created_ms_; }
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  [[nodiscard]] token last_change() const noexcept { return last_change_; }
  [[nodiscard]] std::size_t held_bytes() const noexcept { return parser_.held_bytes(); }
  [[nodiscard]] use how() const noexcept {
    return client.touches ? use::counts : use::does_not_count;
  }
  /// Returns a number that differs from call to call, without secrecy.
  [[nodiscard]] std::uint64_t next_random() noexcept;

  reply_writer out;
  client_state client;
  transaction_state transaction;
  std::uint64_t random_cursor = 0;  ///< from which RANDOMKEY continues its walk
  std::string_view running;         ///< name of the command that is executed

 private:
  void execute(arguments words);
  /// Returns the command of a request, or adds an error and returns nullptr.
  const command* admit(arguments words);
  void refuse_unknown(arguments words);
  /// Returns why a command is not executed or queued now; empty: it is.
  [[nodiscard]] std::string refusal_of(const command& which, std::size_t words) const;
  void abort_exec(std::string_view refusal);
  void enqueue(const command& which, arguments words);
  void note_change(token version) noexcept;
  bool note_look(bool found);
  void note_decision(const change_result& done, bool was_there);
  void note_seen(token version) noexcept;
  [[nodiscard]] request_limits limits() const noexcept;
  void count(std::size_t input_bytes, std::size_t output_bytes) noexcept;

  item_space& space_;
  const resp_options& options_;
  resp_counters& counters_;
  const resp_ends ends_;
  const std::uint64_t id_;
  request_parser parser_;
  std::int64_t now_ms_ = 0;
  std::int64_t created_ms_ = 0;
  token version_ = 0;      ///< of the replies of this call
  token last_change_ = 0;  ///< of this connection
  token last_seen_ = 0;    ///< of the items that were read
  std::uint64_t random_ = 0;
  std::uint64_t commands_ = 0;  ///< not added to the counters yet, as the next three
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
  std::uint64_t counted_errors_ = 0;
  bool waits_ = false;
  bool closes_ = false;
  bool is_together_ = false;
};

}  // namespace outlast::server::resp
