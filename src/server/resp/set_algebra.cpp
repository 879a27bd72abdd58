// Unions, intersections and differences of sets.
#include <src/server/resp/changes.hpp>
#include <src/server/resp/commands.hpp>
#include <src/server/resp/elements.hpp>
#include <src/server/resp/session.hpp>
#include <src/server/resp/words.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace outlast::server::resp {
namespace {

using member_set = std::set<std::string, std::less<>>;

enum class set_operation { union_of, intersection, difference };

void add_members_of(session& to, std::string_view key, copy_budget& budget, member_set& into) {
  read_elements(to, key, item_type::set, [&](const elements& members) {
    members.walk([&](std::string_view name, std::string_view) {
      if (!into.contains(name)) {
        budget.take(sizeof(std::string) + name.size());
        into.emplace(name);
      }
      return true;
    });
  });
}

/// Removes the members that the set of a key has, or those that it has not.
void filter(session& to, std::string_view key, bool keeps_common, member_set& found) {
  const bool is_present = read_elements(to, key, item_type::set, [&](const elements& members) {
    std::erase_if(found,
                  [&](const std::string& name) { return members.has(name) != keeps_common; });
  });
  if (!is_present && keeps_common) found.clear();
}

/// Returns the place of the smallest set. Throws a refusal if a key has another type.
std::size_t smallest_of(session& to, arguments keys) {
  std::size_t smallest = 0;
  std::uint64_t min_size = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::uint64_t size = 0;
    read_elements(to, keys[i], item_type::set,
                  [&](const elements& members) { size = members.size(); });
    if (i == 0 || size < min_size) {
      smallest = i;
      min_size = size;
    }
  }
  return smallest;
}

/// Requires: the call is part of one change, so that all sets are read at one time.
member_set compute(session& to, arguments keys, set_operation what) {
  const std::size_t smallest = smallest_of(to, keys);
  const std::size_t first = what == set_operation::intersection ? smallest : 0;
  member_set found;
  copy_budget budget(to);
  add_members_of(to, keys[first], budget, found);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i == first) continue;
    if (what == set_operation::union_of) {
      add_members_of(to, keys[i], budget, found);
    } else if (!found.empty()) {
      filter(to, keys[i], what == set_operation::intersection, found);
    }
  }
  return found;
}

void write_set(session& to, arguments words, set_operation what) {
  member_set found;
  to.together([&] { found = compute(to, words.subspan(1), what); });
  to.out.set(found.size());
  for (const std::string& name : found) {
    if (to.out.is_full()) return;
    to.out.bulk(name);
  }
}

void store_set(session& to, arguments words, set_operation what) {
  std::size_t size = 0;
  to.together([&] {
    const member_set found = compute(to, words.subspan(2), what);
    size = found.size();
    if (found.empty()) {
      to.change(words[1], [](const item* old) { return old == nullptr ? nothing() : erased(); });
      return;
    }
    replace_elements(to, words[1], item_type::set, [&](edited_elements& members) {
      for (const std::string& name : found) members.put(name, "");
    });
  });
  to.out.integer(static_cast<std::int64_t>(size));
}

/// Reads the option of SINTERCARD. Adds an error and returns nothing if it is wrong. 0: no limit.
std::optional<std::size_t> limit_of(session& to, arguments options) {
  std::size_t limit = 0;
  for (std::size_t at = 0; at < options.size(); at += 2) {
    if (!is_word(options[at], "limit") || at + 1 == options.size()) {
      to.refuse_syntax();
      return std::nullopt;
    }
    const std::optional<std::int64_t> number = integer_of(options[at + 1]);
    if (!number || *number < 0) {
      to.out.error("ERR LIMIT can't be negative");
      return std::nullopt;
    }
    limit = static_cast<std::size_t>(*number);
  }
  return limit;
}

}  // namespace

namespace commands {

void sinter(session& to, arguments words) { write_set(to, words, set_operation::intersection); }
void sunion(session& to, arguments words) { write_set(to, words, set_operation::union_of); }
void sdiff(session& to, arguments words) { write_set(to, words, set_operation::difference); }
void sinterstore(session& to, arguments words) {
  store_set(to, words, set_operation::intersection);
}
void sunionstore(session& to, arguments words) { store_set(to, words, set_operation::union_of); }
void sdiffstore(session& to, arguments words) { store_set(to, words, set_operation::difference); }

void sintercard(session& to, arguments words) {
  const std::optional<std::int64_t> number = integer_of(words[1]);
  if (!number || *number < 1) return to.out.error("ERR numkeys should be greater than 0");
  const std::size_t left = words.size() - 2;
  if (*number > static_cast<std::int64_t>(left)) {
    return to.out.error("ERR Number of keys can't be greater than number of args");
  }
  const auto count = static_cast<std::size_t>(*number);
  const std::optional<std::size_t> limit = limit_of(to, words.subspan(2 + count));
  if (!limit) return;
  std::size_t size = 0;
  to.together(
      [&] { size = compute(to, words.subspan(2, count), set_operation::intersection).size(); });
  if (*limit != 0) size = std::min(size, *limit);
  to.out.integer(static_cast<std::int64_t>(size));
}

}  // namespace commands

}  // namespace outlast::server::resp
