// What a store wants of the system: directories, locks, messages, threads.
//
// A program may bring its own Env. A store uses it for its directory, its lock and its log of
// messages; its data lies in a file that it maps itself.
#pragma once

#include "namespace.hpp"
#include "slice.hpp"
#include "status.hpp"

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace OUTLAST_DB_NAMESPACE {

class FileLock;
class Logger;
class RandomAccessFile;
class SequentialFile;
class WritableFile;

/// The system. Statuses: NotFound where there is no such file, IOError for what else the system
/// refuses; the sentence names the path and the reason.
///
/// Names and the order of virtual functions are those of LevelDB 1.23.
/// Thread-safety: all members may be called concurrently.
class Env {
 public:
  Env();
  Env(const Env&) = delete;
  Env& operator=(const Env&) = delete;
  virtual ~Env();

  /// The operating system's. Lives as long as the process; do not delete it.
  static Env* Default();

  // Open a file; *result belongs to the caller, null if that failed.
  virtual Status NewSequentialFile(const std::string& fname, SequentialFile** result) = 0;
  virtual Status NewRandomAccessFile(const std::string& fname, RandomAccessFile** result) = 0;
  /// Empty, whether it was there or not.
  virtual Status NewWritableFile(const std::string& fname, WritableFile** result) = 0;
  /// To be written behind what it holds. Unless an Env has it: NotSupported.
  virtual Status NewAppendableFile(const std::string& fname, WritableFile** result);

  virtual bool FileExists(const std::string& fname) = 0;
  /// The names in a directory, "." and ".." too if the system has them.
  virtual Status GetChildren(const std::string& dir, std::vector<std::string>* result) = 0;
  // An Env has one of each two; the other one calls it.
  virtual Status RemoveFile(const std::string& fname);
  virtual Status DeleteFile(const std::string& fname);
  virtual Status CreateDir(const std::string& dirname) = 0;
  virtual Status RemoveDir(const std::string& dirname);
  virtual Status DeleteDir(const std::string& dirname);
  virtual Status GetFileSize(const std::string& fname, uint64_t* file_size) = 0;
  virtual Status RenameFile(const std::string& src, const std::string& target) = 0;

  /// Locks a file, which it creates, against everybody else, in this process too. Does not wait:
  /// IOError if somebody has it.
  virtual Status LockFile(const std::string& fname, FileLock** lock) = 0;
  /// `lock`: of LockFile(); it is deleted.
  virtual Status UnlockFile(FileLock* lock) = 0;

  /// function(arg) is called once, later, on a thread of the Env's.
  virtual void Schedule(void (*function)(void* arg), void* arg) = 0;
  /// The same on a new thread, which ends with it.
  virtual void StartThread(void (*function)(void* arg), void* arg) = 0;

  /// A directory for tests, the same each time, which exists at return.
  virtual Status GetTestDirectory(std::string* path) = 0;
  virtual Status NewLogger(const std::string& fname, Logger** result) = 0;
  /// Microseconds since some moment.
  virtual uint64_t NowMicros() = 0;
  virtual void SleepForMicroseconds(int micros) = 0;
};

/// Read from its beginning. Used by one thread at a time.
class SequentialFile {
 public:
  SequentialFile() = default;
  SequentialFile(const SequentialFile&) = delete;
  SequentialFile& operator=(const SequentialFile&) = delete;
  virtual ~SequentialFile();

  /// At most `n` bytes, fewer only at the end, as *result, which may lie in scratch[0, n).
  virtual Status Read(size_t n, Slice* result, char* scratch) = 0;
  /// Goes on `n` bytes, to the end at most.
  virtual Status Skip(uint64_t n) = 0;
};

/// Read anywhere. Thread-safety: all members may be called concurrently.
class RandomAccessFile {
 public:
  RandomAccessFile() = default;
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;
  virtual ~RandomAccessFile();

  /// As SequentialFile's, from `offset` on.
  virtual Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const = 0;
};

/// Written from its beginning or its end on. Used by one thread at a time.
class WritableFile {
 public:
  WritableFile() = default;
  WritableFile(const WritableFile&) = delete;
  WritableFile& operator=(const WritableFile&) = delete;
  virtual ~WritableFile();

  virtual Status Append(const Slice& data) = 0;
  virtual Status Close() = 0;
  /// The system has what was appended.
  virtual Status Flush() = 0;
  /// The device has it.
  virtual Status Sync() = 0;
};

/// Where messages go. Thread-safety: all members may be called concurrently.
class Logger {
 public:
  Logger() = default;
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;
  virtual ~Logger();

  /// One message, as of std::printf.
  virtual void Logv(const char* format, std::va_list ap) = 0;
};

/// That a file is locked.
class FileLock {
 public:
  FileLock() = default;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  virtual ~FileLock();
};

/// One message; none if `info_log` is null.
void Log(Logger* info_log, const char* format, ...) __attribute__((__format__(__printf__, 2, 3)));

/// The file holds `data`, not synced with its device. If that failed there is no such file.
Status WriteStringToFile(Env* env, const Slice& data, const std::string& fname);
/// All that the file holds.
Status ReadFileToString(Env* env, const std::string& fname, std::string* data);

/// Hands everything on to another Env, apart from what a derived class does itself.
class EnvWrapper : public Env {
 public:
  /// `t` is not deleted with it.
  explicit EnvWrapper(Env* t) : target_(t) {}
  ~EnvWrapper() override;

  [[nodiscard]] Env* target() const { return target_; }

  Status NewSequentialFile(const std::string& f, SequentialFile** r) override {
    return target_->NewSequentialFile(f, r);
  }
  Status NewRandomAccessFile(const std::string& f, RandomAccessFile** r) override {
    return target_->NewRandomAccessFile(f, r);
  }
  Status NewWritableFile(const std::string& f, WritableFile** r) override {
    return target_->NewWritableFile(f, r);
  }
  Status NewAppendableFile(const std::string& f, WritableFile** r) override {
    return target_->NewAppendableFile(f, r);
  }
  bool FileExists(const std::string& f) override { return target_->FileExists(f); }
  Status GetChildren(const std::string& dir, std::vector<std::string>* r) override {
    return target_->GetChildren(dir, r);
  }
  Status RemoveFile(const std::string& f) override { return target_->RemoveFile(f); }
  Status CreateDir(const std::string& d) override { return target_->CreateDir(d); }
  Status RemoveDir(const std::string& d) override { return target_->RemoveDir(d); }
  Status GetFileSize(const std::string& f, uint64_t* s) override {
    return target_->GetFileSize(f, s);
  }
  Status RenameFile(const std::string& s, const std::string& t) override {
    return target_->RenameFile(s, t);
  }
  Status LockFile(const std::string& f, FileLock** l) override { return target_->LockFile(f, l); }
  Status UnlockFile(FileLock* l) override { return target_->UnlockFile(l); }
  void Schedule(void (*f)(void*), void* a) override { target_->Schedule(f, a); }
  void StartThread(void (*f)(void*), void* a) override { target_->StartThread(f, a); }
  Status GetTestDirectory(std::string* path) override { return target_->GetTestDirectory(path); }
  Status NewLogger(const std::string& fname, Logger** result) override {
    return target_->NewLogger(fname, result);
  }
  uint64_t NowMicros() override { return target_->NowMicros(); }
  void SleepForMicroseconds(int micros) override { target_->SleepForMicroseconds(micros); }

 private:
  Env* target_;
};

}  // namespace OUTLAST_DB_NAMESPACE
