// Files, memory, and messages.
#include <cstdarg>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/env.h"

using namespace rocksdb;

namespace {

class Counter : public Logger {
 public:
  using Logger::Logv;
  void Logv(const char*, va_list) override { ++messages; }
  int messages = 0;
};

}  // namespace

int main(int, char** argv) {
  const std::string path = argv[1];
  Env* env = Env::Default();
  std::printf("create: %d\n", env->CreateDir(path).ok());
  std::printf("if missing: %d\n", env->CreateDirIfMissing(path).ok());
  std::printf("create again: %d\n", env->CreateDir(path).ok());
  std::printf("write: %d\n", WriteStringToFile(env, "content", path + "/file", true).ok());
  std::printf("exists: %d %d\n", env->FileExists(path + "/file").ok(),
              env->FileExists(path + "/none").IsNotFound());
  uint64_t size = 0;
  env->GetFileSize(path + "/file", &size);
  std::printf("size: %d\n", static_cast<int>(size));
  std::printf("rename: %d\n", env->RenameFile(path + "/file", path + "/other").ok());
  std::vector<std::string> children;
  env->GetChildren(path, &children);
  std::printf("children:");
  for (const std::string& each : children) std::printf(" %s", each.c_str());
  std::string content;
  ReadFileToString(env, path + "/other", &content);
  std::printf("\nread: %s\n", content.c_str());
  std::printf("read none: %d\n", ReadFileToString(env, path + "/none", &content).ok());
  std::printf("delete: %d\n", env->DeleteFile(path + "/other").ok());
  std::printf("delete: %d\n", env->DeleteDir(path).ok());
  const uint64_t began = env->NowMicros();
  env->SleepForMicroseconds(1000);
  std::printf("slept: %d %d\n", env->NowMicros() - began >= 1000, env->NowNanos() > 0);

  std::unique_ptr<Env> memory(NewMemEnv(Env::Default()));
  Options options;
  options.create_if_missing = true;
  options.env = memory.get();
  const auto counter = std::make_shared<Counter>();
  options.info_log = counter;
  DB* db = nullptr;
  if (!DB::Open(options, "/in/memory", &db).ok()) return 1;
  std::printf("put: %d\n", db->Put(WriteOptions(), "key", "value").ok());
  delete db;
  if (!DB::Open(options, "/in/memory", &db).ok()) return 1;
  db->Get(ReadOptions(), "key", &content);
  std::printf("get: %s\n", content.c_str());
  std::printf("env: %d\n", db->GetEnv() == memory.get());
  delete db;
  std::printf("on the disk: %d\n", env->FileExists("/in/memory").ok());
  std::printf("messages: %d\n", counter->messages > 0);
  return 0;
}
