// Commands about keys.
#include <outlast/base/function_ref.hpp>

#include <src/server/resp/changes.hpp>
#include <src/server/resp/commands.hpp>
#include <src/server/resp/error_texts.hpp>
#include <src/server/resp/scan_options.hpp>
#include <src/server/resp/session.hpp>
#include <src/server/resp/words.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::server::resp {
namespace {

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
    const std::optional<copied_item> found = copy_of(to, from);
    if (!found) {
      result = move_result::absent;
      return;
    }
    if (from == target) {
      result = must_be_free ? move_result::taken : move_result::moved;
      return;
    }
    const std::optional<copied_item> replaced = copy_of(to, target);
    if (replaced && must_be_free) {
      result = move_result::taken;
      return;
    }
    before.note(target, replaced);
    store_copy(to, target, *found, [](const item*) { return true; });
    to.change(from, [](const item*) { return erased(); });
  });
  return result;
}

std::string_view name_of(item_type type) noexcept {
  switch (type) {
    case item_type::string: return "string";
    case item_type::hash: return "hash";
    case item_type::set: return "set";
    case item_type::sorted_set: return "zset";
    case item_type::list: return "list";
  }
  return "string";
}

std::string_view type_of(const item& of) noexcept {
  return name_of(static_cast<item_type>(of.type));
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
  std::string_view name = "none";
  to.look(words[1], use::does_not_count, [&](const item& found) { name = type_of(found); });
  to.out.simple(name);
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
  const std::optional<scan_options> chosen = scan_options_of(to, words.subspan(2), true);
  if (!chosen) return;
  std::vector<std::string> found;
  std::size_t bytes = 0;
  const std::uint64_t next =
      to.scan(*cursor, chosen->count, [&](std::string_view key, const item& seen) {
        const bool is_wanted = chosen->type.empty() || is_word(chosen->type, type_of(seen));
        if (!is_wanted || !matches(chosen->pattern, key)) return;
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
    const std::optional<copied_item> found = copy_of(to, words[1]);
    if (!found) return;
    is_copied = store_copy(to, words[2], *found,
                           [&](const item* old) { return old == nullptr || replaces; });
  });
  to.out.integer(is_copied ? 1 : 0);
}

void dbsize(session& to, arguments /*words*/) {
  to.out.integer(static_cast<std::int64_t>(to.space().items()));
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

}  // namespace commands

}  // namespace outlast::server::resp
