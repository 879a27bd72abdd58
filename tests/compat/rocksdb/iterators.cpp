// Walks forward and backward, between bounds, within a prefix, and over what comes later.
#include <cstdio>
#include <memory>
#include <string>

#include "rocksdb/db.h"
#include "rocksdb/slice_transform.h"

using namespace rocksdb;

namespace {

void print(const char* what, Iterator* it) {
  if (it->Valid()) {
    std::printf("%s: %s = %s\n", what, it->key().ToString().c_str(),
                it->value().ToString().c_str());
  } else {
    std::printf("%s: nowhere, %s\n", what, it->status().ToString().c_str());
  }
}

void print_all(const char* what, DB* db, const ReadOptions& options) {
  std::unique_ptr<Iterator> it(db->NewIterator(options));
  std::printf("%s:", what);
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    std::printf(" %s", it->key().ToString().c_str());
  }
  std::printf(" | backward:");
  for (it->SeekToLast(); it->Valid(); it->Prev()) {
    std::printf(" %s", it->key().ToString().c_str());
  }
  std::printf("\n");
}

void within_prefixes(DB* db) {
  ReadOptions of_prefix;
  of_prefix.prefix_same_as_start = true;
  std::unique_ptr<Iterator> it(db->NewIterator(of_prefix));
  std::printf("of bbb:");
  for (it->Seek("bbb"); it->Valid(); it->Next()) std::printf(" %s", it->key().ToString().c_str());
  std::printf("\nof aaa2:");
  for (it->Seek("aaa2"); it->Valid(); it->Next()) std::printf(" %s", it->key().ToString().c_str());
  std::printf("\nof bab:");
  for (it->Seek("bab"); it->Valid(); it->Next()) std::printf(" %s", it->key().ToString().c_str());
  std::printf("\n");
}

void what_comes_later(DB* db) {
  ReadOptions all;
  all.total_order_seek = true;
  std::unique_ptr<Iterator> it(db->NewIterator(all));
  int cleaned = 0;
  it->RegisterCleanup([](void* n, void*) { ++*static_cast<int*>(n); }, &cleaned, nullptr);
  db->Put(WriteOptions(), "eee", "later");
  it->Seek("eee");
  print("before Refresh", it.get());
  std::printf("Refresh: %d\n", it->Refresh().ok());
  it->Seek("eee");
  print("after Refresh", it.get());
  std::string pinned;
  std::printf("property: %d\n", it->GetProperty("rocksdb.iterator.is-key-pinned", &pinned).ok());
  std::printf("pinned: %s\n", pinned.c_str());
  std::printf("no property: %d\n", it->GetProperty("no such", &pinned).IsInvalidArgument());
  it.reset();
  std::printf("cleaned up: %d\n", cleaned);

  all.snapshot = db->GetSnapshot();
  it.reset(db->NewIterator(all));
  std::printf("Refresh of a snapshot: %d\n", it->Refresh().IsNotSupported());
  it.reset();
  db->ReleaseSnapshot(all.snapshot);
  all.snapshot = nullptr;
  all.tailing = true;
  it.reset(db->NewIterator(all));
  it->Seek("eee");
  print("tail", it.get());
  db->Put(WriteOptions(), "fff", "after");
  it->Seek("fff");
  print("tail", it.get());
  it.reset(NewEmptyIterator());
  print("empty", it.get());
  it.reset(NewErrorIterator(Status::Corruption("broken")));
  print("error", it.get());
}

}  // namespace

int main(int, char** argv) {
  Options options;
  options.create_if_missing = true;
  options.prefix_extractor.reset(NewFixedPrefixTransform(3));
  DB* opened = nullptr;
  if (!DB::Open(options, argv[1], &opened).ok()) return 1;
  std::unique_ptr<DB> db(opened);
  for (const char* key : {"aaa1", "aaa2", "bbb1", "bbb2", "bbb3", "ccc1", "dd"}) {
    db->Put(WriteOptions(), key, std::string("value of ") + key);
  }
  ReadOptions how;
  how.total_order_seek = true;
  print_all("all", db.get(), how);
  Slice lower = "aaa2";
  Slice upper = "bbb3";
  how.iterate_lower_bound = &lower;
  print_all("from aaa2", db.get(), how);
  how.iterate_upper_bound = &upper;
  print_all("from aaa2 to bbb3", db.get(), how);
  {
    std::unique_ptr<Iterator> it(db->NewIterator(how));
    print("at first", it.get());
    it->Seek("a");
    print("Seek(a)", it.get());
    it->Prev();
    print("before", it.get());
    it->Seek("bbb3");
    print("Seek(bbb3)", it.get());
    it->SeekForPrev("zzz");
    print("SeekForPrev(zzz)", it.get());
    it->SeekForPrev("aaa1");
    print("SeekForPrev(aaa1)", it.get());
  }
  lower = "ccc";
  upper = "bbb";
  print_all("upside down", db.get(), how);

  within_prefixes(db.get());
  what_comes_later(db.get());
  return 0;
}
