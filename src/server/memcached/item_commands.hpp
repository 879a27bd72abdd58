// The effects of memcached's commands on items, which its text and binary protocols share.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/base/function_ref.hpp>
#include <outlast/server/memcached.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace outlast::server::memcached {

enum class store_mode : std::uint8_t { set, add, replace, append, prepend };
enum class store_outcome : std::uint8_t { stored, not_stored, exists, not_found };

/// A command that stores a value, without the value.
struct store_request {
  store_mode mode = store_mode::set;
  std::uint32_t flags = 0;
  std::int64_t expires_ms = 0;
  std::optional<std::uint64_t> expected = {};  ///< the number that the item must have
  std::uint64_t unique = 0;                    ///< the number that the item gets; 0: a new one
  bool takes_older = false;  ///< an item with a greater number than `expected` becomes stale
};

/// A command that adds to a number or subtracts from it.
struct count_request {
  std::string_view key = {};
  std::uint64_t delta = 1;
  bool decreases = false;
  std::optional<std::uint64_t> expected = {};
  std::optional<std::int64_t> expires_ms = {};  ///< the new time, if it changes
  std::optional<std::uint64_t> initial = {};    ///< of an item that is created
  std::int64_t initial_expires_ms = 0;          ///< of an item that is created
  std::uint64_t unique = 0;                     ///< the number that the item gets; 0: a new one
};

enum class count_outcome : std::uint8_t { counted, created, exists, not_found, not_a_number };

struct count_result {
  count_outcome outcome = count_outcome::not_found;
  std::uint64_t value = 0;
  std::int64_t old_expires_ms = 0;  ///< of the item before; 0: it was absent, or never expired
  std::uint64_t unique = 0;
};

enum class remove_outcome : std::uint8_t { removed, exists, not_found };

/// Kinds of failures for which the protocols have different replies.
enum class failure_kind : std::uint8_t { collection, no_memory, other };

/// A command reads or changes the value of an item that is no string.
class holds_collection final : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "the key holds a collection"; }
};

inline constexpr std::string_view collection_text =
    "the key holds a collection, which the commands of RESP read and change";

/// Throws holds_collection if an item is no string.
inline void require_string(const item& one) {
  if (one.type != static_cast<std::uint8_t>(item_type::string)) throw holds_collection();
}

/// Returns the change that leaves an item as it is, except for fields that the caller sets.
[[nodiscard]] inline item_change adjusted(const item& old) noexcept {
  item_change change;
  change.what = item_change::kind::adjust;
  change.flags = old.flags;
  change.expires_ms = old.expires_ms;
  change.marks = old.marks;
  return change;
}

/// Clears a buffer, and frees its memory if it is large.
void forget(std::string& buffer);

/// Returns a text without line breaks, as a part of a reply.
[[nodiscard]] std::string on_one_line(std::string_view text);

/// The commands of one connection, and the state that they have in both protocols. A protocol is
/// derived from this class.
class item_commands {
 protected:
  using event = memcached_event;
  using stat_adder = base::function_ref<void(std::string_view name, std::string_view value)>;
  using looker = base::function_ref<void(const item&)>;

  item_commands(item_space& space, const memcached_options& options, memcached_counters& counters)
      : space_(space), options_(options), counters_(counters) {}
  ~item_commands() = default;
  item_commands(const item_commands&) = delete;
  item_commands& operator=(const item_commands&) = delete;

  void begin_call(std::int64_t now_ms, std::string& replies);
  /// Completes the result of a call, and adds its counts to those of the server.
  fed end_call(std::size_t taken);
  [[nodiscard]] bool replies_are_long() const noexcept {
    return out_->size() - first_reply_ >= options_.max_replies_bytes;
  }
  void flush_counts();
  void count(event what, std::uint64_t by = 1) noexcept {
    counts_[static_cast<std::size_t>(what)] += by;
  }
  /// Notes the token of an item that a reply shows, also if the client does not demand it: the
  /// server can demand it for all connections of a port.
  void shown(token version) noexcept {
    shown_ = std::max(version, shown_);
    result_.version = std::max(version, result_.version);
  }
  /// Notes that a key is absent. Its erasure may not be durable yet.
  void missed() { shown(space_.present_token()); }
  [[nodiscard]] std::size_t item_bytes(std::string_view key, std::size_t value_bytes,
                                       std::uint32_t flags) const noexcept;

  /// Does the work of a command. Calls `fail` with the kind of a failure and its text for errors of
  /// the space.
  template <class Work, class Fail>
  void guarded(Work&& work, Fail&& fail) {
    mark_ = out_->size();
    try {
      work();
    } catch (const holds_collection&) {
      fail(failure_kind::collection, collection_text);
    } catch (const out_of_space&) {
      count(event::store_no_memory);
      fail(failure_kind::no_memory, std::string_view());
    } catch (const error& problem) {
      const bool is_full =
          problem.reason() == errc::no_space || problem.reason() == errc::pool_full;
      if (is_full) count(event::store_no_memory);
      fail(is_full ? failure_kind::no_memory : failure_kind::other, on_one_line(problem.what()));
    }
  }

  // item_commands.cpp
  /// Calls `look` with the item of a key. Returns false if it is absent.
  bool get_item(std::string_view key, looker look);
  /// Lets an item expire at another time, and calls `look` with it, maybe several times, as it was.
  /// Returns false if it is absent.
  bool touch_item(std::string_view key, std::int64_t expires_ms, looker look);
  bool get_and_touch_item(std::string_view key, std::int64_t expires_ms, looker look);
  remove_outcome remove_item(std::string_view key, std::optional<std::uint64_t> expected);
  /// Removes an item that a client wanted to replace by one that is too large.
  void remove_outdated(std::string_view key);
  void flush_items(std::int64_t from_ms);

  // changes.cpp
  store_outcome store(std::string_view key, const store_request& request, std::string_view value,
                      std::uint64_t& unique);
  count_result count_item(const count_request& request);

  // stats.cpp
  void general_stats(stat_adder add);
  void settings_stats(std::string_view protocol, stat_adder add);
  void item_stats(stat_adder add);
  void slab_stats(stat_adder add);

  item_space& space_;
  const memcached_options& options_;
  memcached_counters& counters_;

  // Of the current call.
  std::string* out_ = nullptr;
  std::int64_t now_ms_ = 0;
  fed result_;
  std::size_t first_reply_ = 0;  ///< offset of the first reply of this call

  std::size_t mark_ = 0;  ///< offset of the first reply of the current command
  bool is_durable_ = false;
  token shown_ = 0;  ///< the greatest of all items and changes that this connection has seen

 private:
  item_change changed_item(std::string_view key, const store_request& request, const item* old,
                           std::string_view value, store_outcome& outcome) const;
  void count_event_of(const count_request& request, count_outcome outcome) noexcept;

  std::array<std::uint64_t, memcached_counters::events> counts_ = {};  ///< not added yet
};

}  // namespace outlast::server::memcached
