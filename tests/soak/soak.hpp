// A soak: hours of waves on one pool and one store, and curves that have to be flat.
//
// A wave: threads come; all structures grow, are compared with their models, and shrink; threads
// go; then nothing happens for a while. Some threads stay and work in each second half of a period
// only; one works in the first wave of a period and leaves in the last. Snapshots and iterators are
// held for one wave to three, while those stay away longer.
#pragma once

#include <tests/soak/curve.hpp>
#include <tests/soak/measure.hpp>
#include <tests/soak/world.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

namespace outlast::test::soak {

struct plan {
  std::string medium;
  std::filesystem::path folder;  ///< where a folder of the soak's own is made
  std::string families = "all";
  double seconds = 60;  ///< as many whole periods as have room, but four at least
  std::uint64_t seed = 1;
  std::size_t leaked_bytes = 0;  ///< in each wave, by the soak itself: to see that it is found
  allowance allowed = {};
};

struct result {
  std::size_t waves = 0;
  double seconds = 0;
  std::vector<verdict> verdicts;
};

/// Writes a line of JSON for each wave. Throws lost_content, and what the library throws.
[[nodiscard]] result run(const plan& what, std::ostream& records);

}  // namespace outlast::test::soak
