// Sets whatever tunes RocksDB's files, caches and threads, as programs do that were measured.
#include <cstdio>
#include <memory>
#include <string>

#include "rocksdb/advanced_options.h"
#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/memtablerep.h"
#include "rocksdb/rate_limiter.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"
#include "rocksdb/universal_compaction.h"
#include "rocksdb/write_buffer_manager.h"

namespace {

void use(rocksdb::DB* db) {
  rocksdb::WriteOptions lazily;
  lazily.disableWAL = true;
  lazily.low_pri = true;
  std::printf("no log: %d\n", db->Put(lazily, "key", "value").ok());
  lazily.sync = true;
  std::printf("no log, but synced: %d\n", db->Put(lazily, "key", "x").IsInvalidArgument());
  rocksdb::ReadOptions how;
  how.fill_cache = false;
  how.verify_checksums = true;
  how.readahead_size = 1 << 20;
  std::string value;
  db->Get(how, "key", &value);
  std::printf("get: %s\n", value.c_str());
  rocksdb::FlushOptions flush;
  flush.wait = true;
  std::printf("flush: %d\n", db->Flush(flush).ok());
  std::printf("compact: %d\n",
              db->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr).ok());
  std::printf("name: %s\n", db->GetOptions().comparator->Name());
  std::printf("jobs: %d\n", db->GetDBOptions().max_background_jobs);
  std::printf("env: %d\n", db->GetEnv() == rocksdb::Env::Default());
  std::printf("pause: %d\n", db->PauseBackgroundWork().ok());
  std::printf("continue: %d\n", db->ContinueBackgroundWork().ok());
  std::printf("auto: %d\n", db->EnableAutoCompaction({db->DefaultColumnFamily()}).ok());
}

}  // namespace

int main(int, char** argv) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(8 << 20, 4);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10, false));
  table.block_size = 16 * 1024;
  table.cache_index_and_filter_blocks = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  table.format_version = 5;
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.checksum = rocksdb::kxxHash64;

  rocksdb::Options options;
  options.create_if_missing = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.compression = rocksdb::kNoCompression;
  options.bottommost_compression = rocksdb::kDisableCompressionOption;
  options.compression_opts.level = 3;
  options.write_buffer_size = 1 << 20;
  options.max_write_buffer_number = 4;
  options.min_write_buffer_number_to_merge = 2;
  options.level0_file_num_compaction_trigger = 8;
  options.level_compaction_dynamic_level_bytes = true;
  options.compaction_style = rocksdb::kCompactionStyleUniversal;
  options.compaction_options_universal.size_ratio = 10;
  options.max_background_jobs = 2;
  options.max_subcompactions = 2;
  options.bytes_per_sync = 1 << 20;
  options.wal_bytes_per_sync = 512 << 10;
  options.max_open_files = 100;
  options.use_direct_reads = false;
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  options.info_log_level = rocksdb::WARN_LEVEL;
  options.keep_log_file_num = 2;
  options.stats_dump_period_sec = 0;
  options.memtable_factory.reset(new rocksdb::SkipListFactory);
  options.memtable_prefix_bloom_size_ratio = 0.1;
  options.prefix_extractor.reset(rocksdb::NewCappedPrefixTransform(4));
  options.rate_limiter.reset(rocksdb::NewGenericRateLimiter(100 << 20));
  options.statistics = rocksdb::CreateDBStatistics();
  options.write_buffer_manager.reset(new rocksdb::WriteBufferManager(64 << 20, table.block_cache));
  options.row_cache = rocksdb::NewLRUCache(1 << 20);
  options.env->SetBackgroundThreads(2, rocksdb::Env::Priority::LOW);
  options.env->SetBackgroundThreads(1, rocksdb::Env::HIGH);
  options.OptimizeForPointLookup(8);
  options.PrepareForBulkLoad();
  options.disable_auto_compactions = false;

  std::printf("%s %s\n", options.table_factory->Name(), table.block_cache->Name());
  std::printf("%zu %zu\n", table.block_cache->GetCapacity(), table.block_cache->GetUsage());
  std::printf("%d\n", static_cast<int>(options.rate_limiter->GetBytesPerSecond() >> 20));
  rocksdb::DB* db = nullptr;
  const rocksdb::Status s = rocksdb::DB::Open(options, argv[1], &db);
  if (!s.ok()) {
    std::printf("%s\n", s.ToString().c_str());
    return 1;
  }
  use(db);
  delete db;
  return 0;
}
