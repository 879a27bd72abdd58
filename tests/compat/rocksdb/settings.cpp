// Changes options of an open store.
#include <cstdio>
#include <string>
#include <unordered_map>

#include "rocksdb/db.h"

using namespace rocksdb;

int main(int, char** argv) {
  Options options;
  options.create_if_missing = true;
  DB* db = nullptr;
  if (!DB::Open(options, argv[1], &db).ok()) return 1;
  std::printf(
      "options: %d\n",
      db->SetOptions({{"write_buffer_size", "131072"}, {"disable_auto_compactions", "true"}}).ok());
  std::printf("of the family: %d\n",
              db->SetOptions(db->DefaultColumnFamily(), {{"max_write_buffer_number", "4"}}).ok());
  std::printf("of the store: %d\n", db->SetDBOptions({{"max_background_jobs", "4"}}).ok());
  std::printf("none: %d %d\n", db->SetOptions({}).IsInvalidArgument(),
              db->SetDBOptions({}).IsInvalidArgument());
  std::printf("unknown: %d %d\n", db->SetOptions({{"no such", "1"}}).IsInvalidArgument(),
              db->SetDBOptions({{"no such", "1"}}).IsNotFound());
  std::printf("fixed: %d %d\n", db->SetOptions({{"num_levels", "3"}}).IsInvalidArgument(),
              db->SetDBOptions({{"create_if_missing", "0"}}).IsNotFound());
  std::printf("put: %d\n", db->Put(WriteOptions(), "a", "b").ok());
  std::printf("sync: %d %d\n", db->SyncWAL().ok(), db->FlushWAL(true).ok());
  std::printf("checksums: %d\n", db->VerifyChecksum().ok());
  std::printf("resume: %d\n", db->Resume().ok());
  delete db;
  return 0;
}
