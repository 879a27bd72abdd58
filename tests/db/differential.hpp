// Random lives of a store, beside a sorted map and, where it is installed, LevelDB: every answer is
// compared; processes are killed, and the next one judges what is there.
#pragma once

#include <tests/db/steps.hpp>
#include <tests/support/store_home.hpp>

#include <cstdint>
#include <string>

namespace outlast::test {

struct differential_plan {
  place where = place::memory_files;
  db_steps::syncing how = db_steps::syncing::sometimes;
  bool is_reversed = false;  ///< keys in the other order, by a comparator
  bool keeps_index = false;  ///< StoreOptions::keep_index
  std::uint64_t steps = 10'000;
  std::uint64_t seed = 1;
  unsigned longest_life_ms = 100;  ///< then it is killed; in ordinary memory none is
};

struct differential_result {
  std::uint64_t steps = 0;  ///< answers that were compared, of all kinds
  std::uint64_t writes = 0;
  std::uint64_t kills = 0;
  std::uint64_t kills_while_opening = 0;
  std::uint64_t reopenings = 0;
  bool beside_leveldb = false;
  std::string complaint;  ///< "": there is none
};

[[nodiscard]] differential_result compare_lives(const differential_plan& plan);

}  // namespace outlast::test
