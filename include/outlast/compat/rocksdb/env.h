// rocksdb::Env and Logger: RocksDB's interface to the operating system.
#pragma once

#include "../../db/env.hpp"
#include "../../db/memenv.hpp"
#include "rocksdb_namespace.h"
#include "slice.h"
#include "status.h"

#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace ROCKSDB_NAMESPACE {

/// The operating system. A store opens with Env::Default() or an Env of NewMemEnv(). It returns
/// NotSupported for an Env of the program, whose files would remain empty. Thread-safety: all
/// members may be called concurrently.
class Env {
 public:
  enum Priority { BOTTOM, LOW, HIGH, USER, TOTAL };
  enum IOPriority { IO_LOW = 0, IO_MID = 1, IO_HIGH = 2, IO_USER = 3, IO_TOTAL = 4 };

  /// Uses the operating system, as Default() does.
  Env() : of_(outlast::db::Env::Default()) {}
  Env(const Env&) = delete;
  Env& operator=(const Env&) = delete;
  virtual ~Env() = default;

  /// Returns the Env of the operating system, which exists until the process ends.
  static Env* Default();

  /// Returns OK if the file exists, otherwise NotFound.
  virtual Status FileExists(const std::string& fname) {
    return of_->FileExists(fname) ? Status::OK() : Status::NotFound(fname);
  }
  /// Returns the names in a directory, without "." and "..".
  virtual Status GetChildren(const std::string& dir, std::vector<std::string>* result) {
    std::vector<std::string> all;
    const Status status = of_->GetChildren(dir, &all);
    result->clear();
    for (std::string& each : all) {
      if (each != "." && each != "..") result->push_back(std::move(each));
    }
    return status;
  }
  virtual Status DeleteFile(const std::string& fname) { return of_->RemoveFile(fname); }
  virtual Status CreateDir(const std::string& dirname) { return of_->CreateDir(dirname); }
  virtual Status CreateDirIfMissing(const std::string& dirname) {
    return of_->FileExists(dirname) ? Status::OK() : Status(of_->CreateDir(dirname));
  }
  virtual Status DeleteDir(const std::string& dirname) { return of_->RemoveDir(dirname); }
  virtual Status GetFileSize(const std::string& fname, std::uint64_t* size) {
    return of_->GetFileSize(fname, size);
  }
  virtual Status RenameFile(const std::string& from, const std::string& to) {
    return of_->RenameFile(from, to);
  }
  virtual Status GetTestDirectory(std::string* path) { return of_->GetTestDirectory(path); }
  virtual Status GetCurrentTime(std::int64_t* seconds) {
    *seconds = std::chrono::duration_cast<std::chrono::seconds>(
                   std::chrono::system_clock::now().time_since_epoch())
                   .count();
    return {};
  }
  virtual std::uint64_t NowMicros() { return of_->NowMicros(); }
  virtual std::uint64_t NowNanos() {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::steady_clock::now().time_since_epoch())
                                          .count());
  }
  virtual void SleepForMicroseconds(int micros) { of_->SleepForMicroseconds(micros); }
  /// Calls function(arg) once, later, on another thread.
  virtual void Schedule(void (*function)(void* arg), void* arg, Priority /*pri*/ = LOW) {
    of_->Schedule(function, arg);
  }
  virtual void StartThread(void (*function)(void* arg), void* arg) {
    of_->StartThread(function, arg);
  }

  // Accepted without effect: the store has no thread pools.
  virtual void SetBackgroundThreads(int /*number*/, Priority /*pri*/ = LOW) {}
  virtual void IncBackgroundThreadsIfNeeded(int /*number*/, Priority /*pri*/) {}
  virtual void LowerThreadPoolIOPriority(Priority /*pool*/ = LOW) {}
  virtual void LowerThreadPoolCPUPriority(Priority /*pool*/ = LOW) {}

  /// Not in RocksDB. Returns the Env with which a store is opened, or nullptr for a class of the
  /// program.
  [[nodiscard]] virtual outlast::db::Env* store_env() const { return nullptr; }

 protected:
  explicit Env(outlast::db::Env* of) : of_(of) {}
  [[nodiscard]] outlast::db::Env* of() const { return of_; }

 private:
  outlast::db::Env* of_;
};

/// Forwards every call to another Env, except those that a derived class overrides.
class EnvWrapper : public Env {
 public:
  explicit EnvWrapper(Env* target) : target_(target) {}

  [[nodiscard]] Env* target() const { return target_; }

  Status FileExists(const std::string& f) override { return target_->FileExists(f); }
  Status GetChildren(const std::string& dir, std::vector<std::string>* r) override {
    return target_->GetChildren(dir, r);
  }
  Status DeleteFile(const std::string& f) override { return target_->DeleteFile(f); }
  Status CreateDir(const std::string& d) override { return target_->CreateDir(d); }
  Status CreateDirIfMissing(const std::string& d) override {
    return target_->CreateDirIfMissing(d);
  }
  Status DeleteDir(const std::string& d) override { return target_->DeleteDir(d); }
  Status GetFileSize(const std::string& f, std::uint64_t* size) override {
    return target_->GetFileSize(f, size);
  }
  Status RenameFile(const std::string& from, const std::string& to) override {
    return target_->RenameFile(from, to);
  }
  Status GetTestDirectory(std::string* path) override { return target_->GetTestDirectory(path); }
  Status GetCurrentTime(std::int64_t* seconds) override { return target_->GetCurrentTime(seconds); }
  std::uint64_t NowMicros() override { return target_->NowMicros(); }
  std::uint64_t NowNanos() override { return target_->NowNanos(); }
  void SleepForMicroseconds(int micros) override { target_->SleepForMicroseconds(micros); }
  void Schedule(void (*function)(void*), void* arg, Priority pri = LOW) override {
    target_->Schedule(function, arg, pri);
  }
  void StartThread(void (*function)(void*), void* arg) override {
    target_->StartThread(function, arg);
  }

 private:
  Env* target_;
};

namespace outlast_detail {

/// An Env of the store.
class known_env final : public Env {
 public:
  explicit known_env(outlast::db::Env* of) : Env(of) {}
  explicit known_env(std::unique_ptr<outlast::db::Env> kept)
      : Env(kept.get()), kept_(std::move(kept)) {}
  [[nodiscard]] outlast::db::Env* store_env() const override { return of(); }

 private:
  std::unique_ptr<outlast::db::Env> kept_;
};

}  // namespace outlast_detail

inline Env* Env::Default() {
  static auto* const only = new outlast_detail::known_env(outlast::db::Env::Default());
  return only;
}

/// Returns an Env that keeps its stores in ordinary memory until it is deleted. Requires: the
/// caller deletes it after its stores. `base_env`: Env::Default().
inline Env* NewMemEnv(Env* base_env) {
  outlast::db::Env* const base = base_env->store_env();
  return new outlast_detail::known_env(std::unique_ptr<outlast::db::Env>(
      outlast::db::NewMemEnv(base == nullptr ? outlast::db::Env::Default() : base)));
}

/// Replaces the contents of the file by `data`.
inline Status WriteStringToFile(Env* env, const Slice& data, const std::string& fname,
                                bool should_sync = false) {
  outlast::db::Env* const of = env->store_env();
  if (of == nullptr)
    return Status::NotSupported("the Env must be Env::Default() or one of NewMemEnv()");
  outlast::db::WritableFile* opened = nullptr;
  Status status = of->NewWritableFile(fname, &opened);
  const std::unique_ptr<outlast::db::WritableFile> file(opened);
  if (status.ok()) status = file->Append(data);
  if (status.ok() && should_sync) status = file->Sync();
  if (status.ok()) status = file->Close();
  if (!status.ok() && file != nullptr) static_cast<void>(of->RemoveFile(fname));
  return status;
}
/// Reads the whole file.
inline Status ReadFileToString(Env* env, const std::string& fname, std::string* data) {
  outlast::db::Env* const of = env->store_env();
  if (of == nullptr)
    return Status::NotSupported("the Env must be Env::Default() or one of NewMemEnv()");
  return outlast::db::ReadFileToString(of, fname, data);
}

enum InfoLogLevel : unsigned char {
  DEBUG_LEVEL = 0,
  INFO_LEVEL,
  WARN_LEVEL,
  ERROR_LEVEL,
  FATAL_LEVEL,
  HEADER_LEVEL,
  NUM_INFO_LOG_LEVELS
};

/// A destination of messages. Messages of the store have INFO_LEVEL. Thread-safety: all members may
/// be called concurrently.
class Logger {
 public:
  static constexpr std::size_t kDoNotSupportGetLogFileSize = static_cast<std::size_t>(-1);

  explicit Logger(InfoLogLevel level = INFO_LEVEL) : level_(level) {}
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;
  virtual ~Logger() = default;

  virtual Status Close() { return {}; }
  /// Writes one message, formatted as by std::printf.
  virtual void Logv(const char* format, std::va_list ap) = 0;
  /// Writes one message, unless its level is below GetInfoLogLevel().
  virtual void Logv(InfoLogLevel level, const char* format, std::va_list ap) {
    if (level >= GetInfoLogLevel()) Logv(format, ap);
  }
  virtual void LogHeader(const char* format, std::va_list ap) { Logv(format, ap); }
  virtual std::size_t GetLogFileSize() const { return kDoNotSupportGetLogFileSize; }
  virtual void Flush() {}
  virtual InfoLogLevel GetInfoLogLevel() const { return level_; }
  virtual void SetInfoLogLevel(InfoLogLevel level) { level_ = level; }

 private:
  InfoLogLevel level_;
};

/// Writes one message. Has no effect if `info_log` is null.
__attribute__((__format__(__printf__, 2, 3))) inline void Log(Logger* info_log, const char* format,
                                                              ...) {
  if (info_log == nullptr) return;
  std::va_list ap;
  va_start(ap, format);
  info_log->Logv(INFO_LEVEL, format, ap);
  va_end(ap);
}

namespace outlast_detail {

/// The adapter of a program's logger to the store's interface.
class store_logger final : public outlast::db::Logger {
 public:
  explicit store_logger(std::shared_ptr<ROCKSDB_NAMESPACE::Logger> of) : of_(std::move(of)) {}
  void Logv(const char* format, std::va_list ap) override { of_->Logv(INFO_LEVEL, format, ap); }

 private:
  std::shared_ptr<ROCKSDB_NAMESPACE::Logger> of_;
};

}  // namespace outlast_detail

}  // namespace ROCKSDB_NAMESPACE
