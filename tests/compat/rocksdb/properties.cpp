// What an exporter of metrics reads. Numbers that two engines count in their own ways are left out.
#include <cstdio>
#include <memory>
#include <string>

#include "rocksdb/db.h"

using namespace rocksdb;

int main(int, char** argv) {
  Options options;
  options.create_if_missing = true;
  DB* opened = nullptr;
  if (!DB::Open(options, argv[1], &opened).ok()) return 1;
  std::unique_ptr<DB> db(opened);
  for (int i = 0; i < 100; ++i) db->Put(WriteOptions(), std::to_string(1000 + i), "value");
  uint64_t number = 0;
  for (const std::string& name :
       {DB::Properties::kEstimateNumKeys, DB::Properties::kNumSnapshots,
        DB::Properties::kOldestSnapshotTime, DB::Properties::kNumImmutableMemTable,
        DB::Properties::kMemTableFlushPending, DB::Properties::kNumRunningFlushes,
        DB::Properties::kCompactionPending, DB::Properties::kNumRunningCompactions,
        DB::Properties::kEstimatePendingCompactionBytes, DB::Properties::kActualDelayedWriteRate,
        DB::Properties::kIsWriteStopped, DB::Properties::kNumBlobFiles}) {
    const bool known = db->GetIntProperty(name, &number);
    std::printf("%s %d %d\n", name.c_str(), known, static_cast<int>(number));
  }
  for (const std::string& name :
       {DB::Properties::kCurSizeAllMemTables, DB::Properties::kCurSizeActiveMemTable,
        DB::Properties::kSizeAllMemTables, DB::Properties::kTotalSstFilesSize,
        DB::Properties::kLiveSstFilesSize, DB::Properties::kEstimateLiveDataSize,
        DB::Properties::kBlockCacheUsage, DB::Properties::kBlockCachePinnedUsage}) {
    std::printf("%s %d\n", name.c_str(), db->GetIntProperty(name, &number));
  }
  std::string text;
  db->GetProperty("rocksdb.estimate-num-keys", &text);
  std::printf("as text: %s\n", text.c_str());
  std::printf("stats: %d\n", db->GetProperty("rocksdb.stats", &text) && !text.empty());
  std::printf("stats as a number: %d\n", db->GetIntProperty("rocksdb.stats", &number));
  std::printf("levels: %d %d\n", db->GetProperty("rocksdb.num-files-at-level6", &text),
              db->GetProperty("rocksdb.num-files-at-level7", &text));
  for (const char* odd :
       {"", "rocksdb.", "rocksdb", "rocksdb.num-files-at-level", "rocksdb.num-files-at-level-1",
        "rocksdb.num-files-at-levelx", "rocksdb.estimate-num-keys ", "Rocksdb.stats"}) {
    std::printf("\"%s\": %d %d\n", odd, db->GetProperty(odd, &text),
                db->GetIntProperty(odd, &number));
  }
  std::printf("aggregated: %d\n",
              db->GetAggregatedIntProperty("rocksdb.estimate-num-keys", &number));
  std::printf("level: %d\n", db->GetIntProperty("rocksdb.num-files-at-level0", &number));
  return 0;
}
