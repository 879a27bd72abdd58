// Counts what a store is asked for.
#include <cstdio>
#include <memory>
#include <string>

#include "rocksdb/db.h"
#include "rocksdb/statistics.h"

using namespace rocksdb;

int main(int, char** argv) {
  Options options;
  options.create_if_missing = true;
  options.statistics = CreateDBStatistics();
  DB* opened = nullptr;
  if (!DB::Open(options, argv[1], &opened).ok()) return 1;
  std::unique_ptr<DB> db(opened);
  options.statistics->Reset();
  for (int i = 0; i < 10; ++i) db->Put(WriteOptions(), std::to_string(i), "value");
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Delete("0");
  db->Write(WriteOptions(), &batch);
  std::string value;
  db->Get(ReadOptions(), "5", &value);
  db->Get(ReadOptions(), "none", &value);
  std::vector<std::string> values;
  db->MultiGet(ReadOptions(), {"1", "2", "none"}, &values);
  std::unique_ptr<Iterator> it(db->NewIterator(ReadOptions()));
  for (it->SeekToFirst(); it->Valid(); it->Next()) continue;
  it->Seek("3");
  it->Prev();
  it.reset();
  const auto print = [&](const char* name, uint32_t ticker) {
    std::printf("%s %d\n", name, static_cast<int>(options.statistics->getTickerCount(ticker)));
  };
  print("written", NUMBER_KEYS_WRITTEN);
  print("read", NUMBER_KEYS_READ);
  print("bytes read", BYTES_READ);
  print("multiget", NUMBER_MULTIGET_CALLS);
  print("multiget keys", NUMBER_MULTIGET_KEYS_READ);
  print("multiget found", NUMBER_MULTIGET_KEYS_FOUND);
  print("multiget bytes", NUMBER_MULTIGET_BYTES_READ);
  print("seek", NUMBER_DB_SEEK);
  print("next", NUMBER_DB_NEXT);
  print("prev", NUMBER_DB_PREV);
  print("seek found", NUMBER_DB_SEEK_FOUND);
  print("next found", NUMBER_DB_NEXT_FOUND);
  print("prev found", NUMBER_DB_PREV_FOUND);
  print("created", NO_ITERATOR_CREATED);
  print("deleted", NO_ITERATOR_DELETED);
  print("cache hits", BLOCK_CACHE_HIT);
  std::printf("bytes written: %d\n", options.statistics->getTickerCount(BYTES_WRITTEN) > 60);
  std::printf("text: %d\n",
              options.statistics->ToString().find("rocksdb.number.keys.read") != std::string::npos);
  std::printf("taken: %d\n",
              static_cast<int>(options.statistics->getAndResetTickerCount(NUMBER_KEYS_READ)));
  print("read", NUMBER_KEYS_READ);
  return 0;
}
