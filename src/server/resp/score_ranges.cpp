// Ranges of sorted sets: of places, of scores, and of members with equal scores.
#include <src/server/resp/part_names.hpp>
#include <src/server/resp/score_ranges.hpp>
#include <src/server/resp/words.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

namespace outlast::server::resp {
namespace {

using part_names::kind;

struct score_bound {
  double score;
  bool is_excluded;
};

/// Reads an end as strtod() does: blanks before it are accepted, and an empty text is 0.
std::optional<score_bound> score_bound_of(std::string_view text) {
  const bool is_excluded = text.starts_with('(');
  const std::string ended(until_zero(text.substr(is_excluded ? 1 : 0)));
  char* end = nullptr;
  const double score = std::strtod(ended.c_str(), &end);
  if (end != ended.c_str() + ended.size() || std::isnan(score)) return std::nullopt;
  return score_bound{score, is_excluded};
}

std::optional<member_bound> member_bound_of(std::string_view text) {
  using bound = member_bound::kind;
  if (text == "-") return member_bound{bound::lowest, {}};
  if (text == "+") return member_bound{bound::highest, {}};
  if (text.starts_with('[')) return member_bound{bound::included, text.substr(1)};
  if (text.starts_with('(')) return member_bound{bound::excluded, text.substr(1)};
  return std::nullopt;
}

/// Returns the name before which walk_scores_back() begins with the member itself.
std::string after(std::string name) {
  name.push_back('\0');
  return name;
}

void walk_from_end(const elements& of, bool is_reversed, score_visitor visit) {
  if (is_reversed) {
    walk_scores_back(of, end_order_name(), visit);
  } else {
    walk_scores(of, first_order_name(), visit);
  }
}

void visit_places(const elements& of, const score_range& range, score_visitor visit) {
  const place_bounds places = places_of(range.first, range.last, of.size());
  std::uint64_t left = places.count;
  if (left == 0) return;
  const auto visit_some = [&](std::string_view member, double score) {
    return visit(member, score) && --left != 0;
  };
  const std::uint64_t places_after = of.size() - 1 - places.first;
  if (places.first <= places_after) {
    std::uint64_t skipped = places.first;
    walk_from_end(of, range.is_reversed, [&](std::string_view member, double score) {
      return skipped != 0 ? skipped-- != 0 : visit_some(member, score);
    });
    return;
  }
  // The other end is nearer. A walk from there finds the member with which the range begins.
  std::string begin;
  std::uint64_t skipped = places_after;
  walk_from_end(of, !range.is_reversed, [&](std::string_view member, double score) {
    if (skipped-- != 0) return true;
    begin = order_name(score, member);
    return false;
  });
  if (range.is_reversed) {
    walk_scores_back(of, after(begin), visit_some);
  } else {
    walk_scores(of, begin, visit_some);
  }
}

void visit_scores(const elements& of, const score_range& range, score_visitor visit) {
  const score_bounds& wanted = range.scores;
  if (range.is_reversed) {
    walk_scores_back(of, part_names::name_of(kind::order, wanted.last + 1),
                     [&](std::string_view member, double score) {
                       return part_names::order_of(score) >= wanted.first && visit(member, score);
                     });
  } else {
    walk_scores(of, part_names::name_of(kind::order, wanted.first),
                [&](std::string_view member, double score) {
                  return part_names::order_of(score) <= wanted.last && visit(member, score);
                });
  }
}

std::optional<scored_member> end_member(const elements& of, bool is_highest) {
  std::optional<scored_member> found;
  walk_from_end(of, is_highest, [&](std::string_view member, double score) {
    found = {std::string(member), score};
    return false;
  });
  return found;
}

/// Returns the part from which a walk of members with the same score begins.
std::string begin_of_members(double score, const member_bounds& wanted, bool is_reversed) {
  using bound = member_bound::kind;
  const member_bound& from = is_reversed ? wanted.last : wanted.first;
  if (from.what == bound::included || from.what == bound::excluded) {
    const std::string name = order_name(score, from.text);
    return is_reversed ? after(name) : name;
  }
  return is_reversed ? end_order_name() : first_order_name();
}

/// Returns whether no member can be between the ends.
bool excludes_all(const member_bounds& wanted) {
  using bound = member_bound::kind;
  if (wanted.first.what == bound::lowest || wanted.last.what == bound::highest) return false;
  if (wanted.first.what == bound::highest || wanted.last.what == bound::lowest) return true;
  const bool is_closed =
      wanted.first.what == bound::included && wanted.last.what == bound::included;
  return is_closed ? wanted.first.text > wanted.last.text : wanted.first.text >= wanted.last.text;
}

/// Skips the members before the range and those of the offset, and visits the others until the end
/// of the range. That is what Redis does with members of different scores, too.
void visit_members(const elements& of, const score_range& range, score_visitor visit) {
  const std::optional<scored_member> lowest = end_member(of, false);
  const std::optional<scored_member> highest = end_member(of, true);
  if (!lowest || !highest) return;
  const member_bounds& wanted = range.members;
  const bool is_uniform = lowest->score == highest->score;
  const bool is_empty = excludes_all(wanted) || !wanted.first.permits_above(highest->member) ||
                        !wanted.last.permits_below(lowest->member);
  if (is_empty) return;
  bool is_inside = false;
  std::int64_t skipped = range.offset;
  const auto visit_some = [&](std::string_view member, double score) {
    const bool is_above = wanted.first.permits_above(member);
    const bool is_below = wanted.last.permits_below(member);
    const bool has_begun = range.is_reversed ? is_below : is_above;
    const bool has_ended = range.is_reversed ? !is_above : !is_below;
    if (!is_inside && !has_begun) return true;
    if (has_ended && (is_uniform || !is_inside || skipped == 0)) return false;
    is_inside = true;
    return skipped != 0 ? skipped-- != 0 : visit(member, score);
  };
  if (!is_uniform) {
    walk_from_end(of, range.is_reversed, visit_some);
  } else if (range.is_reversed) {
    walk_scores_back(of, begin_of_members(lowest->score, wanted, true), visit_some);
  } else {
    walk_scores(of, begin_of_members(lowest->score, wanted, false), visit_some);
  }
}

}  // namespace

bool member_bound::permits_above(std::string_view member) const noexcept {
  switch (what) {
    case kind::lowest: return true;
    case kind::highest: return false;
    case kind::included: return member >= text;
    case kind::excluded: return member > text;
  }
  return false;
}

bool member_bound::permits_below(std::string_view member) const noexcept {
  switch (what) {
    case kind::lowest: return false;
    case kind::highest: return true;
    case kind::included: return member <= text;
    case kind::excluded: return member < text;
  }
  return false;
}

std::optional<score_bounds> score_bounds_of(std::string_view min, std::string_view max) {
  const std::optional<score_bound> low = score_bound_of(min);
  const std::optional<score_bound> high = score_bound_of(max);
  if (!low || !high) return std::nullopt;
  return score_bounds{part_names::order_of(low->score) + (low->is_excluded ? 1 : 0),
                      part_names::order_of(high->score) - (high->is_excluded ? 1 : 0)};
}

std::optional<member_bounds> member_bounds_of(std::string_view min, std::string_view max) {
  const std::optional<member_bound> low = member_bound_of(min);
  const std::optional<member_bound> high = member_bound_of(max);
  if (!low || !high) return std::nullopt;
  return member_bounds{*low, *high};
}

place_bounds places_of(std::int64_t first, std::int64_t last, std::uint64_t size) {
  const auto end = static_cast<std::int64_t>(size);
  if (first < 0) first = std::max<std::int64_t>(first + end, 0);
  if (last < 0) last += end;
  if (last < 0 || first > last || first >= end) return {};
  last = std::min(last, end - 1);
  return {static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(last - first + 1)};
}

void visit_range(const elements& of, const score_range& range, score_visitor visit) {
  if (range.by == score_range::kind::places) return visit_places(of, range, visit);
  if (range.offset < 0 || range.limit == 0) return;
  std::int64_t left = range.limit;
  const auto visit_some = [&](std::string_view member, double score) {
    return visit(member, score) && --left != 0;
  };
  if (range.by == score_range::kind::members) return visit_members(of, range, visit_some);
  std::int64_t skipped = range.offset;
  visit_scores(of, range, [&](std::string_view member, double score) {
    return skipped != 0 ? skipped-- != 0 : visit_some(member, score);
  });
}

}  // namespace outlast::server::resp
