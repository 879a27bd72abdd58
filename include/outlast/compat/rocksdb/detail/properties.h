// The properties of a store with RocksDB's names, and their sources.
#pragma once

#include "../rocksdb_namespace.h"

#include <string_view>

namespace ROCKSDB_NAMESPACE {
namespace outlast_detail {

enum class source {
  nothing,  ///< it is 0: the store has no such thing
  store,    ///< a property of the store
  text,     ///< the same, and no number
  snapshots,
  oldest_snapshot_time,
  oldest_snapshot_number,
  statistics,
  absent  ///< there is no such property
};

struct property {
  std::string_view name;  ///< without "rocksdb."
  source from;
  std::string_view of_store;
};

/// The properties that begin with "rocksdb.". A property is left out if its number would not be
/// true.
inline constexpr property properties[] = {
    {"stats", source::text, "leveldb.stats"},
    {"cfstats", source::text, "leveldb.stats"},
    {"dbstats", source::text, "leveldb.stats"},
    {"sstables", source::text, "leveldb.sstables"},
    {"options-statistics", source::statistics, ""},
    {"estimate-num-keys", source::store, "outlast.keys"},
    {"estimate-live-data-size", source::store, "outlast.live-bytes"},
    {"total-sst-files-size", source::store, "outlast.file-bytes"},
    {"live-sst-files-size", source::store, "outlast.file-bytes"},
    {"cur-size-active-mem-table", source::store, "leveldb.approximate-memory-usage"},
    {"cur-size-all-mem-tables", source::store, "leveldb.approximate-memory-usage"},
    {"size-all-mem-tables", source::store, "leveldb.approximate-memory-usage"},
    {"num-snapshots", source::snapshots, ""},
    {"oldest-snapshot-time", source::oldest_snapshot_time, ""},
    {"oldest-snapshot-sequence", source::oldest_snapshot_number, ""},
    {"num-immutable-mem-table", source::nothing, ""},
    {"num-immutable-mem-table-flushed", source::nothing, ""},
    {"mem-table-flush-pending", source::nothing, ""},
    {"num-running-flushes", source::nothing, ""},
    {"compaction-pending", source::nothing, ""},
    {"num-running-compactions", source::nothing, ""},
    {"num-entries-imm-mem-tables", source::nothing, ""},
    {"num-deletes-imm-mem-tables", source::nothing, ""},
    {"estimate-table-readers-mem", source::nothing, ""},
    {"estimate-pending-compaction-bytes", source::nothing, ""},
    {"actual-delayed-write-rate", source::nothing, ""},
    {"is-write-stopped", source::nothing, ""},
    {"block-cache-usage", source::nothing, ""},
    {"block-cache-pinned-usage", source::nothing, ""},
    {"num-blob-files", source::nothing, ""},
    {"total-blob-file-size", source::nothing, ""},
    {"live-blob-file-size", source::nothing, ""},
    {"live-blob-file-garbage-size", source::nothing, ""},
};

/// Returns the property `name`. Requires: `name` is without the prefix "rocksdb.".
inline property property_of(std::string_view name) {
  for (const property& each : properties) {
    if (each.name == name) return each;
  }
  return {name, source::absent, ""};
}

/// The options that RocksDB can change in an open store. They have no effect here.
inline constexpr std::string_view changeable[] = {"arena_block_size",
                                                  "blob_compaction_readahead_size",
                                                  "blob_compression_type",
                                                  "blob_file_size",
                                                  "blob_garbage_collection_age_cutoff",
                                                  "block_based_table_factory",
                                                  "bottommost_compression",
                                                  "bottommost_compression_opts",
                                                  "compaction_options_fifo",
                                                  "compaction_options_universal",
                                                  "compression",
                                                  "compression_opts",
                                                  "compression_per_level",
                                                  "disable_auto_compactions",
                                                  "enable_blob_files",
                                                  "enable_blob_garbage_collection",
                                                  "hard_pending_compaction_bytes_limit",
                                                  "inplace_update_num_locks",
                                                  "inplace_update_support",
                                                  "level0_file_num_compaction_trigger",
                                                  "level0_slowdown_writes_trigger",
                                                  "level0_stop_writes_trigger",
                                                  "max_bytes_for_level_base",
                                                  "max_bytes_for_level_multiplier",
                                                  "max_bytes_for_level_multiplier_additional",
                                                  "max_compaction_bytes",
                                                  "max_sequential_skip_in_iterations",
                                                  "max_successive_merges",
                                                  "max_write_buffer_number",
                                                  "memtable_huge_page_size",
                                                  "memtable_prefix_bloom_size_ratio",
                                                  "memtable_whole_key_filtering",
                                                  "min_blob_size",
                                                  "paranoid_file_checks",
                                                  "periodic_compaction_seconds",
                                                  "report_bg_io_stats",
                                                  "soft_pending_compaction_bytes_limit",
                                                  "target_file_size_base",
                                                  "target_file_size_multiplier",
                                                  "ttl",
                                                  "write_buffer_size"};
inline constexpr std::string_view changeable_of_store[] = {"avoid_flush_during_shutdown",
                                                           "bytes_per_sync",
                                                           "compaction_readahead_size",
                                                           "delayed_write_rate",
                                                           "delete_obsolete_files_period_micros",
                                                           "max_background_compactions",
                                                           "max_background_flushes",
                                                           "max_background_jobs",
                                                           "max_open_files",
                                                           "max_subcompactions",
                                                           "max_total_wal_size",
                                                           "stats_dump_period_sec",
                                                           "stats_history_buffer_size",
                                                           "stats_persist_period_sec",
                                                           "strict_bytes_per_sync",
                                                           "wal_bytes_per_sync",
                                                           "writable_file_max_buffer_size"};

}  // namespace outlast_detail
}  // namespace ROCKSDB_NAMESPACE
