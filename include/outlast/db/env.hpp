// The interface between a store and the operating system: directories, locks, messages, threads.
//
// A program may supply its own Env. A store uses it for its directory, its lock and its info log.
// The store maps its data file itself.
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

/// The operating system, as a store sees it.
///
/// Errors: NotFound if a file does not exist, IOError for every other failure of a system call. The
/// message contains the path and the reason.
/// Names and the order of virtual functions are those of LevelDB 1.23.
/// Thread-safety: all members may be called concurrently.
class Env {
 public:
  Env();
  Env(const Env&) = delete;
  Env& operator=(const Env&) = delete;
  virtual ~Env();

  /// Returns the Env of the operating system. The object exists until the process ends and must not
  /// be deleted.
  static Env* Default();

  // Open a file and set *result to it, or to nullptr after a failure. The caller owns *result.
  virtual Status NewSequentialFile(const std::string& fname, SequentialFile** result) = 0;
  virtual Status NewRandomAccessFile(const std::string& fname, RandomAccessFile** result) = 0;
  /// Creates an empty file, or truncates an existing one.
  virtual Status NewWritableFile(const std::string& fname, WritableFile** result) = 0;
  /// Opens a file for writing at its end. The default implementation returns NotSupported.
  virtual Status NewAppendableFile(const std::string& fname, WritableFile** result);

  virtual bool FileExists(const std::string& fname) = 0;
  /// Sets *result to the names in a directory, including "." and ".." if the system lists them.
  virtual Status GetChildren(const std::string& dir, std::vector<std::string>* result) = 0;
  // RemoveFile() and DeleteFile() call each other, and so do RemoveDir() and DeleteDir(). An Env
  // must override one function of each pair.
  virtual Status RemoveFile(const std::string& fname);
  virtual Status DeleteFile(const std::string& fname);
  virtual Status CreateDir(const std::string& dirname) = 0;
  virtual Status RemoveDir(const std::string& dirname);
  virtual Status DeleteDir(const std::string& dirname);
  virtual Status GetFileSize(const std::string& fname, uint64_t* file_size) = 0;
  virtual Status RenameFile(const std::string& src, const std::string& target) = 0;

  /// Creates and locks a file, also against other callers in this process. Does not block. Returns
  /// IOError if the file is locked.
  virtual Status LockFile(const std::string& fname, FileLock** lock) = 0;
  /// Unlocks the file and deletes `lock`. Requires: `lock` comes from LockFile().
  virtual Status UnlockFile(FileLock* lock) = 0;

  /// Arranges one later call of function(arg) on a thread of the Env.
  virtual void Schedule(void (*function)(void* arg), void* arg) = 0;
  /// Calls function(arg) on a new thread, which ends when the function returns.
  virtual void StartThread(void (*function)(void* arg), void* arg) = 0;

  /// Sets *path to a directory for tests. It is the same at each call and exists at return.
  virtual Status GetTestDirectory(std::string* path) = 0;
  virtual Status NewLogger(const std::string& fname, Logger** result) = 0;
  /// Returns the number of microseconds since a fixed point in time.
  virtual uint64_t NowMicros() = 0;
  virtual void SleepForMicroseconds(int micros) = 0;
};

/// A file that is read from its beginning. Requires: one thread at a time uses it.
class SequentialFile {
 public:
  SequentialFile() = default;
  SequentialFile(const SequentialFile&) = delete;
  SequentialFile& operator=(const SequentialFile&) = delete;
  virtual ~SequentialFile();

  /// Reads up to `n` bytes; fewer only at the end of the file. Sets *result to the bytes, which may
  /// be in scratch[0, n).
  virtual Status Read(size_t n, Slice* result, char* scratch) = 0;
  /// Skips `n` bytes, or the rest of the file if that is shorter.
  virtual Status Skip(uint64_t n) = 0;
};

/// A file that is read at any offset. Thread-safety: all members may be called concurrently.
class RandomAccessFile {
 public:
  RandomAccessFile() = default;
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;
  virtual ~RandomAccessFile();

  /// Reads up to `n` bytes from `offset`. The result is as for SequentialFile::Read().
  virtual Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const = 0;
};

/// A file that is written sequentially. Requires: one thread at a time uses it.
class WritableFile {
 public:
  WritableFile() = default;
  WritableFile(const WritableFile&) = delete;
  WritableFile& operator=(const WritableFile&) = delete;
  virtual ~WritableFile();

  virtual Status Append(const Slice& data) = 0;
  virtual Status Close() = 0;
  /// Passes the appended data to the operating system. They survive the death of the process.
  virtual Status Flush() = 0;
  /// Makes the appended data durable on the device.
  virtual Status Sync() = 0;
};

/// The destination of log messages. Thread-safety: all members may be called concurrently.
class Logger {
 public:
  Logger() = default;
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;
  virtual ~Logger();

  /// Writes one message, formatted as by std::printf.
  virtual void Logv(const char* format, std::va_list ap) = 0;
};

/// The lock of a file.
class FileLock {
 public:
  FileLock() = default;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  virtual ~FileLock();
};

/// Writes one message to `info_log`, or none if `info_log` is nullptr.
void Log(Logger* info_log, const char* format, ...) __attribute__((__format__(__printf__, 2, 3)));

/// Writes `data` to the file without a sync. Removes the file after a failure.
Status WriteStringToFile(Env* env, const Slice& data, const std::string& fname);
/// Sets *data to the contents of the file.
Status ReadFileToString(Env* env, const std::string& fname, std::string* data);

/// Forwards each call to another Env, except the calls that a derived class overrides.
class EnvWrapper : public Env {
 public:
  /// Does not take ownership of `t`.
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
