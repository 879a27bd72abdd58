// What db_bench was asked to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace outlast::bench {

/// The flags of the command line; flags.cpp tells what they mean. -1 and 0 where a number is the
/// store's own affair: it takes its default.
struct store_settings {
  std::string engine = "outlast";
  std::vector<std::string> benchmarks;
  std::string directory;
  bool use_existing = false;

  std::uint64_t keys = 1'000'000;
  std::int64_t reads = -1;  ///< of a thread; negative: as many as there are keys
  double duration_s = 0;    ///< 0: as many operations as were asked for
  unsigned threads = 1;
  std::size_t value_bytes = 100;
  std::size_t key_prefix_bytes = 0;
  double compression_ratio = 0.5;
  bool sync = false;
  bool histogram = false;
  bool json = false;
  std::uint64_t seed = 301;

  // Of ours.
  unsigned replicas = 4;
  std::int64_t window_us = -1;
  std::uint64_t capacity_bytes = 0;  ///< of LMDB too

  // Of LevelDB and RocksDB.
  std::int64_t write_buffer_bytes = 0;
  std::int64_t max_file_bytes = 0;
  std::int64_t block_bytes = 0;
  std::int64_t cache_bytes = -1;
  std::int64_t open_files = 0;
  int bloom_bits = -1;
  bool reuse_logs = false;
  bool compression = true;

  [[nodiscard]] std::uint64_t reads_of_a_thread() const noexcept {
    return reads < 0 ? keys : static_cast<std::uint64_t>(reads);
  }
};

}  // namespace outlast::bench
