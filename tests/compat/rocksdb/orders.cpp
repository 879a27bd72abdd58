// Orders of the program's and RocksDB's reverse one.
#include <cstdio>
#include <memory>
#include <string>

#include "rocksdb/comparator.h"
#include "rocksdb/db.h"

using namespace rocksdb;

namespace {

// By the number that the key spells.
class ByNumber : public Comparator {
 public:
  int Compare(const Slice& a, const Slice& b) const override {
    const int x = std::stoi("0" + a.ToString());
    const int y = std::stoi("0" + b.ToString());
    return x < y ? -1 : x > y ? 1 : 0;
  }
  const char* Name() const override { return "program.ByNumber"; }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

void walk(const Options& options, const std::string& path) {
  DB* opened = nullptr;
  if (!DB::Open(options, path, &opened).ok()) return;
  std::unique_ptr<DB> db(opened);
  for (const char* key : {"10", "9", "100", "1", "50"}) db->Put(WriteOptions(), key, key);
  std::unique_ptr<Iterator> it(db->NewIterator(ReadOptions()));
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    std::printf(" %s", it->key().ToString().c_str());
  }
  it->Seek("49");
  std::printf(" | 49: %s", it->Valid() ? it->key().ToString().c_str() : "-");
  it->SeekForPrev("49");
  std::printf(" %s\n", it->Valid() ? it->key().ToString().c_str() : "-");
}

}  // namespace

int main(int, char** argv) {
  const std::string path = argv[1];
  const ByNumber by_number;
  Options options;
  options.create_if_missing = true;
  walk(options, path + ".bytes");
  options.comparator = ReverseBytewiseComparator();
  walk(options, path + ".reverse");
  options.comparator = &by_number;
  walk(options, path + ".number");
  DB* db = nullptr;
  options.comparator = BytewiseComparator();
  std::printf("another order: %d\n", DB::Open(options, path + ".number", &db).IsInvalidArgument());
  std::printf("%s %d %d\n", BytewiseComparator()->Name(), BytewiseComparator()->Equal("a", "a"),
              ReverseBytewiseComparator()->Compare("a", "b") > 0);
  return 0;
}
