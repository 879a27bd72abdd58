// The records of a program that makes backups until it is killed. They survive it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace outlast::test::ends {

inline constexpr unsigned kill_threads = 3;
inline constexpr unsigned max_kill_backups = 8;

using numbers_of_threads = std::array<std::atomic<std::uint64_t>, kill_threads>;

/// The numbers of the threads around a backup.
struct backup_bounds {
  numbers_of_threads acknowledged;  ///< before the call
  numbers_of_threads synced;        ///< in the buffered structure, before the call
  numbers_of_threads begun;         ///< after the return
  std::atomic<bool> has_returned;
};

/// In a file that the program, its checker and the test map.
struct kill_records {
  std::atomic<bool> makes_backups;
  numbers_of_threads begun;
  numbers_of_threads acknowledged;
  std::array<backup_bounds, max_kill_backups> backups;
};

}  // namespace outlast::test::ends
