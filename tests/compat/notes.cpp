// A program as people write them for LevelDB: notes by number, and a word index beside them. It
// knows nothing of outlast. What it prints is the same with both libraries.
//
// usage: notes DIRECTORY
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "leveldb/cache.h"
#include "leveldb/comparator.h"
#include "leveldb/db.h"
#include "leveldb/dumpfile.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/helpers/memenv.h"
#include "leveldb/write_batch.h"

namespace {

void check(const leveldb::Status& status) {
  if (status.ok()) return;
  std::printf("failed: %s\n", status.ToString().c_str());
  std::exit(1);
}

std::string number_key(unsigned number) {
  char key[16];
  std::snprintf(key, sizeof key, "note/%06u", number);
  return key;
}

// Keys without regard to case.
class CaseBlind : public leveldb::Comparator {
 public:
  int Compare(const leveldb::Slice& a, const leveldb::Slice& b) const override {
    return leveldb::Slice(lower(a)).compare(lower(b));
  }
  const char* Name() const override { return "notes.CaseBlind"; }
  void FindShortestSeparator(std::string*, const leveldb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

 private:
  static std::string lower(const leveldb::Slice& text) {
    std::string made = text.ToString();
    for (char& c : made) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return made;
  }
};

// What LevelDB says goes here, and is counted alone: it is not the same for two libraries.
class CountingLogger : public leveldb::Logger {
 public:
  void Logv(const char*, std::va_list) override { ++messages; }
  int messages = 0;
};

class Printer : public leveldb::WriteBatch::Handler {
 public:
  void Put(const leveldb::Slice& key, const leveldb::Slice& value) override {
    std::printf("  put %s = %s\n", key.ToString().c_str(), value.ToString().c_str());
  }
  void Delete(const leveldb::Slice& key) override {
    std::printf("  delete %s\n", key.ToString().c_str());
  }
};

// Only keys with a prefix.
class PrefixIterator : public leveldb::Iterator {
 public:
  PrefixIterator(leveldb::Iterator* all, const std::string& prefix) : all_(all), prefix_(prefix) {
    all_->Seek(prefix_);
  }
  bool Valid() const override { return all_->Valid() && all_->key().starts_with(prefix_); }
  void SeekToFirst() override { all_->Seek(prefix_); }
  void SeekToLast() override {}
  void Seek(const leveldb::Slice& target) override { all_->Seek(prefix_ + target.ToString()); }
  void Next() override { all_->Next(); }
  void Prev() override { all_->Prev(); }
  leveldb::Slice key() const override { return all_->key(); }
  leveldb::Slice value() const override { return all_->value(); }
  leveldb::Status status() const override { return all_->status(); }

 private:
  std::unique_ptr<leveldb::Iterator> all_;
  std::string prefix_;
};

const char* const texts[] = {"the tree stands in the yard", "a yard is three feet",
                             "feet of the tree are its roots", ""};

void fill(leveldb::DB* db) {
  for (unsigned i = 0; i < 4; ++i) {
    leveldb::WriteBatch batch;
    batch.Put(number_key(i), texts[i]);
    std::istringstream words(texts[i]);
    for (std::string word; words >> word;) batch.Put("word/" + word + "/" + number_key(i), "");
    leveldb::WriteOptions durably;
    durably.sync = i % 2 == 0;
    check(db->Write(durably, &batch));
  }
}

void print_all(leveldb::DB* db, const std::string& prefix, const leveldb::Snapshot* at = nullptr) {
  leveldb::ReadOptions options;
  options.snapshot = at;
  options.verify_checksums = true;
  PrefixIterator it(db->NewIterator(options), prefix);
  int left = 0;
  it.RegisterCleanup([](void* n, void*) { ++*static_cast<int*>(n); }, &left, nullptr);
  for (; it.Valid(); it.Next()) {
    std::printf("  %s: %s\n", it.key().ToString().c_str(), it.value().ToString().c_str());
  }
  check(it.status());
}

void snapshots_and_batches(leveldb::DB* db) {
  const leveldb::Snapshot* before = db->GetSnapshot();
  leveldb::WriteBatch first, second;
  first.Put(number_key(1), "changed");
  first.Delete(number_key(2));
  second.Put(std::string("zero\0byte", 9), std::string(1000, '\0'));
  first.Append(second);
  Printer printer;
  check(first.Iterate(&printer));
  check(db->Write(leveldb::WriteOptions(), &first));
  std::puts("now:");
  print_all(db, "note/");
  std::puts("before:");
  print_all(db, "note/", before);
  db->ReleaseSnapshot(before);
  std::string value;
  check(db->Get(leveldb::ReadOptions(), leveldb::Slice("zero\0byte", 9), &value));
  std::printf("zeros: %zu\n", value.size());
  check(db->Delete(leveldb::WriteOptions(), "never there"));
  const leveldb::Status missing = db->Get(leveldb::ReadOptions(), number_key(2), &value);
  leveldb::Status copy = missing;
  std::printf("missing: %d %d %d\n", copy.IsNotFound(), copy.ok(), copy.IsCorruption());
}

void ask(leveldb::DB* db) {
  std::string value;
  std::printf("properties: %d %d %d\n", db->GetProperty("leveldb.stats", &value),
              db->GetProperty("leveldb.num-files-at-level0", &value),
              db->GetProperty("no such", &value));
  const leveldb::Range all("note/", "word0");
  uint64_t size = 0;
  db->GetApproximateSizes(&all, 1, &size);
  db->CompactRange(nullptr, nullptr);
  std::unique_ptr<leveldb::Iterator> it(db->NewIterator(leveldb::ReadOptions()));
  it->SeekToLast();
  std::printf("last: %zu bytes\n", it->key().size());
  it->Prev();
  std::printf("one before: %s\n", it->key().ToString().c_str());
}

void in_parallel(leveldb::DB* db) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 2; ++t) {
    threads.emplace_back([=] {
      for (unsigned i = 0; i < 200; ++i) {
        check(db->Put(leveldb::WriteOptions(), number_key(1000 * (t + 1) + i), "x"));
      }
    });
  }
  for (std::thread& each : threads) each.join();
  std::unique_ptr<leveldb::Iterator> it(db->NewIterator(leveldb::ReadOptions()));
  int count = 0;
  for (it->Seek(number_key(1000)); it->Valid() && it->key().starts_with("note/"); it->Next()) {
    ++count;
  }
  std::printf("threads put %d\n", count);
}

void other_classes(const std::string& directory) {
  std::unique_ptr<leveldb::Cache> cache(leveldb::NewLRUCache(1000));
  int deleted = 0;
  const auto deleter = [](const leveldb::Slice&, void* n) { ++*static_cast<int*>(n); };
  for (const char* key : {"a", "b", "a"}) {
    cache->Release(cache->Insert(key, &deleted, 10, deleter));
  }
  leveldb::Cache::Handle* const used = cache->Lookup("b");
  cache->Erase("b");
  std::printf("cache: %d deleted, b is %s, ", deleted, cache->Lookup("b") ? "there" : "gone");
  std::printf("of charge %zu, %d\n", cache->TotalCharge(), cache->Value(used) == &deleted);
  cache->Release(used);
  cache->Prune();
  std::printf("cache: %d deleted, ids differ: %d\n", deleted, cache->NewId() != cache->NewId());
  std::unique_ptr<const leveldb::FilterPolicy> policy(leveldb::NewBloomFilterPolicy(10));
  const leveldb::Slice keys[] = {"one", "two"};
  std::string filter;
  policy->CreateFilter(keys, 2, &filter);
  std::printf("filter: %d %d\n", policy->KeyMayMatch("one", filter),
              policy->KeyMayMatch("two", filter));

  leveldb::Env* const env = leveldb::Env::Default();
  check(leveldb::WriteStringToFile(env, "content", directory + ".txt"));
  std::string content;
  check(leveldb::ReadFileToString(env, directory + ".txt", &content));
  check(env->RemoveFile(directory + ".txt"));
  std::printf("file: %s, now %d\n", content.c_str(), env->FileExists(directory + ".txt"));

  std::unique_ptr<leveldb::Env> memory(leveldb::NewMemEnv(env));
  leveldb::Options options;
  options.env = memory.get();
  options.create_if_missing = true;
  leveldb::DB* db = nullptr;
  check(leveldb::DB::Open(options, "/in/memory", &db));
  check(db->Put(leveldb::WriteOptions(), "key", "value"));
  check(db->Get(leveldb::ReadOptions(), "key", &content));
  std::printf("in memory: %s\n", content.c_str());
  delete db;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string directory = argv[1];
  const CaseBlind order;
  CountingLogger logger;
  std::unique_ptr<leveldb::Cache> cache(leveldb::NewLRUCache(1 << 20));
  std::unique_ptr<const leveldb::FilterPolicy> filter(leveldb::NewBloomFilterPolicy(10));
  leveldb::Options options;
  options.comparator = &order;
  options.info_log = &logger;
  options.block_cache = cache.get();
  options.write_buffer_size = 1 << 20;
  options.compression = leveldb::kNoCompression;
  leveldb::DB* db = nullptr;
  leveldb::Status status = leveldb::DB::Open(options, directory, &db);
  std::printf("without create_if_missing: %s\n", status.IsInvalidArgument() ? "refused" : "open");

  options.create_if_missing = true;
  check(leveldb::DB::Open(options, directory, &db));
  fill(db);
  print_all(db, "word/feet");
  snapshots_and_batches(db);
  ask(db);
  in_parallel(db);
  leveldb::DB* twice = nullptr;
  std::printf("opened twice: %d\n", leveldb::DB::Open(options, directory, &twice).IsIOError());
  delete db;

  options.error_if_exists = true;
  status = leveldb::DB::Open(options, directory, &db);
  std::printf("exists: %d\n", status.IsInvalidArgument());
  options.error_if_exists = false;
  options.comparator = leveldb::BytewiseComparator();
  std::printf("another order: %d\n", leveldb::DB::Open(options, directory, &db).ok());
  options.comparator = &order;
  check(leveldb::RepairDB(directory, options));
  options.paranoid_checks = true;
  check(leveldb::DB::Open(options, directory, &db));
  print_all(db, "note/00000");
  delete db;
  check(leveldb::DestroyDB(directory, options));
  options.create_if_missing = false;
  status = leveldb::DB::Open(options, directory, &db);
  std::printf("destroyed: %d, messages: %d\n", status.IsInvalidArgument(), logger.messages > 0);
  other_classes(directory);
}
