// The Env of the operating system: Env::Default().
#include <outlast/base/fork_locks.hpp>
#include <outlast/db/env.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace OUTLAST_DB_NAMESPACE {

namespace {

/// Returns the status for the value `number` of errno.
Status failed(const std::string& path, int number) {
  const std::string reason = std::generic_category().message(number);
  return number == ENOENT ? Status::NotFound(path, reason) : Status::IOError(path, reason);
}
Status failed(const std::string& path) { return failed(path, errno); }

/// Repeats `call` while a signal interrupts it.
template <class Call>
auto retried(Call&& call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

/// Owns a file descriptor.
class descriptor {
 public:
  explicit descriptor(int number) noexcept : number_(number) {}
  descriptor(descriptor&& from) noexcept : number_(std::exchange(from.number_, -1)) {}
  descriptor& operator=(descriptor&&) = delete;
  ~descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  [[nodiscard]] bool is_open() const noexcept { return number_ >= 0; }
  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] bool close() noexcept { return ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

descriptor open_file(const std::string& path, int flags) {
  return descriptor(retried([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0644); }));
}

class posix_sequential_file final : public SequentialFile {
 public:
  posix_sequential_file(std::string path, descriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}

  Status Read(size_t n, Slice* result, char* scratch) override {
    size_t done = 0;
    while (done < n) {
      const ssize_t more =
          retried([&] { return ::read(file_.number(), scratch + done, n - done); });
      if (more < 0) return failed(path_);
      if (more == 0) break;
      done += static_cast<size_t>(more);
    }
    *result = Slice(scratch, done);
    return {};
  }
  Status Skip(uint64_t n) override {
    if (::lseek(file_.number(), static_cast<off_t>(n), SEEK_CUR) < 0) return failed(path_);
    return {};
  }

 private:
  std::string path_;
  descriptor file_;
};

class posix_random_access_file final : public RandomAccessFile {
 public:
  posix_random_access_file(std::string path, descriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}

  Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const override {
    size_t done = 0;
    while (done < n) {
      const ssize_t more = retried([&] {
        return ::pread(file_.number(), scratch + done, n - done, static_cast<off_t>(offset + done));
      });
      if (more < 0) return failed(path_);
      if (more == 0) break;
      done += static_cast<size_t>(more);
    }
    *result = Slice(scratch, done);
    return {};
  }

 private:
  std::string path_;
  descriptor file_;
};

/// A file that buffers appended bytes, up to a size.
class posix_writable_file final : public WritableFile {
 public:
  posix_writable_file(std::string path, descriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}
  ~posix_writable_file() override {
    if (file_.is_open()) static_cast<void>(Close());
  }

  Status Append(const Slice& data) override {
    if (pending_.size() + data.size() > max_pending) {
      Status status = Flush();
      if (!status.ok()) return status;
      if (data.size() > max_pending) return write(data.view());
    }
    pending_.append(data.view());
    return {};
  }
  Status Close() override {
    Status status = Flush();
    if (!file_.close() && status.ok()) status = failed(path_);
    return status;
  }
  Status Flush() override {
    Status status = write(pending_);
    pending_.clear();
    return status;
  }
  Status Sync() override {
    Status status = Flush();
    if (status.ok() && retried([&] { return ::fdatasync(file_.number()); }) != 0) {
      status = failed(path_);
    }
    return status;
  }

 private:
  static constexpr size_t max_pending = 64 << 10;

  Status write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t done =
          retried([&] { return ::write(file_.number(), bytes.data(), bytes.size()); });
      if (done < 0) return failed(path_);
      bytes.remove_prefix(static_cast<size_t>(done));
    }
    return {};
  }

  std::string path_;
  descriptor file_;
  std::string pending_;
};

/// A logger that writes lines with time and thread to a file.
class posix_logger final : public Logger {
 public:
  explicit posix_logger(std::FILE* file) : file_(file) {}
  ~posix_logger() override { std::fclose(file_); }

  void Logv(const char* format, std::va_list ap) override {
    const auto now = std::chrono::system_clock::now();
    const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
    const auto microseconds =
        std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count() %
        1'000'000;
    std::tm parts{};
    ::localtime_r(&seconds, &parts);
    std::array<char, 32> date{};
    std::strftime(date.data(), date.size(), "%Y/%m/%d-%H:%M:%S", &parts);
    std::va_list again;
    va_copy(again, ap);
    std::string text(static_cast<size_t>(std::max(0, std::vsnprintf(nullptr, 0, format, again))),
                     '\0');
    va_end(again);
    std::vsnprintf(text.data(), text.size() + 1, format, ap);
    if (text.empty() || text.back() != '\n') text.push_back('\n');
    std::fprintf(file_, "%s.%06d %ld %s", date.data(), static_cast<int>(microseconds),
                 ::syscall(SYS_gettid), text.c_str());
    std::fflush(file_);
  }

 private:
  std::FILE* file_;
};

class posix_lock final : public FileLock {
 public:
  posix_lock(std::string path, descriptor file) : path_(std::move(path)), file_(std::move(file)) {}

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] int file() const noexcept { return file_.number(); }
  [[nodiscard]] descriptor take() noexcept { return std::move(file_); }

 private:
  std::string path_;
  descriptor file_;
};

/// Locks or unlocks the whole file: F_WRLCK or F_UNLCK.
bool set_lock(int file, short type) noexcept {
  struct flock wanted{};
  wanted.l_type = type;
  wanted.l_whence = SEEK_SET;
  return ::fcntl(file, F_SETLK, &wanted) == 0;
}

/// Runs functions one at a time on a separate thread, which never ends.
class background_queue {
 public:
  void add(void (*function)(void*), void* argument) {
    const std::lock_guard lock(mutex_);
    if (!started_) std::thread([this] { run(); }).detach();
    started_ = true;
    waiting_.emplace_back(function, argument);
    any_.notify_one();
  }

 private:
  [[noreturn]] void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      any_.wait(lock, [this] { return !waiting_.empty(); });
      const auto [function, argument] = waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      function(argument);
    }
  }

  std::mutex mutex_;
  std::condition_variable any_;
  bool started_ = false;
  std::deque<std::pair<void (*)(void*), void*>> waiting_;
};

class posix_env final : public Env {
 public:
  Status NewSequentialFile(const std::string& fname, SequentialFile** result) override {
    return opened<posix_sequential_file>(fname, O_RDONLY, result);
  }
  Status NewRandomAccessFile(const std::string& fname, RandomAccessFile** result) override {
    return opened<posix_random_access_file>(fname, O_RDONLY, result);
  }
  Status NewWritableFile(const std::string& fname, WritableFile** result) override {
    return opened<posix_writable_file>(fname, O_WRONLY | O_CREAT | O_TRUNC, result);
  }
  Status NewAppendableFile(const std::string& fname, WritableFile** result) override {
    return opened<posix_writable_file>(fname, O_WRONLY | O_CREAT | O_APPEND, result);
  }

  /// Returns true also if the system cannot determine it; the next call on the file then returns
  /// the cause.
  bool FileExists(const std::string& fname) override {
    if (::access(fname.c_str(), F_OK) == 0) return true;
    return errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG && errno != ELOOP;
  }
  Status GetChildren(const std::string& dir, std::vector<std::string>* result) override {
    result->clear();
    const auto close = [](DIR* open) { ::closedir(open); };
    const std::unique_ptr<DIR, decltype(close)> open(::opendir(dir.c_str()), close);
    if (open == nullptr) return failed(dir);
    while (const dirent* const each = ::readdir(open.get())) result->emplace_back(each->d_name);
    return {};
  }
  Status RemoveFile(const std::string& fname) override {
    return done(fname, ::unlink(fname.c_str()));
  }
  Status CreateDir(const std::string& dirname) override {
    return done(dirname, ::mkdir(dirname.c_str(), 0755));
  }
  Status RemoveDir(const std::string& dirname) override {
    return done(dirname, ::rmdir(dirname.c_str()));
  }
  Status GetFileSize(const std::string& fname, uint64_t* file_size) override {
    struct stat status{};
    *file_size = 0;
    if (::stat(fname.c_str(), &status) != 0) return failed(fname);
    *file_size = static_cast<uint64_t>(status.st_size);
    return {};
  }
  Status RenameFile(const std::string& src, const std::string& target) override {
    return done(src, std::rename(src.c_str(), target.c_str()));
  }

  Status LockFile(const std::string& fname, FileLock** lock) override {
    *lock = nullptr;
    const std::lock_guard guard(locked_mutex());
    struct stat before{};
    const bool is_there = ::stat(fname.c_str(), &before) == 0;
    if (!is_there && errno != ENOENT) return failed("lock " + fname);
    if (is_there && locked_.contains({before.st_dev, before.st_ino})) {
      return Status::IOError("lock " + fname, "already held by this process");
    }
    forgotten_.reserve(forgotten_.size() + 1);  // the file may be moved there later
    auto made = std::make_unique<posix_lock>(fname, open_file(fname, O_RDWR | O_CREAT));
    if (made->file() < 0) return failed(fname);
    // The system grants a process a lock that it holds already. The identity of the file, not its
    // path, detects this.
    struct stat status{};
    if (::fstat(made->file(), &status) != 0) return failed(fname);
    const std::pair identity(status.st_dev, status.st_ino);
    if (locked_.contains(identity)) {
      forgotten_.push_back(made->take());  // a close would release the lock
      return Status::IOError("lock " + fname, "already held by this process");
    }
    if (!set_lock(made->file(), F_WRLCK)) return failed("lock " + fname);
    locked_.insert(identity);
    *lock = made.release();
    return {};
  }
  Status UnlockFile(FileLock* lock) override {
    const std::unique_ptr<posix_lock> held(static_cast<posix_lock*>(lock));
    struct stat status{};
    const std::lock_guard guard(locked_mutex());
    if (::fstat(held->file(), &status) != 0) return failed(held->path());
    if (!set_lock(held->file(), F_UNLCK)) return failed("unlock " + held->path());
    locked_.erase({status.st_dev, status.st_ino});
    if (locked_.empty()) forgotten_.clear();
    return {};
  }

  void Schedule(void (*function)(void* arg), void* arg) override { queue_.add(function, arg); }
  void StartThread(void (*function)(void* arg), void* arg) override {
    std::thread(function, arg).detach();
  }

  Status GetTestDirectory(std::string* path) override {
    const char* const named = std::getenv("TEST_TMPDIR");
    *path = named != nullptr && *named != '\0'
                ? std::string(named)
                : "/tmp/outlast-store-test-" + std::to_string(::geteuid());
    static_cast<void>(CreateDir(*path));  // it may exist
    return {};
  }
  Status NewLogger(const std::string& fname, Logger** result) override {
    *result = nullptr;
    std::FILE* const file = std::fopen(fname.c_str(), "we");
    if (file == nullptr) return failed(fname);
    *result = new posix_logger(file);
    return {};
  }
  uint64_t NowMicros() override {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  }
  void SleepForMicroseconds(int micros) override {
    std::this_thread::sleep_for(std::chrono::microseconds(micros));
  }

 private:
  static Status done(const std::string& path, int result) {
    return result == 0 ? Status() : failed(path);
  }
  template <class File, class Result>
  static Status opened(const std::string& path, int flags, Result** result) {
    *result = nullptr;
    descriptor file = open_file(path, flags);
    if (!file.is_open()) return failed(path);
    *result = new File(path, std::move(file));
    return {};
  }

  static std::mutex& locked_mutex() {
    return ::outlast::base::mutex_of(::outlast::base::fork_lock::store_locks);
  }

  std::set<std::pair<dev_t, ino_t>> locked_;
  std::vector<descriptor> forgotten_;
  background_queue queue_;
};

}  // namespace

Env* Env::Default() {
  static Env* const only = new posix_env;  // threads may use it until the process ends
  return only;
}

}  // namespace OUTLAST_DB_NAMESPACE
