// Reads several keys, and asks whether keys are there.
#include <cstdio>
#include <string>
#include <vector>

#include "rocksdb/db.h"

using namespace rocksdb;

int main(int, char** argv) {
  Options options;
  options.create_if_missing = true;
  DB* db = nullptr;
  if (!DB::Open(options, argv[1], &db).ok()) return 1;
  for (int i = 0; i < 10; i += 2) {
    db->Put(WriteOptions(), "key" + std::to_string(i), "value" + std::to_string(i));
  }
  std::vector<Slice> keys = {"key0", "key1", "key8", "key0"};
  std::vector<std::string> values;
  std::vector<Status> statuses = db->MultiGet(ReadOptions(), keys, &values);
  for (size_t i = 0; i < keys.size(); ++i) {
    std::printf("%s: %d %s\n", keys[i].ToString().c_str(), statuses[i].ok(),
                statuses[i].ok() ? values[i].c_str() : "");
  }
  const std::vector<ColumnFamilyHandle*> families(keys.size(), db->DefaultColumnFamily());
  statuses = db->MultiGet(ReadOptions(), families, keys, &values);
  std::printf("%zu statuses, %zu values\n", statuses.size(), values.size());

  PinnableSlice found[4];
  Status answers[4];
  db->MultiGet(ReadOptions(), db->DefaultColumnFamily(), 4, keys.data(), found, answers);
  for (int i = 0; i < 4; ++i) {
    std::printf("batched: %d %d %s\n", answers[i].ok(), answers[i].IsNotFound(),
                found[i].ToString().c_str());
  }
  const Snapshot* const before = db->GetSnapshot();
  db->Put(WriteOptions(), "key1", "new");
  db->Delete(WriteOptions(), "key0");
  ReadOptions then;
  then.snapshot = before;
  std::vector<PinnableSlice> old(4);
  db->MultiGet(then, db->DefaultColumnFamily(), 4, keys.data(), old.data(), answers, false);
  for (int i = 0; i < 4; ++i) {
    std::printf("then: %d %s\n", answers[i].ok(), old[i].ToString().c_str());
  }
  db->ReleaseSnapshot(before);
  db->MultiGet(ReadOptions(), db->DefaultColumnFamily(), 0, nullptr, nullptr, nullptr);

  std::string value;
  bool known = false;
  bool may = db->KeyMayExist(ReadOptions(), "key2", &value, &known);
  std::printf("key2 may exist: %d, %d %s\n", may, known, value.c_str());
  may = db->KeyMayExist(ReadOptions(), db->DefaultColumnFamily(), "key2", &value);
  std::printf("key2 may exist: %d\n", may);
  may = db->KeyMayExist(ReadOptions(), "no such key", &value, &known);
  std::printf("another may exist: %d\n", may);
  delete db;
  return 0;
}
