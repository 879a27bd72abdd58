// Opens a store, writes, reads, writes a batch, deletes, and opens it again.
#include <cstdio>
#include <string>

#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/slice.h"

using ROCKSDB_NAMESPACE::DB;
using ROCKSDB_NAMESPACE::Options;
using ROCKSDB_NAMESPACE::PinnableSlice;
using ROCKSDB_NAMESPACE::ReadOptions;
using ROCKSDB_NAMESPACE::Status;
using ROCKSDB_NAMESPACE::WriteBatch;
using ROCKSDB_NAMESPACE::WriteOptions;

int main(int, char** argv) {
  DB* db = nullptr;
  Options options;
  options.IncreaseParallelism();
  options.OptimizeLevelStyleCompaction();
  Status s = DB::Open(options, argv[1], &db);
  std::printf("missing: %d %d\n", s.ok(), s.IsInvalidArgument());
  options.create_if_missing = true;
  s = DB::Open(options, argv[1], &db);
  if (!s.ok()) return 1;
  std::printf("name: %d\n", db->GetName() == argv[1]);
  s = db->Put(WriteOptions(), "fruit", "apple");
  std::string value = "before";
  s = db->Get(ReadOptions(), "fruit", &value);
  std::printf("get: %d %s\n", s.ok(), value.c_str());
  value = "before";
  s = db->Get(ReadOptions(), "vegetable", &value);
  std::printf("get: %d %s\n", s.IsNotFound(), s.ToString().substr(0, 8).c_str());
  {
    WriteBatch batch;
    batch.Delete("fruit");
    batch.Put("vegetable", "leek");
    s = db->Write(WriteOptions(), &batch);
  }
  {
    PinnableSlice pinned;
    s = db->Get(ReadOptions(), db->DefaultColumnFamily(), "vegetable", &pinned);
    std::printf("pinned: %d %s %zu\n", s.ok(), pinned.ToString().c_str(), pinned.size());
    pinned.Reset();
    s = db->Get(ReadOptions(), db->DefaultColumnFamily(), "fruit", &pinned);
    std::printf("pinned: %d\n", s.IsNotFound());
  }
  std::string buffer;
  PinnableSlice in_buffer(&buffer);
  s = db->Get(ReadOptions(), db->DefaultColumnFamily(), "vegetable", &in_buffer);
  if (in_buffer.IsPinned()) buffer.assign(in_buffer.data(), in_buffer.size());
  std::printf("buffer: %s\n", buffer.c_str());
  WriteOptions durably;
  durably.sync = true;
  std::printf("sync: %d\n", db->Put(durably, "fruit", "").ok());
  delete db;

  options.error_if_exists = true;
  s = DB::Open(options, argv[1], &db);
  std::printf("exists: %d\n", s.IsInvalidArgument());
  options.error_if_exists = false;
  s = DB::Open(options, argv[1], &db);
  s = db->Get(ReadOptions(), "fruit", &value);
  std::printf("again: %d %zu\n", s.ok(), value.size());
  DB* twice = nullptr;
  s = DB::Open(options, argv[1], &twice);
  std::printf("twice: %d %d\n", s.IsIOError(), twice == nullptr);
  std::printf("close: %d\n", db->Close().ok());
  delete db;
  std::printf("destroy: %d\n", DestroyDB(argv[1], options).ok());
  return 0;
}
