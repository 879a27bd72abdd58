// Deletes ranges, with all that a program can get wrong.
#include <cstdio>
#include <string>

#include "rocksdb/db.h"

using namespace rocksdb;

namespace {

void print_all(DB* db) {
  Iterator* it = db->NewIterator(ReadOptions());
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    std::printf(" %s", it->key().ToString().c_str());
  }
  std::printf("\n");
  delete it;
}

}  // namespace

int main(int, char** argv) {
  Options options;
  options.create_if_missing = true;
  DB* db = nullptr;
  if (!DB::Open(options, argv[1], &db).ok()) return 1;
  for (char c = 'a'; c <= 'j'; ++c) db->Put(WriteOptions(), std::string(1, c), "x");
  std::printf("delete b to d: %d",
              db->DeleteRange(WriteOptions(), db->DefaultColumnFamily(), "b", "d").ok());
  print_all(db);
  std::printf("nothing in it: %d",
              db->DeleteRange(WriteOptions(), db->DefaultColumnFamily(), "e", "e").ok());
  print_all(db);
  std::printf("between keys: %d",
              db->DeleteRange(WriteOptions(), db->DefaultColumnFamily(), "aa", "ab").ok());
  print_all(db);
  WriteBatch batch;
  batch.Put("ea", "gone");
  batch.DeleteRange("e", "g");
  batch.Put("f", "back");
  batch.DeleteRange(db->DefaultColumnFamily(), "i", "z");
  std::printf("batch of %d: %d", static_cast<int>(batch.Count()),
              db->Write(WriteOptions(), &batch).ok());
  print_all(db);
  Range ranges[2] = {Range("a", "z"), Range("b", "b")};
  uint64_t sizes[2] = {7, 7};
  std::printf("sizes: %d\n", db->GetApproximateSizes(ranges, 2, sizes).ok());
  std::printf("empty range: %d\n", sizes[1] == 0);
  const Slice first = "c";
  std::printf("compact: %d\n", db->CompactRange(CompactRangeOptions(), &first, nullptr).ok());
  WriteBatch inverted;
  inverted.DeleteRange("h", "a");
  std::printf("inverted: %d", db->Write(WriteOptions(), &inverted).IsInvalidArgument());
  print_all(db);
  delete db;
  if (!DB::Open(options, argv[1] + std::string("2"), &db).ok()) return 1;
  std::printf(
      "inverted: %d\n",
      db->DeleteRange(WriteOptions(), db->DefaultColumnFamily(), "z", "a").IsInvalidArgument());
  delete db;
  return 0;
}
