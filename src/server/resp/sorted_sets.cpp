// Commands of sorted sets that name members.
#include <src/server/resp/commands.hpp>
#include <src/server/resp/element_replies.hpp>
#include <src/server/resp/elements.hpp>
#include <src/server/resp/random_elements.hpp>
#include <src/server/resp/refusal.hpp>
#include <src/server/resp/scores.hpp>
#include <src/server/resp/session.hpp>
#include <src/server/resp/words.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::server::resp {
namespace {

constexpr item_type scored = item_type::sorted_set;

/// The options of ZADD.
struct add_options {
  bool if_absent = false;
  bool if_present = false;
  bool if_greater = false;
  bool if_less = false;
  bool counts_changes = false;
  bool adds = false;  ///< INCR

  bool take(std::string_view word) noexcept {
    if (is_word(word, "nx")) {
      if_absent = true;
    } else if (is_word(word, "xx")) {
      if_present = true;
    } else if (is_word(word, "gt")) {
      if_greater = true;
    } else if (is_word(word, "lt")) {
      if_less = true;
    } else if (is_word(word, "ch")) {
      counts_changes = true;
    } else if (is_word(word, "incr")) {
      adds = true;
    } else {
      return false;
    }
    return true;
  }
  /// Returns the error of options that exclude each other, or an empty text.
  [[nodiscard]] std::string_view conflict(std::size_t members) const noexcept {
    if (if_absent && if_present) {
      return "ERR XX and NX options at the same time are not compatible";
    }
    const int conditions = (if_absent ? 1 : 0) + (if_greater ? 1 : 0) + (if_less ? 1 : 0);
    if (conditions > 1) {
      return "ERR GT, LT, and/or NX options at the same time are not compatible";
    }
    if (adds && members > 1) {
      return "ERR INCR option supports a single increment-element pair";
    }
    return {};
  }
  /// Returns whether a member gets the score.
  [[nodiscard]] bool permits(std::optional<double> old, double score) const noexcept {
    if (!old) return !if_present;
    if (if_absent) return false;
    if (if_greater && score <= *old) return false;
    return !if_less || score < *old;
  }
};

/// What ZADD has done.
struct add_result {
  std::int64_t added = 0;
  std::int64_t changed = 0;
  std::optional<double> score;  ///< of the last member, if it was permitted
};

add_result add_members(session& to, std::string_view key, const add_options& chosen,
                       arguments names, const std::vector<double>& scores) {
  add_result result;
  edit_elements(to, key, scored, [&](edited_elements& members) {
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const std::string_view member = names[2 * i + 1];
      const std::optional<double> old = score_in(members, member);
      const double score = chosen.adds && old ? *old + scores[i] : scores[i];
      if (chosen.adds && old && !chosen.if_absent && std::isnan(score)) {
        throw refusal("ERR resulting score is not a number (NaN)");
      }
      if (!chosen.permits(old, score)) continue;
      result.score = score;
      if (old && *old == score) continue;
      put_score(members, member, old, score);
      ++(old ? result.changed : result.added);
    }
  });
  return result;
}

void add_pairs(session& to, std::string_view key, const add_options& chosen, arguments given) {
  std::vector<double> scores;
  for (std::size_t i = 0; i < given.size(); i += 2) {
    const std::optional<double> score = double_of(given[i]);
    if (!score) return to.out.error("ERR value is not a valid float");
    scores.push_back(*score);
  }
  const add_result result = add_members(to, key, chosen, given, scores);
  if (!chosen.adds) {
    return to.out.integer(result.added + (chosen.counts_changes ? result.changed : 0));
  }
  if (result.score) {
    write_score(to, *result.score);
  } else {
    to.out.null();
  }
}

/// Returns the number of members before `member`, in the order that is wanted.
std::optional<std::int64_t> place_of(const elements& members, std::string_view member,
                                     bool is_reversed) {
  const std::optional<double> score = score_in(members, member);
  if (!score) return std::nullopt;
  std::int64_t place = 0;
  const auto visit = [&](std::string_view name, double of) {
    if (of == *score && name == member) return false;
    ++place;
    return true;
  };
  if (is_reversed) {
    walk_scores_back(members, end_order_name(), visit);
  } else {
    walk_scores(members, first_order_name(), visit);
  }
  return place;
}

void write_place(session& to, arguments words, bool is_reversed) {
  const bool has_score = words.size() == 4;
  if (words.size() > 4 || (has_score && !is_word(words[3], "withscore"))) {
    return to.refuse_syntax();
  }
  std::optional<std::int64_t> place;
  double score = 0;
  read_elements(to, words[1], scored, [&](const elements& members) {
    place = place_of(members, words[2], is_reversed);
    if (has_score && place) score = score_in(members, words[2]).value_or(0);
  });
  if (!place) return has_score ? to.out.null_array() : to.out.null();
  if (has_score) to.out.array(2);
  to.out.integer(*place);
  if (has_score) write_score(to, score);
}

/// Removes members from an end, and returns them. An absent key has none.
std::vector<scored_member> pop_scored(session& to, std::string_view key, bool is_highest,
                                      std::uint64_t count) {
  member_list popped(to);
  edit_elements(to, key, scored, [&](edited_elements& members) {
    if (count == 0) return;
    const auto visit = [&](std::string_view member, double score) {
      popped.add(member, score);
      return popped.found.size() != count;
    };
    if (is_highest) {
      walk_scores_back(members, end_order_name(), visit);
    } else {
      walk_scores(members, first_order_name(), visit);
    }
    for (const scored_member& each : popped.found) remove_member(members, each.member);
  });
  return std::move(popped.found);
}

void write_popped(session& to, arguments words, bool is_highest) {
  if (words.size() > 3) return to.refuse_syntax();
  std::optional<std::uint64_t> count = 1;
  if (words.size() == 3) count = count_of(to, words[2]);
  if (!count) return;
  const std::vector<scored_member> popped = pop_scored(to, words[1], is_highest, *count);
  if (words.size() == 3) return write_members(to, popped, true);
  to.out.array(2 * popped.size());  // Without a count it is flat in both protocols.
  for (const scored_member& each : popped) {
    to.out.bulk(each.member);
    write_score(to, each.score);
  }
}

}  // namespace

namespace commands {

void zadd(session& to, arguments words) {
  add_options chosen;
  std::size_t at = 2;
  while (at < words.size() && chosen.take(words[at])) ++at;
  const arguments pairs = words.subspan(at);
  if (pairs.empty() || pairs.size() % 2 != 0) return to.refuse_syntax();
  const std::string_view conflict = chosen.conflict(pairs.size() / 2);
  if (!conflict.empty()) return to.out.error(conflict);
  add_pairs(to, words[1], chosen, pairs);
}

void zincrby(session& to, arguments words) {
  add_options chosen;
  chosen.adds = true;
  add_pairs(to, words[1], chosen, words.subspan(2));
}

void zrem(session& to, arguments words) {
  std::int64_t removed = 0;
  edit_elements(to, words[1], scored, [&](edited_elements& members) {
    for (const std::string_view member : words.subspan(2)) {
      removed += remove_member(members, member) ? 1 : 0;
    }
  });
  to.out.integer(removed);
}

void zscore(session& to, arguments words) {
  std::optional<double> score;
  read_elements(to, words[1], scored,
                [&](const elements& members) { score = score_in(members, words[2]); });
  if (score) {
    write_score(to, *score);
  } else {
    to.out.null();
  }
}

void zmscore(session& to, arguments words) {
  const arguments names = words.subspan(2);
  to.out.array(names.size());
  const bool is_present = read_elements(to, words[1], scored, [&](const elements& members) {
    for (const std::string_view name : names) {
      const std::optional<double> score = score_in(members, name);
      if (score) {
        write_score(to, *score);
      } else {
        to.out.null();
      }
    }
  });
  if (is_present) return;
  for (std::size_t i = 0; i < names.size(); ++i) to.out.null();
}

void zcard(session& to, arguments words) { write_size(to, words[1], scored); }
void zrank(session& to, arguments words) { write_place(to, words, false); }
void zrevrank(session& to, arguments words) { write_place(to, words, true); }
void zpopmin(session& to, arguments words) { write_popped(to, words, false); }
void zpopmax(session& to, arguments words) { write_popped(to, words, true); }

void zmpop(session& to, arguments words) {
  const std::optional<pop_request> wanted = pop_request_of(to, words, "min", "max");
  if (!wanted) return;
  std::vector<scored_member> popped;
  std::string_view popped_key;
  to.together([&] {
    for (const std::string_view key : wanted->keys) {
      popped = pop_scored(to, key, wanted->is_second, wanted->count);
      popped_key = key;
      if (!popped.empty()) return;
    }
  });
  if (popped.empty()) return to.out.null_array();
  to.out.array(2);
  to.out.bulk(popped_key);
  to.out.array(popped.size());
  for (const scored_member& each : popped) {
    to.out.array(2);
    to.out.bulk(each.member);
    write_score(to, each.score);
  }
}

void zrandmember(session& to, arguments words) {
  const bool has_scores = words.size() == 4;
  const auto write = [&](std::string_view value) { write_score(to, stored_score(value)); };
  random_reply reply(to, scored, has_scores, write);
  if (words.size() == 2) return reply.write_one(words[1]);
  const std::optional<std::int64_t> count = random_count_of(to, words);
  if (count) reply.write_several(words[1], *count);
}

void zscan(session& to, arguments words) {
  scan_elements(to, words, scored,
                [&](std::string_view value) { to.out.bulk(score_text(stored_score(value))); });
}

}  // namespace commands

}  // namespace outlast::server::resp
