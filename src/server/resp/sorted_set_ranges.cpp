// Commands of ranges of sorted sets.
#include <src/server/resp/changes.hpp>
#include <src/server/resp/commands.hpp>
#include <src/server/resp/elements.hpp>
#include <src/server/resp/error_texts.hpp>
#include <src/server/resp/score_ranges.hpp>
#include <src/server/resp/scores.hpp>
#include <src/server/resp/session.hpp>
#include <src/server/resp/words.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace outlast::server::resp {
namespace {

using range_kind = score_range::kind;

constexpr item_type sorted_set = item_type::sorted_set;

/// What the words after a range may be.
struct range_form {
  range_kind by = range_kind::places;
  bool is_reversed = false;
  bool is_fixed = true;         ///< BYSCORE, BYLEX and REV are no words of the command
  bool may_have_scores = true;  ///< WITHSCORES
};

struct range_request {
  score_range range;
  bool has_scores = false;
  bool has_limit = false;
};

/// Takes the option at `words[at]` and its arguments. Returns false after an error.
bool take_option(session& to, arguments words, std::size_t& at, const range_form& form,
                 range_request& into) {
  const std::string_view word = words[at];
  score_range& range = into.range;
  if (form.may_have_scores && is_word(word, "withscores")) {
    into.has_scores = true;
  } else if (is_word(word, "limit") && at + 2 < words.size()) {
    const std::optional<std::int64_t> offset = integer_of(words[at + 1]);
    const std::optional<std::int64_t> limit = integer_of(words[at + 2]);
    if (!offset || !limit) {
      to.refuse_integer();
      return false;
    }
    range.offset = *offset;
    range.limit = *limit;
    into.has_limit = true;
    at += 2;
  } else if (!form.is_fixed && !range.is_reversed && is_word(word, "rev")) {
    range.is_reversed = true;
  } else if (!form.is_fixed && range.by == range_kind::places && is_word(word, "bylex")) {
    range.by = range_kind::members;
  } else if (!form.is_fixed && range.by == range_kind::places && is_word(word, "byscore")) {
    range.by = range_kind::scores;
  } else {
    to.refuse_syntax();
    return false;
  }
  return true;
}

/// Reads the two ends of a range. Adds an error and returns false if one is wrong.
bool read_ends(session& to, std::string_view first, std::string_view last, score_range& range) {
  if (range.by == range_kind::places) {
    const std::optional<std::int64_t> begin = integer_of(first);
    const std::optional<std::int64_t> end = integer_of(last);
    if (!begin || !end) {
      to.refuse_integer();
      return false;
    }
    range.first = *begin;
    range.last = *end;
    return true;
  }
  if (range.is_reversed) std::swap(first, last);
  if (range.by == range_kind::scores) {
    const std::optional<score_bounds> bounds = score_bounds_of(first, last);
    if (bounds) range.scores = *bounds;
    if (!bounds) to.out.error("ERR min or max is not a float");
    return bounds.has_value();
  }
  const std::optional<member_bounds> bounds = member_bounds_of(first, last);
  if (bounds) range.members = *bounds;
  if (!bounds) to.out.error("ERR min or max not valid string range item");
  return bounds.has_value();
}

/// Reads a range and its options, from `words[at]` on.
std::optional<range_request> range_of(session& to, arguments words, std::size_t at,
                                      const range_form& form) {
  range_request found;
  found.range.by = form.by;
  found.range.is_reversed = form.is_reversed;
  for (std::size_t next = at + 2; next < words.size(); ++next) {
    if (!take_option(to, words, next, form, found)) return std::nullopt;
  }
  if (found.has_limit && found.range.by == range_kind::places && found.range.limit != -1) {
    to.out.error(error_texts::limit_of_places);
    return std::nullopt;
  }
  if (found.has_scores && found.range.by == range_kind::members) {
    to.out.error(error_texts::scores_of_members);
    return std::nullopt;
  }
  if (!read_ends(to, words[at], words[at + 1], found.range)) return std::nullopt;
  return found;
}

void write_range(session& to, arguments words, const range_form& form) {
  const std::optional<range_request> wanted = range_of(to, words, 2, form);
  if (!wanted) return;
  const score_range& range = wanted->range;
  const bool has_scores = wanted->has_scores;
  member_list found(to);
  const bool is_counted = range.by == range_kind::places;
  const bool is_present = read_elements(to, words[1], sorted_set, [&](const elements& members) {
    if (!is_counted) {
      return visit_range(members, range, [&](std::string_view member, double score) {
        found.add(member, score);
        return true;
      });
    }
    const place_bounds places = places_of(range.first, range.last, members.size());
    begin_members(to, static_cast<std::size_t>(places.count), has_scores);
    visit_range(members, range, [&](std::string_view member, double score) {
      write_member(to, member, score, has_scores);
      return !to.out.is_full();
    });
  });
  if (!is_present || !is_counted) write_members(to, found.found, has_scores);
}

/// Returns the members of a range, none if the key is absent.
member_list members_in(session& to, std::string_view key, const score_range& range) {
  member_list found(to);
  read_elements(to, key, sorted_set, [&](const elements& members) {
    visit_range(members, range, [&](std::string_view member, double score) {
      found.add(member, score);
      return true;
    });
  });
  return found;
}

void count_range(session& to, arguments words, range_kind by) {
  score_range range;
  range.by = by;
  if (!read_ends(to, words[2], words[3], range)) return;
  std::int64_t count = 0;
  read_elements(to, words[1], sorted_set, [&](const elements& members) {
    visit_range(members, range, [&](std::string_view, double) {
      ++count;
      return true;
    });
  });
  to.out.integer(count);
}

void remove_range(session& to, arguments words, range_kind by) {
  score_range range;
  range.by = by;
  if (!read_ends(to, words[2], words[3], range)) return;
  member_list removed(to);
  edit_elements(to, words[1], sorted_set, [&](edited_elements& members) {
    visit_range(members, range, [&](std::string_view member, double score) {
      removed.add(member, score);
      return true;
    });
    for (const scored_member& each : removed.found) remove_member(members, each.member);
  });
  to.out.integer(static_cast<std::int64_t>(removed.found.size()));
}

}  // namespace

namespace commands {

void zrange(session& to, arguments words) {
  range_form form;
  form.is_fixed = false;
  write_range(to, words, form);
}

void zrevrange(session& to, arguments words) {
  range_form form;
  form.is_reversed = true;
  write_range(to, words, form);
}

void zrangebyscore(session& to, arguments words) {
  range_form form;
  form.by = range_kind::scores;
  write_range(to, words, form);
}

void zrevrangebyscore(session& to, arguments words) {
  range_form form;
  form.by = range_kind::scores;
  form.is_reversed = true;
  write_range(to, words, form);
}

void zrangebylex(session& to, arguments words) {
  range_form form;
  form.by = range_kind::members;
  write_range(to, words, form);
}

void zrevrangebylex(session& to, arguments words) {
  range_form form;
  form.by = range_kind::members;
  form.is_reversed = true;
  write_range(to, words, form);
}

void zrangestore(session& to, arguments words) {
  range_form form;
  form.is_fixed = false;
  form.may_have_scores = false;
  const std::optional<range_request> wanted = range_of(to, words, 3, form);
  if (!wanted) return;
  std::size_t count = 0;
  to.together([&] {
    const member_list found = members_in(to, words[2], wanted->range);
    count = found.found.size();
    store_members(to, words[1], found.found);
  });
  to.out.integer(static_cast<std::int64_t>(count));
}

void zcount(session& to, arguments words) { count_range(to, words, range_kind::scores); }
void zlexcount(session& to, arguments words) { count_range(to, words, range_kind::members); }

void zremrangebyrank(session& to, arguments words) { remove_range(to, words, range_kind::places); }
void zremrangebyscore(session& to, arguments words) { remove_range(to, words, range_kind::scores); }
void zremrangebylex(session& to, arguments words) { remove_range(to, words, range_kind::members); }

}  // namespace commands

}  // namespace outlast::server::resp
