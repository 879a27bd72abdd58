// rocksdb::Options, ReadOptions, WriteOptions and smaller ones.
#pragma once

#include "../../db/options.hpp"
#include "advanced_options.h"
#include "cache.h"
#include "comparator.h"
#include "compression_type.h"
#include "env.h"
#include "rate_limiter.h"
#include "rocksdb_namespace.h"
#include "slice.h"
#include "slice_transform.h"
#include "statistics.h"
#include "table.h"
#include "write_buffer_manager.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ROCKSDB_NAMESPACE {

class CompactionFilter;
class CompactionFilterFactory;
class MergeOperator;
class Snapshot;
struct Options;

/// Accepted without effect: all data are in the directory of the store.
struct DbPath {
  DbPath() = default;
  DbPath(std::string where, std::uint64_t bytes) : path(std::move(where)), target_size(bytes) {}

  std::string path;
  std::uint64_t target_size = 0;
};

/// Accepted without effect: the recovery after a crash is always complete.
enum class WALRecoveryMode : char {
  kTolerateCorruptedTailRecords = 0x00,
  kAbsoluteConsistency = 0x01,
  kPointInTimeRecovery = 0x02,
  kSkipAnyCorruptedRecords = 0x03
};

/// Options of keys and values.
struct ColumnFamilyOptions : AdvancedColumnFamilyOptions {
  ColumnFamilyOptions() = default;
  explicit ColumnFamilyOptions(const Options& options);

  const Comparator* comparator = BytewiseComparator();
  /// Defines prefixes for ReadOptions::prefix_same_as_start.
  std::shared_ptr<const SliceTransform> prefix_extractor;
  // A store does not open with a filter: NotSupported.
  const CompactionFilter* compaction_filter = nullptr;
  std::shared_ptr<CompactionFilterFactory> compaction_filter_factory;
  /// Accepted without effect: every merge returns NotSupported.
  std::shared_ptr<MergeOperator> merge_operator;

  // ---- Without effect ----
  CompressionType compression = kSnappyCompression;
  CompressionType bottommost_compression = kDisableCompressionOption;
  CompressionOptions compression_opts;
  CompressionOptions bottommost_compression_opts;
  std::size_t write_buffer_size = std::size_t{64} << 20;
  int level0_file_num_compaction_trigger = 4;
  std::uint64_t max_bytes_for_level_base = std::uint64_t{256} << 20;
  bool disable_auto_compactions = false;
  std::shared_ptr<TableFactory> table_factory =
      std::shared_ptr<TableFactory>(NewBlockBasedTableFactory());
  std::vector<DbPath> cf_paths;

  ColumnFamilyOptions* OldDefaults(int /*major*/ = 4, int /*minor*/ = 6) { return this; }
  ColumnFamilyOptions* OptimizeForSmallDb(std::shared_ptr<Cache>* /*cache*/ = nullptr) {
    return this;
  }
  ColumnFamilyOptions* OptimizeForPointLookup(std::uint64_t /*block_cache_size_mb*/) {
    return this;
  }
  ColumnFamilyOptions* OptimizeLevelStyleCompaction(std::uint64_t /*memory_budget*/ = 0) {
    return this;
  }
  ColumnFamilyOptions* OptimizeUniversalStyleCompaction(std::uint64_t /*memory_budget*/ = 0) {
    return this;
  }
};

/// Options of the whole store.
struct DBOptions {
  DBOptions() = default;
  explicit DBOptions(const Options& options);

  bool create_if_missing = false;
  bool error_if_exists = false;
  bool paranoid_checks = false;  // true in RocksDB, whose check reads less
  /// Env::Default(), or an Env of NewMemEnv(). Requires: it outlives the store.
  Env* env = Env::Default();
  /// Receives messages about the store. If it is null, they are written to LOG in the directory of
  /// the store.
  std::shared_ptr<Logger> info_log;
  /// Counts the operations of the store. If it is null, they are not counted.
  std::shared_ptr<Statistics> statistics;
  /// Not in RocksDB: the options of the store that RocksDB does not have.
  outlast::db::StoreOptions store;

  // ---- Without effect ----
  bool create_missing_column_families = false;
  InfoLogLevel info_log_level = INFO_LEVEL;
  std::shared_ptr<RateLimiter> rate_limiter;
  std::shared_ptr<WriteBufferManager> write_buffer_manager;
  std::shared_ptr<Cache> row_cache;
  int max_open_files = -1;
  int max_file_opening_threads = 16;
  std::uint64_t max_total_wal_size = 0;
  bool use_fsync = false;
  std::vector<DbPath> db_paths;
  std::string db_log_dir;
  std::string wal_dir;
  std::uint64_t delete_obsolete_files_period_micros = 21'600'000'000;
  int max_background_jobs = 2;
  int max_background_compactions = -1;
  int max_background_flushes = -1;
  std::uint32_t max_subcompactions = 1;
  std::size_t max_log_file_size = 0;
  std::size_t log_file_time_to_roll = 0;
  std::size_t keep_log_file_num = 1000;
  std::size_t recycle_log_file_num = 0;
  std::uint64_t max_manifest_file_size = std::uint64_t{1} << 30;
  int table_cache_numshardbits = 6;
  std::uint64_t WAL_ttl_seconds = 0;
  std::uint64_t WAL_size_limit_MB = 0;
  std::size_t manifest_preallocation_size = std::size_t{4} << 20;
  bool allow_mmap_reads = false;
  bool allow_mmap_writes = false;
  bool use_direct_reads = false;
  bool use_direct_io_for_flush_and_compaction = false;
  bool allow_fallocate = true;
  bool is_fd_close_on_exec = true;
  unsigned stats_dump_period_sec = 600;
  unsigned stats_persist_period_sec = 600;
  bool advise_random_on_open = true;
  std::size_t db_write_buffer_size = 0;
  std::size_t compaction_readahead_size = 0;
  std::size_t writable_file_max_buffer_size = std::size_t{1} << 20;
  bool use_adaptive_mutex = false;
  std::uint64_t bytes_per_sync = 0;
  std::uint64_t wal_bytes_per_sync = 0;
  bool strict_bytes_per_sync = false;
  bool enable_thread_tracking = false;
  std::uint64_t delayed_write_rate = 0;
  bool enable_pipelined_write = false;
  bool unordered_write = false;
  bool allow_concurrent_memtable_write = true;
  bool enable_write_thread_adaptive_yield = true;
  std::uint64_t max_write_batch_group_size_bytes = std::uint64_t{1} << 20;
  bool skip_stats_update_on_db_open = false;
  bool skip_checking_sst_file_sizes_on_db_open = false;
  WALRecoveryMode wal_recovery_mode = WALRecoveryMode::kPointInTimeRecovery;
  bool allow_2pc = false;
  bool fail_if_options_file_error = false;
  bool dump_malloc_stats = false;
  bool avoid_flush_during_recovery = false;
  bool avoid_flush_during_shutdown = false;
  bool two_write_queues = false;
  bool manual_wal_flush = false;
  CompressionType wal_compression = kNoCompression;
  bool atomic_flush = false;
  bool avoid_unnecessary_blocking_io = false;
  int max_bgerror_resume_count = 2147483647;

  DBOptions* IncreaseParallelism(int /*total_threads*/ = 16) { return this; }
  DBOptions* OptimizeForSmallDb(std::shared_ptr<Cache>* /*cache*/ = nullptr) { return this; }
};

/// Options for opening a store. Options that tune RocksDB's files, caches and threads are accepted
/// without effect, because the store has none of these.
struct Options : DBOptions, ColumnFamilyOptions {
  Options() = default;
  Options(const DBOptions& of_store, const ColumnFamilyOptions& of_family)
      : DBOptions(of_store), ColumnFamilyOptions(of_family) {}

  Options* OldDefaults(int /*major*/ = 4, int /*minor*/ = 6) { return this; }
  Options* PrepareForBulkLoad() { return this; }
  Options* OptimizeForSmallDb() { return this; }
  Options* DisableExtraChecks() { return this; }
};

inline ColumnFamilyOptions::ColumnFamilyOptions(const Options& options)
    : ColumnFamilyOptions(static_cast<const ColumnFamilyOptions&>(options)) {}
inline DBOptions::DBOptions(const Options& options)
    : DBOptions(static_cast<const DBOptions&>(options)) {}

/// Options for reads.
struct ReadOptions {
  ReadOptions() = default;
  ReadOptions(bool checks, bool cache) : verify_checksums(checks), fill_cache(cache) {}

  /// The snapshot to read. If it is null, reads return the contents at the time of the call.
  const Snapshot* snapshot = nullptr;
  /// Bounds of iterators: from the lower bound (inclusive) to the upper bound (exclusive).
  /// Requires: the bounds outlive the iterators.
  const Slice* iterate_lower_bound = nullptr;
  const Slice* iterate_upper_bound = nullptr;
  /// If true, each value that is read is compared with its checksum. A difference is a Corruption.
  bool verify_checksums = true;
  /// If true, iterators return only keys with the prefix of the last seek, as defined by
  /// ColumnFamilyOptions::prefix_extractor. No effect if that is null.
  bool prefix_same_as_start = false;
  /// If true, each seek of an iterator reads the contents at the time of the seek.
  bool tailing = false;
  /// Must be null, because keys have no timestamps; otherwise reads return InvalidArgument.
  const Slice* timestamp = nullptr;

  // ---- Without effect ----
  bool fill_cache = true;
  bool total_order_seek = false;  // every seek is one
  bool auto_prefix_mode = false;
  bool pin_data = false;  // "rocksdb.iterator.is-key-pinned" is 0
  bool async_io = false;
  bool adaptive_readahead = false;
  bool ignore_range_deletions = false;
  bool background_purge_on_iterator_cleanup = false;
  bool optimize_multiget_for_io = true;
  ReadTier read_tier = kReadAllTier;  // all data are in every tier
  std::size_t readahead_size = 0;
  std::uint64_t max_skippable_internal_keys = 0;
  std::chrono::microseconds deadline{0};
  std::chrono::microseconds io_timeout{0};
  Env::IOPriority rate_limiter_priority = Env::IO_TOTAL;
};

/// Options for writes.
struct WriteOptions {
  /// If true, the write is durable at return. If false, outlast::db::WriteOptions defines when it
  /// is.
  bool sync = false;
  /// Accepted without effect. Writes return InvalidArgument if both this and `sync` are true.
  bool disableWAL = false;

  // ---- Without effect ----
  bool ignore_missing_column_families = false;
  bool no_slowdown = false;
  bool low_pri = false;
  bool memtable_insert_hint_per_batch = false;
  Env::IOPriority rate_limiter_priority = Env::IO_TOTAL;
  std::size_t protection_bytes_per_key = 0;
};

/// Options of DB::Flush(). Accepted without effect: it always blocks until it has finished.
struct FlushOptions {
  bool wait = true;
  bool allow_write_stall = false;
};

enum class BottommostLevelCompaction { kSkip, kIfHaveCompactionFilter, kForce, kForceOptimized };

/// Options of DB::CompactRange(). Accepted without effect.
struct CompactRangeOptions {
  bool exclusive_manual_compaction = false;
  bool change_level = false;
  int target_level = -1;
  std::uint32_t target_path_id = 0;
  BottommostLevelCompaction bottommost_level_compaction =
      BottommostLevelCompaction::kIfHaveCompactionFilter;
  bool allow_write_stall = false;
  std::uint32_t max_subcompactions = 0;
};

}  // namespace ROCKSDB_NAMESPACE
