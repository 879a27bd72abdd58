// Options that tune RocksDB's files. All are accepted without effect, except one style of
// compaction.
#pragma once

#include "cache.h"
#include "compression_type.h"
#include "memtablerep.h"
#include "rocksdb_namespace.h"
#include "universal_compaction.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace ROCKSDB_NAMESPACE {

/// Accepted without effect, except kCompactionStyleFIFO: DB::Open() then returns NotSupported,
/// because the store never removes data by itself.
enum CompactionStyle : char {
  kCompactionStyleLevel = 0x0,
  kCompactionStyleUniversal = 0x1,
  kCompactionStyleFIFO = 0x2,
  kCompactionStyleNone = 0x3
};

enum CompactionPri : char {
  kByCompensatedSize = 0x0,
  kOldestLargestSeqFirst = 0x1,
  kOldestSmallestSeqFirst = 0x2,
  kMinOverlappingRatio = 0x3,
  kRoundRobin = 0x4
};

/// Options of kCompactionStyleFIFO.
struct CompactionOptionsFIFO {
  std::uint64_t max_table_files_size = std::uint64_t{1} << 30;
  bool allow_compaction = false;
  std::uint64_t age_for_warm = 0;
};

enum ReadTier { kReadAllTier = 0x0, kBlockCacheTier = 0x1, kPersistedTier = 0x2, kMemtableTier };

/// Accepted without effect.
struct AdvancedColumnFamilyOptions {
  int max_write_buffer_number = 2;
  int min_write_buffer_number_to_merge = 1;
  int max_write_buffer_number_to_maintain = 0;
  std::int64_t max_write_buffer_size_to_maintain = 0;
  bool inplace_update_support = false;
  std::size_t inplace_update_num_locks = 10000;
  double memtable_prefix_bloom_size_ratio = 0;
  bool memtable_whole_key_filtering = false;
  std::size_t memtable_huge_page_size = 0;
  std::uint32_t bloom_locality = 0;
  std::size_t arena_block_size = 0;
  std::vector<CompressionType> compression_per_level;
  int num_levels = 7;
  int level0_slowdown_writes_trigger = 20;
  int level0_stop_writes_trigger = 36;
  std::uint64_t target_file_size_base = std::uint64_t{64} << 20;
  int target_file_size_multiplier = 1;
  bool level_compaction_dynamic_level_bytes = false;
  double max_bytes_for_level_multiplier = 10;
  std::vector<int> max_bytes_for_level_multiplier_additional = std::vector<int>(7, 1);
  std::uint64_t max_compaction_bytes = 0;
  std::uint64_t soft_pending_compaction_bytes_limit = std::uint64_t{64} << 30;
  std::uint64_t hard_pending_compaction_bytes_limit = std::uint64_t{256} << 30;
  CompactionStyle compaction_style = kCompactionStyleLevel;
  CompactionPri compaction_pri = kMinOverlappingRatio;
  CompactionOptionsUniversal compaction_options_universal;
  CompactionOptionsFIFO compaction_options_fifo;
  std::uint64_t max_sequential_skip_in_iterations = 8;
  std::shared_ptr<MemTableRepFactory> memtable_factory = std::make_shared<SkipListFactory>();
  std::size_t max_successive_merges = 0;
  bool optimize_filters_for_hits = false;
  bool paranoid_file_checks = false;
  bool force_consistency_checks = true;
  bool report_bg_io_stats = false;
  std::uint64_t ttl = 0xfffffffffffffffe;
  std::uint64_t periodic_compaction_seconds = 0xfffffffffffffffe;
  bool enable_blob_files = false;
  std::uint64_t min_blob_size = 0;
  std::uint64_t blob_file_size = std::uint64_t{1} << 28;
  CompressionType blob_compression_type = kNoCompression;
  bool enable_blob_garbage_collection = false;
  double blob_garbage_collection_age_cutoff = 0.25;
  std::shared_ptr<Cache> blob_cache;
};

}  // namespace ROCKSDB_NAMESPACE
