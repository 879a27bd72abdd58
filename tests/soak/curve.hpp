// The check that a curve of a soak is flat.
//
// A soak repeats itself with a period. A curve has one number for each wave. Its second half is cut
// into two quarters of whole periods, and the last one is compared with the one before: the first
// half is for what fills up once. What grows a little in each wave grows from quarter to
// quarter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace outlast::test::soak {

/// By how much the last quarter may be above the one before.
struct allowance {
  double share = 0.05;
  std::int64_t more = std::int64_t{1} << 20;
};

/// What of the quarters is compared.
enum class by {
  greatest,  ///< it is not to grow
  least,     ///< it is not to fall
  average,   ///< it is not to grow, but single waves may be high, where things meet by chance
};

struct curve {
  std::string name;
  std::vector<std::int64_t> waves;
  allowance allowed = {};
  by compared = by::greatest;
};

struct verdict {
  std::string name;
  std::int64_t before = 0;  ///< of the third quarter
  std::int64_t last = 0;    ///< of the fourth
  bool is_flat = true;
  std::string sentence;  ///< what has grown, from what to what
};

/// Throws std::invalid_argument unless there are four periods.
[[nodiscard]] verdict check_curve(const curve& of, std::size_t period);

/// Of a count that is to be zero in the second half.
[[nodiscard]] verdict check_zero(const curve& of, std::size_t period);

}  // namespace outlast::test::soak
