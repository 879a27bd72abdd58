// Commands of one set, and SMOVE.
#include <src/server/resp/commands.hpp>
#include <src/server/resp/element_replies.hpp>
#include <src/server/resp/elements.hpp>
#include <src/server/resp/random_elements.hpp>
#include <src/server/resp/session.hpp>
#include <src/server/resp/words.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::server::resp {
namespace {

constexpr item_type set_type = item_type::set;

/// Removes `count` random members and returns them.
std::vector<copied_element> pop_members(session& to, std::string_view key, std::uint64_t count) {
  std::vector<copied_element> popped;
  edit_elements(to, key, set_type, [&](edited_elements& members) {
    popped = distinct_elements(to, members, count);
    for (const copied_element& each : popped) members.remove(each.name);
  });
  return popped;
}

/// Moves a member that is present. Requires: the keys differ, and the call is part of one change.
void move_member(session& to, std::string_view from, std::string_view target,
                 std::string_view member) {
  bool is_new = false;
  edit_elements(to, target, set_type, [&](edited_elements& members) {
    is_new = !members.has(member);
    if (is_new) members.put(member, "");
  });
  const auto remove = [&](edited_elements& members) { members.remove(member); };
  try {
    edit_elements(to, from, set_type, remove);
  } catch (const std::exception&) {
    // The space refuses the removal: the command must have no effect.
    if (is_new) edit_elements(to, target, set_type, remove);
    throw;
  }
}

}  // namespace

namespace commands {

void sadd(session& to, arguments words) {
  std::int64_t added = 0;
  edit_elements(to, words[1], set_type, [&](edited_elements& members) {
    for (const std::string_view member : words.subspan(2)) {
      if (members.has(member)) continue;
      members.put(member, "");
      ++added;
    }
  });
  to.out.integer(added);
}

void srem(session& to, arguments words) { remove_elements(to, words, set_type); }
void scard(session& to, arguments words) { write_size(to, words[1], set_type); }

void sismember(session& to, arguments words) {
  bool is_present = false;
  read_elements(to, words[1], set_type,
                [&](const elements& members) { is_present = members.has(words[2]); });
  to.out.integer(is_present ? 1 : 0);
}

void smismember(session& to, arguments words) {
  const arguments names = words.subspan(2);
  to.out.array(names.size());
  const bool is_present = read_elements(to, words[1], set_type, [&](const elements& members) {
    for (const std::string_view name : names) to.out.integer(members.has(name) ? 1 : 0);
  });
  if (is_present) return;
  for (std::size_t i = 0; i < names.size(); ++i) to.out.integer(0);
}

void smembers(session& to, arguments words) {
  const bool is_present = read_elements(to, words[1], set_type, [&](const elements& members) {
    to.out.set(static_cast<std::size_t>(members.size()));
    members.walk([&](std::string_view name, std::string_view) {
      to.out.bulk(name);
      return !to.out.is_full();
    });
  });
  if (!is_present) to.out.set(0);
}

void spop(session& to, arguments words) {
  if (words.size() > 3) return to.refuse_syntax();
  std::optional<std::uint64_t> count = 1;
  if (words.size() == 3) count = count_of(to, words[2]);
  if (!count) return;
  const std::vector<copied_element> popped = pop_members(to, words[1], *count);
  if (words.size() == 2) return popped.empty() ? to.out.null() : to.out.bulk(popped[0].name);
  to.out.set(popped.size());
  for (const copied_element& each : popped) to.out.bulk(each.name);
}

void srandmember(session& to, arguments words) {
  if (words.size() > 3) return to.refuse_syntax();
  const auto write_nothing = [](std::string_view) {};
  random_reply reply(to, set_type, false, write_nothing);
  if (words.size() == 2) return reply.write_one(words[1]);
  const std::optional<std::int64_t> count = random_count_of(to, words);
  if (count) reply.write_several(words[1], *count);
}

void smove(session& to, arguments words) {
  bool is_present = false;
  to.together([&] {
    const bool has_source = read_elements(to, words[1], set_type, [&](const elements& members) {
      is_present = members.has(words[3]);
    });
    if (!has_source) return;
    read_elements(to, words[2], set_type, [](const elements&) {});
    if (is_present && words[1] != words[2]) move_member(to, words[1], words[2], words[3]);
  });
  to.out.integer(is_present ? 1 : 0);
}

void sscan(session& to, arguments words) {
  scan_elements(to, words, set_type, [](std::string_view) {});
}

}  // namespace commands

}  // namespace outlast::server::resp
