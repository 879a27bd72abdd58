// A connection that uses memcached's text protocol.
//
// Lines and values are read in lines.cpp, classic commands are in classic.cpp, and meta commands in
// meta.cpp.
#pragma once

#include <outlast/server/memcached.hpp>
#include <src/server/memcached/item_commands.hpp>
#include <src/server/memcached/meta_flags.hpp>
#include <src/server/memcached/text.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace outlast::server::memcached {

inline constexpr std::string_view bad_format = "CLIENT_ERROR bad command line format";
inline constexpr std::string_view not_numeric =
    "CLIENT_ERROR cannot increment or decrement non-numeric value";
inline constexpr std::string_view no_memory = "SERVER_ERROR out of memory storing object";

class text_conversation final : public conversation, private item_commands {
 public:
  text_conversation(item_space& space, const memcached_options& options,
                    memcached_counters& counters)
      : item_commands(space, options, counters) {}

  fed feed(std::string_view bytes, std::int64_t now_ms, std::string& replies) override;

 private:
  enum class phase : std::uint8_t { line, value, swallow };
  struct command {
    std::string_view name;
    std::size_t min_words;
    std::size_t max_words;
    void (text_conversation::*run)(const arguments&);
  };
  static const std::array<command, 18> commands;

  // lines.cpp
  std::size_t take_line(std::string_view bytes);
  std::size_t take_value(std::string_view bytes);
  std::size_t take_swallowed(std::string_view bytes);
  void extend_line(std::string_view more);
  void run_line(std::string_view line);
  void run_value(std::string_view value_and_end);
  void execute(std::string_view line);
  template <class Work>
  void run_guarded(Work&& work);
  void fail(std::string_view text, bool has_paused);

  /// Adds a line to the replies, unless the client suppressed them (noreply).
  void answer(std::string_view line) {
    if (!is_quiet_) out_->append(line).append("\r\n");
  }
  /// Lets the next bytes be the value of `request`, or discards them if they are too many.
  void expect_value(std::size_t size, bool erases_if_too_large);
  [[nodiscard]] std::string_view stored_key() const noexcept {
    return is_meta_ ? flags_.key() : key_.view();
  }
  void swallow(std::size_t size) noexcept {
    left_ = size + 2;
    phase_ = phase::swallow;
  }

  // classic.cpp
  void get_items(std::string_view line, words keys, bool has_unique);
  void touch_items(std::string_view line, words keys, bool has_unique);
  template <class Show>
  void show_items(std::string_view line, words keys, Show&& show);
  void add_value(std::string_view key, const item& found, bool has_unique);
  void read_quiet(const arguments& of) noexcept { is_quiet_ = of.last() == "noreply"; }
  void begin_store(const arguments& of, store_mode mode);
  void run_set(const arguments& of) { begin_store(of, store_mode::set); }
  void run_add(const arguments& of) { begin_store(of, store_mode::add); }
  void run_replace(const arguments& of) { begin_store(of, store_mode::replace); }
  void run_append(const arguments& of) { begin_store(of, store_mode::append); }
  void run_prepend(const arguments& of) { begin_store(of, store_mode::prepend); }
  void run_cas(const arguments& of) { begin_store(of, store_mode::set); }
  void run_incr(const arguments& of) { run_count(of, false); }
  void run_decr(const arguments& of) { run_count(of, true); }
  void run_count(const arguments& of, bool decreases);
  void run_touch(const arguments& of);
  void run_delete(const arguments& of);
  void run_flush_all(const arguments& of);
  void run_stats(const arguments& of);
  void run_stats_detail(const arguments& of);
  void run_version(const arguments& of);
  void run_verbosity(const arguments& of);
  void run_cache_memlimit(const arguments& of);
  void run_quit(const arguments& of);
  void run_shutdown(const arguments& of);
  void run_durable(const arguments& of);

  // meta.cpp
  /// Executes a meta command. Returns false if the name is none of them.
  bool run_meta(std::string_view name, words rest);
  void meta_get(const meta_flags& flags);
  void meta_get_and_change(const meta_flags& flags, const std::optional<item>& before);
  void meta_set(std::string_view key, words rest);
  void meta_stored(store_outcome outcome, std::uint64_t unique);
  void meta_delete(const meta_flags& flags);
  remove_outcome invalidate(const meta_flags& flags);
  void meta_count(const meta_flags& flags);
  void meta_debug(std::string_view key, words rest);
  void add_hit(const meta_flags& flags, const item& found, bool is_created, bool has_won);
  void add_meta_reply(std::string_view code, const meta_flags& flags);
  void add_counted(const meta_flags& flags, const count_result& result);

  bool is_quiet_ = false;  ///< the current command has no replies

  phase phase_ = phase::line;
  std::string line_;            ///< the beginning of a line that is not complete
  bool line_is_whole_ = false;  ///< `line_` is complete, and its command has paused
  std::size_t resumes_at_ = 0;  ///< offset in the line of a command that has paused; 0: none

  store_request request_;  ///< of the value that is read
  key_copy key_;
  bool is_meta_ = false;
  meta_flags flags_;
  std::size_t value_bytes_ = 0;
  std::string value_;     ///< the part that has arrived, if the value is cut
  std::size_t left_ = 0;  ///< bytes to discard
};

}  // namespace outlast::server::memcached
