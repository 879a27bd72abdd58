// What programs do seldom, and by mistake, with a store. It knows nothing of outlast. What it
// prints is the same with both libraries.
//
// usage: edges DIRECTORY
#include <climits>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "leveldb/cache.h"
#include "leveldb/comparator.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/iterator.h"
#include "leveldb/write_batch.h"

namespace {

using namespace leveldb;

const char* kind(const Status& s) {
  if (s.ok()) return "OK";
  if (s.IsNotFound()) return "NotFound";
  if (s.IsCorruption()) return "Corruption";
  if (s.IsIOError()) return "IOError";
  if (s.IsNotSupportedError()) return "NotSupported";
  return s.IsInvalidArgument() ? "InvalidArgument" : "another";
}

std::string shown(const Slice& bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    char digits[8];
    const unsigned char byte = static_cast<unsigned char>(bytes[i]);
    std::snprintf(digits, sizeof digits, byte > 32 && byte < 127 ? "%c" : "<%02x>", byte);
    text += digits;
  }
  return text.size() > 60 ? std::to_string(bytes.size()) + " bytes" : text;
}

class Printer : public WriteBatch::Handler {
 public:
  void Put(const Slice& key, const Slice& value) override {
    std::printf(" +%s=%s", shown(key).c_str(), shown(value).c_str());
  }
  void Delete(const Slice& key) override { std::printf(" -%s", shown(key).c_str()); }
};

void print(const char* what, const WriteBatch& batch) {
  std::printf("%s: %zu bytes:", what, batch.ApproximateSize());
  Printer printer;
  const Status s = batch.Iterate(&printer);
  std::printf(" %s\n", kind(s));
}

void print(const char* what, Iterator* it) {
  std::printf("%s: %s, %s\n", what, it->Valid() ? shown(it->key()).c_str() : "nowhere",
              kind(it->status()));
}

void open_and_close(const std::string& path) {
  Options options;
  DB* db = nullptr;
  std::printf("missing: %s\n", kind(DB::Open(options, path, &db)));
  std::printf("null: %d\n", db == nullptr);
  options.create_if_missing = true;
  std::printf("no parent: %s\n", kind(DB::Open(options, path + "/none/none", &db)));
  Env* const env = Env::Default();
  WriteStringToFile(env, "text", path + ".txt");
  std::printf("a file: %s\n", kind(DB::Open(options, path + ".txt", &db)));
  std::printf("destroy nothing: %s\n", kind(DestroyDB(path + ".none", options)));
  options.write_buffer_size = 0;
  options.max_open_files = -1;
  options.block_size = 0;
  options.block_restart_interval = 1;
  options.max_file_size = 0;
  std::printf("small options: %s\n", kind(DB::Open(options, path, &db)));
  DB* twice = db;
  std::printf("twice: %s\n", kind(DB::Open(options, path, &twice)));
  std::printf("null: %d\n", twice == nullptr);
  std::printf("destroy an open one: %s\n", kind(DestroyDB(path, options)));
  std::printf("it works: %s\n", kind(db->Put(WriteOptions(), "a", "b")));
  delete db;
  options.error_if_exists = true;
  std::printf("exists: %s\n", kind(DB::Open(options, path, &db)));
  options.error_if_exists = false;
  std::printf("with a slash: %s\n", kind(DB::Open(options, path + "/", &db)));
  std::string value;
  std::printf("get: %s\n", kind(db->Get(ReadOptions(), "a", &value)));
  delete db;
  std::printf("destroy: %s\n", kind(DestroyDB(path, options)));
  std::printf("destroy again: %s\n", kind(DestroyDB(path, options)));
  std::printf("gone: %d\n", !env->FileExists(path));
}

void put_and_get(DB* db) {
  std::string value = "as it was";
  std::printf("none: %s", kind(db->Get(ReadOptions(), "none", &value)));
  std::printf(" %s\n", value.c_str());
  for (const Slice& key : {Slice(""), Slice("\0", 1), Slice("\xff\xff"), Slice("a\0b", 3)}) {
    std::printf("put %s: %s\n", shown(key).c_str(), kind(db->Put(WriteOptions(), key, key)));
    std::printf("get: %s", kind(db->Get(ReadOptions(), key, &value)));
    std::printf(" %s\n", shown(value).c_str());
  }
  std::printf("delete: %s\n", kind(db->Delete(WriteOptions(), "")));
  std::printf("delete again: %s\n", kind(db->Delete(WriteOptions(), "")));
  std::printf("get: %s\n", kind(db->Get(ReadOptions(), "", &value)));
  const std::string large(3 << 20, 'x');
  std::printf("large: %s\n", kind(db->Put(WriteOptions(), large, large)));
  std::printf("get: %s", kind(db->Get(ReadOptions(), large, &value)));
  std::printf(" %d\n", value == large);
  std::printf("null batch: %s\n", kind(db->Write(WriteOptions(), nullptr)));
  WriteBatch empty;
  std::printf("empty batch: %s\n", kind(db->Write(WriteOptions(), &empty)));
}

void batches(DB* db) {
  WriteBatch batch;
  print("empty", batch);
  batch.Append(batch);
  print("empty with itself", batch);
  batch.Put("k", "1");
  batch.Delete("gone");
  batch.Put("", "");
  print("three", batch);
  batch.Append(batch);
  print("with itself", batch);
  WriteBatch copy(batch);
  batch.Clear();
  print("cleared", batch);
  batch.Append(copy);
  batch.Put("k", std::string(200, 'v'));
  print("again", batch);
  std::printf("write: %s\n", kind(db->Write(WriteOptions(), &batch)));
  std::printf("write again: %s\n", kind(db->Write(WriteOptions(), &batch)));
  std::string value;
  std::printf("the last one counts: %s", kind(db->Get(ReadOptions(), "k", &value)));
  std::printf(" %zu\n", value.size());
}

void iterators(DB* db) {
  for (const char* key : {"b", "d", "f"}) db->Put(WriteOptions(), key, key);
  std::unique_ptr<Iterator> it(db->NewIterator(ReadOptions()));
  print("at first", it.get());
  it->Seek("");
  print("Seek nothing", it.get());
  it->Seek("c");
  print("Seek c", it.get());
  it->Prev();
  print("Prev", it.get());
  it->Next();
  it->Next();
  print("Next, Next", it.get());
  it->Prev();
  it->Next();
  print("Prev, Next", it.get());
  it->SeekToFirst();
  it->Prev();
  print("before the first", it.get());
  it->SeekToLast();
  it->Next();
  print("behind the last", it.get());
  it->Seek(std::string(1 << 20, '\xff'));
  print("Seek beyond all", it.get());
  it->SeekToFirst();
  print("again", it.get());
  db->Delete(WriteOptions(), "b");
  db->Put(WriteOptions(), "a", "later");
  it->Seek("a");
  print("deleted since", it.get());
  int ends = 0;
  const auto end = [](void* sum, void* step) {
    *static_cast<int*>(sum) = 10 * *static_cast<int*>(sum) + *static_cast<int*>(step);
  };
  int steps[] = {1, 2, 3};
  for (int& step : steps) it->RegisterCleanup(end, &ends, &step);
  it.reset(NewEmptyIterator());
  std::printf("cleaned up: %d\n", ends);
  it->SeekToFirst();
  print("empty", it.get());
  it.reset(NewErrorIterator(Status::IOError("a", "b")));
  it->Seek("a");
  print("error", it.get());
}

void snapshots(DB* db) {
  db->Put(WriteOptions(), "s", "1");
  const Snapshot* const one = db->GetSnapshot();
  const Snapshot* const same = db->GetSnapshot();
  db->Put(WriteOptions(), "s", "2");
  const Snapshot* const two = db->GetSnapshot();
  db->Delete(WriteOptions(), "s");
  db->CompactRange(nullptr, nullptr);
  for (const Snapshot* each : {one, same, two}) {
    ReadOptions then;
    then.snapshot = each;
    std::string value;
    std::printf("then: %s", kind(db->Get(then, "s", &value)));
    std::printf(" %s\n", value.c_str());
  }
  db->ReleaseSnapshot(two);
  ReadOptions then;
  then.snapshot = same;
  db->ReleaseSnapshot(one);
  std::unique_ptr<Iterator> it(db->NewIterator(then));
  it->Seek("s");
  print("of the other one", it.get());
  it.reset();
  db->ReleaseSnapshot(same);
}

void questions(DB* db) {
  for (const char* name : {"leveldb.num-files-at-level0",
                           "leveldb.num-files-at-level6",
                           "leveldb.num-files-at-level7",
                           "leveldb.num-files-at-level",
                           "leveldb.num-files-at-level-1",
                           "leveldb.num-files-at-level00",
                           "leveldb.num-files-at-level007",
                           "leveldb.num-files-at-level0x",
                           "leveldb.num-files-at-level 0",
                           "leveldb.num-files-at-level0 ",
                           "leveldb.num-files-at-level+0",
                           "leveldb.num-files-at-level4294967296",
                           "leveldb.num-files-at-level18446744073709551616",
                           "leveldb.stats",
                           "leveldb.stats ",
                           "leveldb.sstables",
                           "leveldb.approximate-memory-usage",
                           "leveldb.",
                           "leveldb",
                           "",
                           "stats",
                           "LEVELDB.STATS"}) {
    std::string value = "as it was";
    const bool known = db->GetProperty(name, &value);
    std::printf("\"%s\": %d %d\n", name, known, value.empty());
  }
  const Range ranges[] = {Range("z", "a"), Range("b", "b"), Range("", "")};
  uint64_t sizes[] = {7, 7, 7};
  db->GetApproximateSizes(ranges, 0, sizes);
  std::printf("no sizes: %d\n", static_cast<int>(sizes[0]));
  db->GetApproximateSizes(ranges, 3, sizes);
  std::printf("sizes: %d %d %d\n", static_cast<int>(sizes[0]), static_cast<int>(sizes[1]),
              static_cast<int>(sizes[2]));
  const Slice a = "a";
  const Slice z = "z";
  db->CompactRange(&z, &a);
  db->CompactRange(&a, &a);
  db->CompactRange(nullptr, &a);
  db->CompactRange(&z, nullptr);
  std::printf("compacted: %s\n", kind(db->Put(WriteOptions(), "after", "")));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string path = argv[1];
  open_and_close(path);
  Options options;
  options.create_if_missing = true;
  DB* db = nullptr;
  if (!DB::Open(options, path, &db).ok()) return 1;
  put_and_get(db);
  batches(db);
  iterators(db);
  snapshots(db);
  questions(db);
  delete db;
  return 0;
}
