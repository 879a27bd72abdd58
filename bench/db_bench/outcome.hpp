// What a benchmark came to, as people and programs read it.
#pragma once

#include <bench/engine/latency.hpp>
#include <bench/db_bench/settings.hpp>

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

namespace outlast::bench {

struct engine;

struct outcome {
  std::string_view benchmark;
  unsigned threads = 1;
  bool sync = false;
  std::uint64_t operations = 0;  ///< of all threads that are measured
  std::uint64_t bytes = 0;
  std::uint64_t found = 0;
  std::uint64_t sought = 0;
  double seconds = 0;         ///< from the first beginning to the last end
  double thread_seconds = 0;  ///< of all threads together
  std::uint64_t operations_beside = 0;
  latencies each;  ///< empty without --histogram
  std::uint64_t file_bytes = 0;
  std::uint64_t data_bytes = 0;

  [[nodiscard]] double operations_per_second() const noexcept {
    return seconds > 0 ? static_cast<double>(operations) / seconds : 0;
  }
  [[nodiscard]] double micros_per_operation() const noexcept {
    return operations > 0 ? thread_seconds * 1e6 / static_cast<double>(operations) : 0;
  }
};

/// KiB that this process has of memory, from /proc/self/status; of files mapped in memory too.
struct memory_use {
  std::uint64_t now_kib = 0;        ///< VmRSS
  std::uint64_t max_kib = 0;        ///< VmHWM
  std::uint64_t anonymous_kib = 0;  ///< RssAnon: without what belongs to files

  [[nodiscard]] static memory_use of_this_process();
};

/// Bytes that the files in a directory take of their file system.
[[nodiscard]] std::uint64_t bytes_in(const std::string& directory);

/// What is measured, and where: what LevelDB's program begins with.
void print_heading(std::ostream& out, const store_settings& settings, const engine& which);
/// One line of LevelDB's form, and a histogram if there is one.
void print_outcome(std::ostream& out, const outcome& of);
/// One JSON object, without a line's end.
[[nodiscard]] std::string to_json(const outcome& of, const store_settings& settings,
                                  const engine& which);

}  // namespace outlast::bench
