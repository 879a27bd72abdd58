// rocksdb::Options, ReadOptions, WriteOptions and smaller ones.
#pragma once

#include <outlast/compat/rocksdb/comparator.h>
#include <outlast/compat/rocksdb/slice.h>
#include <outlast/db/options.hpp>

#include <cstddef>
#include <cstdint>

namespace rocksdb {

class Snapshot;

/// Accepted without effect: values are kept as they are.
enum CompressionType : unsigned char {
  kNoCompression = 0x0,
  kSnappyCompression = 0x1,
  kZlibCompression = 0x2,
  kBZip2Compression = 0x3,
  kLZ4Compression = 0x4,
  kLZ4HCCompression = 0x5,
  kZSTD = 0x7
};

/// How a store is opened. What tunes RocksDB's files, caches and threads is accepted without
/// effect: the store has none of these.
struct Options {
  bool create_if_missing = false;
  bool error_if_exists = false;
  bool paranoid_checks = false;  // RocksDB's is true, and reads less
  const Comparator* comparator = BytewiseComparator();

  /// Ours: what these options have no place for.
  outlast::db::StoreOptions store;

  // ---- Without effect ----
  CompressionType compression = kSnappyCompression;
  CompressionType bottommost_compression = kNoCompression;
  std::size_t write_buffer_size = std::size_t{64} << 20;
  int max_write_buffer_number = 2;
  int min_write_buffer_number_to_merge = 1;
  int max_open_files = -1;
  int max_background_jobs = 2;
  int max_background_compactions = -1;
  int max_background_flushes = -1;
  std::uint32_t max_subcompactions = 1;
  int num_levels = 7;
  int level0_file_num_compaction_trigger = 4;
  int level0_slowdown_writes_trigger = 20;
  int level0_stop_writes_trigger = 36;
  std::uint64_t target_file_size_base = std::uint64_t{64} << 20;
  std::uint64_t max_bytes_for_level_base = std::uint64_t{256} << 20;
  double max_bytes_for_level_multiplier = 10;
  bool disable_auto_compactions = false;
  bool use_fsync = false;
  bool allow_mmap_reads = false;
  bool allow_mmap_writes = false;
  bool use_direct_reads = false;
  bool use_direct_io_for_flush_and_compaction = false;
  bool allow_concurrent_memtable_write = true;
  bool enable_pipelined_write = false;
  std::uint64_t bytes_per_sync = 0;
  std::uint64_t wal_bytes_per_sync = 0;

  Options* IncreaseParallelism(int /*total_threads*/ = 16) { return this; }
  Options* PrepareForBulkLoad() { return this; }
  Options* OptimizeForSmallDb() { return this; }
  Options* OptimizeForPointLookup(std::uint64_t /*block_cache_size_mb*/) { return this; }
  Options* OptimizeLevelStyleCompaction(std::uint64_t /*memtable_memory_budget*/ = 0) {
    return this;
  }
  Options* OptimizeUniversalStyleCompaction(std::uint64_t /*memtable_memory_budget*/ = 0) {
    return this;
  }
};

/// How data is read.
struct ReadOptions {
  ReadOptions() = default;
  ReadOptions(bool checks, bool cache) : verify_checksums(checks), fill_cache(cache) {}

  /// What to read from; null: what is there at the call.
  const Snapshot* snapshot = nullptr;
  /// Iterators stay from the lower bound on and before the upper bound, which outlive them.
  const Slice* iterate_lower_bound = nullptr;
  const Slice* iterate_upper_bound = nullptr;
  /// Compare each value that is read with its checksum; a difference is a Corruption.
  bool verify_checksums = true;
  bool fill_cache = true;          // without effect
  bool total_order_seek = false;   // without effect: every seek is one
  bool async_io = false;           // without effect
  std::size_t readahead_size = 0;  // without effect
};

/// How data is written.
struct WriteOptions {
  /// Durable at return. Without it, as outlast::db::WriteOptions says.
  bool sync = false;
  /// Without effect, but InvalidArgument together with `sync`.
  bool disableWAL = false;
  bool no_slowdown = false;  // without effect
  bool low_pri = false;      // without effect
};

/// How DB::Flush() works. Without effect: it waits.
struct FlushOptions {
  bool wait = true;
  bool allow_write_stall = false;
};

/// How DB::CompactRange() works. Without effect.
struct CompactRangeOptions {
  bool exclusive_manual_compaction = true;
  bool change_level = false;
  int target_level = -1;
  std::uint32_t max_subcompactions = 0;
};

}  // namespace rocksdb
