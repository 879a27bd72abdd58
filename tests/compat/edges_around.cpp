// What programs do seldom, and by mistake, with what LevelDB brings besides stores: files, caches,
// filters, orders, slices, statuses. What it prints is the same with both libraries.
//
// usage: edges_around DIRECTORY
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "leveldb/cache.h"
#include "leveldb/comparator.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/helpers/memenv.h"
#include "leveldb/slice.h"
#include "leveldb/status.h"

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

std::string hex(const Slice& bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    char digits[4];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(bytes[i]));
    text += digits;
  }
  return text;
}

void directories(Env* env, const std::string& path, bool in_memory) {
  std::printf("create: %s\n", kind(env->CreateDir(path)));
  if (!in_memory) std::printf("create again: %s\n", kind(env->CreateDir(path)));
  std::vector<std::string> children;
  std::printf("children: %s\n", kind(env->GetChildren(path, &children)));
  if (!in_memory) {
    std::printf("children of none: %s\n", kind(env->GetChildren(path + "/none", &children)));
  }
  std::printf("no such file: %d\n", env->FileExists(path + "/none"));
  std::printf("remove none: %s\n", kind(env->RemoveFile(path + "/none")));
  std::printf("rename none: %s\n", kind(env->RenameFile(path + "/none", path + "/new")));
  uint64_t size = 77;
  std::printf("size of none: %s", kind(env->GetFileSize(path + "/none", &size)));
  std::printf(" %d\n", static_cast<int>(size));
  SequentialFile* one = nullptr;
  std::printf("open none: %s", kind(env->NewSequentialFile(path + "/none", &one)));
  std::printf(" %d\n", one == nullptr);
  RandomAccessFile* other = nullptr;
  std::printf("open none: %s", kind(env->NewRandomAccessFile(path + "/none", &other)));
  std::printf(" %d\n", other == nullptr);
  std::string content;
  std::printf("read none: %s\n", kind(ReadFileToString(env, path + "/none", &content)));
}

void files(Env* env, const std::string& path) {
  const std::string name = path + "/file";
  WritableFile* out = nullptr;
  std::printf("new: %s\n", kind(env->NewWritableFile(name, &out)));
  std::printf("append: %s\n", kind(out->Append("0123456789")));
  std::printf("append nothing: %s\n", kind(out->Append("")));
  std::printf("flush: %s\n", kind(out->Flush()));
  std::printf("sync: %s\n", kind(out->Sync()));
  std::printf("append much: %s\n", kind(out->Append(std::string(100000, 'x'))));
  std::printf("close: %s\n", kind(out->Close()));
  delete out;
  std::printf("append to it: %s\n", kind(env->NewAppendableFile(name, &out)));
  out->Append("end");
  out->Close();
  delete out;
  uint64_t size = 0;
  env->GetFileSize(name, &size);
  std::printf("size: %d\n", static_cast<int>(size));

  char scratch[32];
  Slice read;
  SequentialFile* in = nullptr;
  env->NewSequentialFile(name, &in);
  std::printf("read: %s", kind(in->Read(4, &read, scratch)));
  std::printf(" %s\n", read.ToString().c_str());
  std::printf("read nothing: %s", kind(in->Read(0, &read, scratch)));
  std::printf(" %zu\n", read.size());
  std::printf("skip: %s\n", kind(in->Skip(2)));
  in->Read(2, &read, scratch);
  std::printf("read: %s\n", read.ToString().c_str());
  std::printf("skip much: %s\n", kind(in->Skip(100002)));
  std::printf("read: %s", kind(in->Read(10, &read, scratch)));
  std::printf(" %s\n", read.ToString().c_str());
  std::printf("read at the end: %s", kind(in->Read(10, &read, scratch)));
  std::printf(" %zu\n", read.size());
  delete in;
  RandomAccessFile* at = nullptr;
  env->NewRandomAccessFile(name, &at);
  std::printf("read at 3: %s", kind(at->Read(3, 4, &read, scratch)));
  std::printf(" %s\n", read.ToString().c_str());
  std::printf("read at 0: %s", kind(at->Read(0, 0, &read, scratch)));
  std::printf(" %zu\n", read.size());
  std::printf("read the last: %s", kind(at->Read(size - 3, 3, &read, scratch)));
  std::printf(" %s\n", read.ToString().c_str());
  delete at;
  std::printf("over another: %s\n", kind(WriteStringToFile(env, "small", path + "/new")));
  std::printf("rename: %s\n", kind(env->RenameFile(name, path + "/new")));
  env->GetFileSize(path + "/new", &size);
  std::printf("size: %d, %d\n", static_cast<int>(size), env->FileExists(name));
  env->NewWritableFile(path + "/new", &out);
  delete out;
  env->GetFileSize(path + "/new", &size);
  std::printf("emptied: %d\n", static_cast<int>(size));
  std::string content = "as it was";
  std::printf("read: %s", kind(ReadFileToString(env, path + "/new", &content)));
  std::printf(" \"%s\"\n", content.c_str());
  std::vector<std::string> children;
  env->GetChildren(path, &children);
  std::sort(children.begin(), children.end());
  for (const std::string& each : children) {
    if (each != "." && each != "..") std::printf("child: %s\n", each.c_str());
  }
  std::printf("remove: %s\n", kind(env->RemoveFile(path + "/new")));
}

void locks(Env* env, const std::string& path) {
  FileLock* lock = nullptr;
  FileLock* twice = nullptr;
  std::printf("lock: %s\n", kind(env->LockFile(path + "/LOCK", &lock)));
  std::printf("lock twice: %s", kind(env->LockFile(path + "/LOCK", &twice)));
  std::printf(" %d\n", twice == nullptr);
  std::printf("unlock: %s\n", kind(env->UnlockFile(lock)));
  std::printf("lock again: %s\n", kind(env->LockFile(path + "/LOCK", &lock)));
  std::printf("unlock: %s\n", kind(env->UnlockFile(lock)));
  std::printf("lock where there is no folder: %s\n",
              kind(env->LockFile(path + "/none/LOCK", &lock)));
  std::printf("remove a folder that is in use: %s\n", kind(env->RemoveDir(path)));
  env->RemoveFile(path + "/LOCK");
  std::printf("remove: %s\n", kind(env->RemoveDir(path)));
  std::printf("remove again: %s\n", kind(env->RemoveDir(path)));
}

void threads(Env* env) {
  static std::atomic<int> calls{0};
  const auto call = [](void* step) { calls += *static_cast<int*>(step); };
  int one = 1;
  int ten = 10;
  env->Schedule(call, &one);
  env->Schedule(call, &one);
  env->StartThread(call, &ten);
  while (calls < 12) env->SleepForMicroseconds(100);
  std::printf("calls: %d\n", calls.load());
  const uint64_t began = env->NowMicros();
  env->SleepForMicroseconds(0);
  env->SleepForMicroseconds(-1000);
  std::printf("time goes on: %d\n", env->NowMicros() >= began);
  std::string test;
  std::printf("folder for tests: %s", kind(env->GetTestDirectory(&test)));
  std::printf(" %d\n", env->FileExists(test));
}

void caches() {
  static int deleted = 0;
  const auto deleter = [](const Slice&, void*) { ++deleted; };
  int value = 0;
  for (const size_t capacity : {size_t{0}, size_t{100}}) {
    std::unique_ptr<Cache> cache(NewLRUCache(capacity));
    Cache::Handle* const first = cache->Insert("", &value, 10, deleter);
    std::printf("capacity %zu: charge %zu", capacity, cache->TotalCharge());
    Cache::Handle* const found = cache->Lookup("");
    std::printf(", %s", found == nullptr ? "gone" : "there");
    if (found != nullptr) cache->Release(found);
    cache->Erase("none");
    cache->Erase("");
    cache->Erase("");
    std::printf(", %d deleted", deleted);
    cache->Release(first);
    std::printf(", %d deleted\n", deleted);
    Cache::Handle* const old = cache->Insert("k", &value, 1, deleter);
    cache->Release(cache->Insert("k", nullptr, 0, deleter));
    Cache::Handle* const now = cache->Lookup("k");
    std::printf("the newer one: %d, charge %zu\n", now != nullptr && cache->Value(now) == nullptr,
                cache->TotalCharge());
    if (now != nullptr) cache->Release(now);
    cache->Release(old);
    cache->Prune();
    cache->Prune();
    const uint64_t id = cache->NewId();
    std::printf("pruned: charge %zu, %d deleted, ids %d\n", cache->TotalCharge(), deleted,
                static_cast<int>(cache->NewId() - id));
  }
  std::printf("at the end: %d deleted\n", deleted);
}

void filters() {
  for (const int bits : {0, 1, 10, 100, 1000}) {
    std::unique_ptr<const FilterPolicy> policy(NewBloomFilterPolicy(bits));
    std::string filter = "before";
    policy->CreateFilter(nullptr, 0, &filter);
    std::printf("%d bits: %s", bits, hex(filter).c_str());
    const Slice keys[] = {"one", "", "three", "three", Slice("\0", 1)};
    filter.clear();
    policy->CreateFilter(keys, 5, &filter);
    std::printf(", %zu bytes, %d %d %d\n", filter.size(), policy->KeyMayMatch("three", filter),
                policy->KeyMayMatch("", filter), policy->KeyMayMatch("\0", filter));
  }
  std::unique_ptr<const FilterPolicy> policy(NewBloomFilterPolicy(10));
  std::printf("odd filters: %d %d %d %d\n", policy->KeyMayMatch("a", ""),
              policy->KeyMayMatch("a", Slice("\0", 1)),
              policy->KeyMayMatch("a", Slice("\0\x1f", 2)),
              policy->KeyMayMatch("a", Slice("\0\x06", 2)));
}

void orders() {
  const Comparator* const order = BytewiseComparator();
  std::printf("%s %d\n", order->Name(), order == BytewiseComparator());
  const std::pair<std::string, std::string> pairs[] = {
      {"abc", "abd"},     {"abc", "abz"}, {"abc", "b"},      {"", ""},
      {"a", "a"},         {"b", "a"},     {"abc", "abcdef"}, {"a\xff", "b"},
      {"a\xfe", "a\xff"}, {"", "z"},      {"abcd", "abf"},   {"\xff\xff", "\xff\xff\xff"}};
  for (const auto& pair : pairs) {
    std::string start = pair.first;
    order->FindShortestSeparator(&start, pair.second);
    std::string key = pair.first;
    order->FindShortSuccessor(&key);
    const int compared = order->Compare(pair.first, pair.second);
    std::printf("%s %s: %s %s %d\n", hex(pair.first).c_str(), hex(pair.second).c_str(),
                hex(start).c_str(), hex(key).c_str(), compared < 0 ? -1 : compared > 0);
  }
}

void small_classes() {
  Slice slice("a\0b", 3);
  std::printf("%zu %d %d %d\n", slice.size(), slice == Slice("a"), slice.starts_with(""),
              slice.starts_with("a longer one"));
  std::printf("%d %d %d\n", Slice("").compare(""), Slice("") == Slice(),
              Slice("\x7f").compare("\x80") < 0);
  slice.remove_prefix(3);
  std::printf("%d \"%s\"\n", slice.empty(), slice.ToString().c_str());
  slice.clear();
  std::printf("%zu\n", slice.size());

  const Status all[] = {Status::OK(),
                        Status::NotFound("a"),
                        Status::Corruption("a", "b"),
                        Status::NotSupported("", "b"),
                        Status::InvalidArgument("", ""),
                        Status::IOError("a", ""),
                        Status::NotFound(Slice("a\0b", 3), Slice("\0", 1))};
  for (const Status& each : all) {
    const std::string text = each.ToString();
    std::printf("%s %zu %s\n", kind(each), text.size(), text.c_str());
  }
  Status one = all[1];
  one = *&one;
  Status moved = std::move(one);
  std::printf("%s\n", moved.ToString().c_str());
  one = all[0];
  moved = one;
  std::printf("%s %s\n", one.ToString().c_str(), moved.ToString().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string path = argv[1];
  Env* const env = Env::Default();
  directories(env, path, false);
  files(env, path);
  locks(env, path);
  threads(env);
  std::unique_ptr<Env> memory(NewMemEnv(env));
  directories(memory.get(), "/memory", true);
  files(memory.get(), "/memory");
  caches();
  filters();
  orders();
  small_classes();
  return 0;
}
