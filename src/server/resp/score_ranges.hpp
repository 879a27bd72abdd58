// Ranges of sorted sets: of places, of scores, and of members with equal scores.
#pragma once

#include <src/server/resp/elements.hpp>
#include <src/server/resp/scores.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace outlast::server::resp {

/// Scores as numbers in their order; see part_names::order_of(). Both ends are included.
struct score_bounds {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

/// An end of a range of members.
struct member_bound {
  enum class kind { lowest, highest, included, excluded };
  kind what = kind::lowest;
  std::string_view text;

  /// Returns whether a member is not before this end, if it is the lower one.
  [[nodiscard]] bool permits_above(std::string_view member) const noexcept;
  [[nodiscard]] bool permits_below(std::string_view member) const noexcept;
};

struct member_bounds {
  member_bound first;
  member_bound last;
};

struct score_range {
  enum class kind { places, scores, members };
  kind by = kind::places;
  bool is_reversed = false;  ///< from the highest member
  std::int64_t first = 0;    ///< a place; negative ones count from the end
  std::int64_t last = 0;
  score_bounds scores;
  member_bounds members;
  std::int64_t offset = 0;  ///< members that are skipped; negative: all
  std::int64_t limit = -1;  ///< negative: none
};

/// Places that exist, or none.
struct place_bounds {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// Returns the bounds of "(1", "-inf" and the like, or nothing.
[[nodiscard]] std::optional<score_bounds> score_bounds_of(std::string_view min,
                                                          std::string_view max);
/// Returns the bounds of "[a", "(a", "-" and "+", or nothing.
[[nodiscard]] std::optional<member_bounds> member_bounds_of(std::string_view min,
                                                            std::string_view max);
/// Returns the places of a range of places among `size`.
[[nodiscard]] place_bounds places_of(std::int64_t first, std::int64_t last, std::uint64_t size);

/// Visits the members of a range, in its order. Takes time proportional to their number, to the
/// members that are skipped, and to the distance of a place from the nearer end.
void visit_range(const elements& of, const score_range& range, score_visitor visit);

}  // namespace outlast::server::resp
