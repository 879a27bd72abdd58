// Opens a store to read it.
#include <cstdio>
#include <string>
#include <vector>

#include "rocksdb/db.h"

using namespace rocksdb;

int main(int, char** argv) {
  Options options;
  DB* db = nullptr;
  Status s = DB::OpenForReadOnly(options, argv[1], &db);
  std::printf("missing: %d %d\n", s.IsIOError(), s.IsPathNotFound());
  options.create_if_missing = true;
  if (!DB::Open(options, argv[1], &db).ok()) return 1;
  for (int i = 0; i < 5; ++i) db->Put(WriteOptions(), "key" + std::to_string(i), "value");
  db->Flush(FlushOptions());
  delete db;

  options.create_if_missing = false;
  s = DB::OpenForReadOnly(options, argv[1], &db);
  if (!s.ok()) return 1;
  std::string value;
  std::printf("get: %d\n", db->Get(ReadOptions(), "key3", &value).ok());
  std::printf("put: %d\n", db->Put(WriteOptions(), "key3", "new").IsNotSupported());
  std::printf("delete: %d\n", db->Delete(WriteOptions(), "key3").IsNotSupported());
  WriteBatch batch;
  batch.Put("key4", "");
  std::printf("write: %d\n", db->Write(WriteOptions(), &batch).IsNotSupported());
  std::printf("flush: %d\n", db->Flush(FlushOptions()).IsNotSupported());
  std::printf("compact: %d\n",
              db->CompactRange(CompactRangeOptions(), nullptr, nullptr).IsNotSupported());
  Iterator* it = db->NewIterator(ReadOptions());
  int count = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) ++count;
  std::printf("keys: %d\n", count);
  delete it;
  delete db;

  std::vector<ColumnFamilyHandle*> handles;
  s = DB::OpenForReadOnly(DBOptions(options), argv[1],
                          {ColumnFamilyDescriptor(kDefaultColumnFamilyName, options)}, &handles,
                          &db);
  std::printf("by families: %d %zu\n", s.ok(), handles.size());
  std::printf("get: %d\n", db->Get(ReadOptions(), handles[0], "key1", &value).ok());
  for (ColumnFamilyHandle* each : handles) db->DestroyColumnFamilyHandle(each);
  delete db;
  return 0;
}
