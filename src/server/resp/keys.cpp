// Commands about keys.
#include <outlast/base/function_ref.hpp>

#include <src/server/resp/changes.hpp>
#include <src/server/resp/commands.hpp>
#include <src/server/resp/error_texts.hpp>
#include <src/server/resp/session.hpp>
#include <src/server/resp/words.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace outlast::server::resp {
namespace {

/// Size of a key's head and of its place in a table, for MEMORY USAGE.
constexpr std::size_t overhead_bytes = 64;

/// Executes `work` as one change if the command has several keys.
void together_if_several(session& to, std::size_t keys, base::function_ref<void()> work) {
  if (keys == 1) return work();
  to.together(work);
}

/// Returns how many of the keys are present.
std::int64_t count_present(session& to, arguments keys, use how) {
  std::int64_t present = 0;
  together_if_several(to, keys.size(), [&] {
    for (const std::string_view key : keys) {
      present += to.look(key, how, [](const item&) {}) ? 1 : 0;
    }
  });
  return present;
}

/// Moves the item of a key to another key. Returns false if there is none, or if `must_be_free` and
/// the other key is present.
enum class move_result { moved, absent, taken };

move_result move_item(session& to, std::string_view from, std::string_view target,
                      bool must_be_free) {
  move_result result = move_result::moved;
  change_together(to, [&](undo_list& before) {
    std::vector<copied_item> found;
    if (!to.look(from, use::does_not_count, [&](const item& seen) { found.emplace_back(seen); })) {
      result = move_result::absent;
      return;
    }
    if (from == target) {
      result = must_be_free ? move_result::taken : move_result::moved;
      return;
    }
    to.change(target, [&](const item* old) {
      if (old != nullptr && must_be_free) {
        result = move_result::taken;
        return nothing();
      }
      before.note(target, old);
      return found.front().stored();
    });
    if (result == move_result::moved) to.change(from, [](const item*) { return erased(); });
  });
  return result;
}

/// Returns the number, or nothing if `text` is not decimal digits of a cursor. An empty text is 0,
/// as for Redis.
std::optional<std::uint64_t> cursor_of(std::string_view text) noexcept {
  std::uint64_t number = 0;
  if (text.empty()) return number;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc() || stop != end) return std::nullopt;
  return number;
}

/// The options of SCAN.
struct scan_options {
  std::string_view pattern = "*";
  std::size_t count = 10;
  bool has_type = true;  ///< whether the wanted type is that of a string
};

std::optional<scan_options> scan_options_of(session& to, arguments words) {
  scan_options found;
  for (std::size_t at = 2; at < words.size(); at += 2) {
    const bool has_value = at + 1 < words.size();
    if (has_value && is_word(words[at], "match")) {
      found.pattern = words[at + 1];
    } else if (has_value && is_word(words[at], "type")) {
      found.has_type = is_word(words[at + 1], "string");
    } else if (has_value && is_word(words[at], "count")) {
      const std::optional<std::int64_t> count = integer_of(words[at + 1]);
      if (!count) {
        to.refuse_integer();
        return std::nullopt;
      }
      if (*count < 1) {
        to.refuse_syntax();
        return std::nullopt;
      }
      found.count = static_cast<std::size_t>(*count);
    } else {
      to.refuse_syntax();
      return std::nullopt;
    }
  }
  return found;
}

/// Returns the encoding that Redis would choose for a new string.
std::string_view encoding_of(std::string_view value) noexcept {
  constexpr std::size_t max_embedded_bytes = 44;
  if (integer_of(value)) return "int";
  return value.size() <= max_embedded_bytes ? "embstr" : "raw";
}

}  // namespace

namespace commands {

void del(session& to, arguments words) {
  const arguments keys = words.subspan(1);
  std::int64_t removed = 0;
  together_if_several(to, keys.size(), [&] {
    for (const std::string_view key : keys) {
      const change_result done =
          to.change(key, [](const item* old) { return old == nullptr ? nothing() : erased(); });
      removed += done.changed ? 1 : 0;
    }
  });
  to.out.integer(removed);
}

void exists(session& to, arguments words) {
  to.out.integer(count_present(to, words.subspan(1), use::does_not_count));
}

void touch(session& to, arguments words) {
  to.out.integer(count_present(to, words.subspan(1), use::counts));
}

void type(session& to, arguments words) {
  const bool is_present = to.look(words[1], use::does_not_count, [](const item&) {});
  to.out.simple(is_present ? "string" : "none");
}

void keys(session& to, arguments words) {
  std::vector<std::string> found;
  std::size_t bytes = 0;
  std::uint64_t cursor = 0;
  do {
    cursor = to.scan(cursor, 1024, [&](std::string_view key, const item&) {
      if (bytes > to.options().limits.reply_bytes || !matches(words[1], key)) return;
      bytes += key.size() + 16;
      found.emplace_back(key);
    });
  } while (cursor != 0 && bytes <= to.options().limits.reply_bytes);
  // The walk may visit a key twice.
  std::ranges::sort(found);
  const auto repeated = std::ranges::unique(found);
  found.erase(repeated.begin(), repeated.end());
  to.out.array(found.size());
  for (const std::string& key : found) to.out.bulk(key);
}

void scan(session& to, arguments words) {
  const std::optional<std::uint64_t> cursor = cursor_of(words[1]);
  if (!cursor) return to.out.error("ERR invalid cursor");
  const std::optional<scan_options> chosen = scan_options_of(to, words);
  if (!chosen) return;
  std::vector<std::string> found;
  std::size_t bytes = 0;
  const std::uint64_t next =
      to.scan(*cursor, chosen->count, [&](std::string_view key, const item&) {
        if (!chosen->has_type || !matches(chosen->pattern, key)) return;
        bytes += key.size();
        if (bytes <= to.options().limits.reply_bytes) found.emplace_back(key);
      });
  to.out.array(2);
  to.out.bulk(std::to_string(next));
  to.out.array(found.size());
  for (const std::string& key : found) to.out.bulk(key);
}

/// Chooses among the next keys of a walk that this connection continues with each call.
void randomkey(session& to, arguments /*words*/) {
  std::string chosen;
  std::uint64_t visited = 0;
  const std::uint64_t began = to.random_cursor;
  bool has_begun_again = began == 0;
  std::size_t max_count = 16;
  while (visited == 0) {
    const std::size_t count = 1 + to.next_random() % max_count;
    if (max_count < 4096) max_count *= 2;  // An empty part of a large table is left soon.
    to.random_cursor = to.scan(to.random_cursor, count, [&](std::string_view key, const item&) {
      if (to.next_random() % ++visited == 0) chosen = key;
    });
    if (to.random_cursor != 0 || visited > 0) continue;
    if (has_begun_again) return to.out.null();
    has_begun_again = true;
  }
  to.out.bulk(chosen);
}

void rename(session& to, arguments words) {
  if (move_item(to, words[1], words[2], false) == move_result::absent) {
    return to.out.error("ERR no such key");
  }
  to.out.ok();
}

void renamenx(session& to, arguments words) {
  const move_result result = move_item(to, words[1], words[2], true);
  if (result == move_result::absent) return to.out.error("ERR no such key");
  to.out.integer(result == move_result::moved ? 1 : 0);
}

void copy(session& to, arguments words) {
  bool replaces = false;
  for (std::size_t at = 3; at < words.size(); ++at) {
    if (is_word(words[at], "replace")) {
      replaces = true;
    } else if (is_word(words[at], "db") && at + 1 < words.size()) {
      if (!to.accept_database(words[++at])) return;
    } else {
      return to.refuse_syntax();
    }
  }
  if (words[1] == words[2]) {
    return to.out.error("ERR source and destination objects are the same");
  }
  bool is_copied = false;
  to.together([&] {
    std::vector<copied_item> found;
    to.look(words[1], use::does_not_count, [&](const item& seen) { found.emplace_back(seen); });
    if (found.empty()) return;
    to.change(words[2], [&](const item* old) {
      is_copied = old == nullptr || replaces;
      return is_copied ? found.front().stored() : nothing();
    });
  });
  to.out.integer(is_copied ? 1 : 0);
}

void dbsize(session& to, arguments /*words*/) {
  to.out.integer(static_cast<std::int64_t>(to.space().items()));
}

void object_encoding(session& to, arguments words) {
  const bool is_present = to.look(words[2], use::does_not_count, [&](const item& found) {
    to.out.bulk(encoding_of(found.value));
  });
  if (!is_present) to.out.null();
}

void object_idletime(session& to, arguments words) {
  const bool is_present = to.look(words[2], use::does_not_count, [&](const item& found) {
    const std::int64_t idle_ms = found.accessed_ms == 0 ? 0 : to.now_ms() - found.accessed_ms;
    to.out.integer(std::max<std::int64_t>(idle_ms, 0) / 1000);
  });
  if (!is_present) to.out.null();
}

void object_refcount(session& to, arguments words) {
  const bool is_present =
      to.look(words[2], use::does_not_count, [&](const item&) { to.out.integer(1); });
  if (!is_present) to.out.null();
}

void object_freq(session& to, arguments words) {
  if (!to.look(words[2], use::does_not_count, [](const item&) {})) return to.out.null();
  to.out.error(error_texts::no_frequency);
}

void memory_usage(session& to, arguments words) {
  for (std::size_t at = 3; at < words.size(); at += 2) {
    if (!is_word(words[at], "samples") || at + 1 == words.size()) return to.refuse_syntax();
    const std::optional<std::int64_t> samples = integer_of(words[at + 1]);
    if (!samples) return to.refuse_integer();
    if (*samples < 0) return to.refuse_syntax();
  }
  const bool is_present = to.look(words[2], use::does_not_count, [&](const item& found) {
    const std::size_t bytes = words[2].size() + found.value.size() + overhead_bytes;
    to.out.integer(static_cast<std::int64_t>(bytes));
  });
  if (!is_present) to.out.null();
}

}  // namespace commands

}  // namespace outlast::server::resp
