// What programs do seldom, and by mistake.
#include <cstdio>
#include <memory>
#include <string>

#include "rocksdb/db.h"

using namespace rocksdb;

int main(int, char** argv) {
  const std::string path = argv[1];
  Options options;
  options.create_if_missing = true;
  DB* opened = nullptr;
  Status s = DB::Open(options, path + "/none/none", &opened);
  std::printf("no parent: %d %d %d\n", s.IsIOError(), s.IsPathNotFound(), opened == nullptr);
  s = DestroyDB(path + ".none", options);
  std::printf("destroy none: %d\n", s.ok());
  if (!DB::Open(options, path, &opened).ok()) return 1;
  std::unique_ptr<DB> db(opened);
  std::string value = "as it was";
  std::printf("empty key: %d\n", db->Put(WriteOptions(), "", "empty").ok());
  std::printf("found: %d\n", db->Get(ReadOptions(), "", &value).ok());
  std::printf("empty value: %d\n", db->Put(WriteOptions(), "key", "").ok());
  db->Get(ReadOptions(), "key", &value);
  std::printf("get: \"%s\"\n", value.c_str());
  const std::string zeros("a\0b", 3);
  db->Put(WriteOptions(), zeros, zeros);
  db->Get(ReadOptions(), zeros, &value);
  std::printf("zeros: %zu\n", value.size());
  std::printf("delete none: %d %d\n", db->Delete(WriteOptions(), "none").ok(),
              db->SingleDelete(WriteOptions(), "none").ok());
  std::printf("merge: %d\n", db->Merge(WriteOptions(), "key", "x").IsNotSupported());
  std::unique_ptr<Iterator> it(db->NewIterator(ReadOptions()));
  std::printf("at first: %d %s\n", it->Valid(), it->status().ToString().c_str());
  it->Seek("");
  std::printf("Seek(\"\"): %d %zu\n", it->Valid(), it->Valid() ? it->key().size() : 99);
  it->SeekForPrev("");
  std::printf("SeekForPrev(\"\"): %d\n", it->Valid());
  it->SeekToFirst();
  it->Prev();
  std::printf("before the first: %d %d\n", it->Valid(), it->status().ok());
  it->SeekToLast();
  it->Next();
  std::printf("behind the last: %d %d\n", it->Valid(), it->status().ok());
  it.reset();
  const std::string large(1 << 20, 'v');
  std::printf("large: %d\n", db->Put(WriteOptions(), large, large).ok());
  std::printf("found: %d\n", db->Get(ReadOptions(), large, &value).ok());
  const Slice begin = "z";
  const Slice end = "a";
  std::printf("compact upside down: %d\n",
              db->CompactRange(CompactRangeOptions(), &begin, &end).ok());
  std::printf("no sizes: %d\n", db->GetApproximateSizes(nullptr, 0, nullptr).ok());
  std::printf("close: %d %d\n", db->Close().ok(), db->Close().ok());
  db.reset();
  s = DB::Open(options, "", &opened);
  std::printf("no name: %d\n", s.IsIOError());
  return 0;
}
