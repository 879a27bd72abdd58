// An Env whose files are in ordinary memory: NewMemEnv().

#include <outlast/db/detail/engine.hpp>
#include <outlast/db/env.hpp>
#include <outlast/db/memenv.hpp>
#include <src/db/memory_env.hpp>

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace OUTLAST_DB_NAMESPACE {

namespace {

using ::outlast::store_detail::memory_file;

/// The bytes of a file, which several readers and writers may have open. Thread-safety: all members
/// may be called concurrently.
class content {
 public:
  /// Copies at most `n` bytes from `offset` to `scratch`. An offset after the end is an error, as
  /// in LevelDB.
  Status read(uint64_t offset, size_t n, Slice* result, char* scratch) const {
    const std::lock_guard lock(mutex_);
    if (offset > bytes_.size()) {
      *result = {scratch, 0};
      return Status::IOError("Offset greater than file size.");  // as in LevelDB
    }
    *result = {scratch, bytes_.copy(scratch, n, offset)};
    return {};
  }
  void append(const Slice& data) {
    const std::lock_guard lock(mutex_);
    bytes_.append(data.view());
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    bytes_.clear();
  }
  [[nodiscard]] uint64_t size() const {
    const std::lock_guard lock(mutex_);
    return bytes_.size();
  }
  /// The memory of the store in this file.
  std::shared_ptr<memory_file> store() {
    const std::lock_guard lock(mutex_);
    if (store_ == nullptr) store_ = std::make_shared<memory_file>();
    return store_;
  }

 private:
  mutable std::mutex mutex_;
  std::string bytes_;
  std::shared_ptr<memory_file> store_;
};

class memory_sequential_file final : public SequentialFile {
 public:
  explicit memory_sequential_file(std::shared_ptr<content> of) : of_(std::move(of)) {}

  Status Read(size_t n, Slice* result, char* scratch) override {
    const Status status = of_->read(at_, n, result, scratch);
    at_ += result->size();
    return status;
  }
  Status Skip(uint64_t n) override {
    // The file may have been replaced by a shorter one.
    if (at_ > of_->size()) return Status::IOError("pos_ > file_->Size()");
    at_ += std::min(n, of_->size() - std::min(at_, of_->size()));
    return {};
  }

 private:
  std::shared_ptr<content> of_;
  uint64_t at_ = 0;
};

class memory_random_access_file final : public RandomAccessFile {
 public:
  explicit memory_random_access_file(std::shared_ptr<content> of) : of_(std::move(of)) {}

  Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const override {
    return of_->read(offset, n, result, scratch);
  }

 private:
  std::shared_ptr<content> of_;
};

class memory_writable_file final : public WritableFile {
 public:
  explicit memory_writable_file(std::shared_ptr<content> of) : of_(std::move(of)) {}

  Status Append(const Slice& data) override {
    of_->append(data);
    return {};
  }
  Status Close() override { return {}; }
  Status Flush() override { return {}; }
  Status Sync() override { return {}; }

 private:
  std::shared_ptr<content> of_;
};

class silent_logger final : public Logger {
 public:
  void Logv(const char* /*format*/, std::va_list /*ap*/) override {}
};

class memory_lock final : public FileLock {
 public:
  explicit memory_lock(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// The set of the Envs in memory, by which owner_of() recognizes them. Thread-safety: all members
/// may be called concurrently.
class known_owners {
 public:
  static known_owners& all() {
    static known_owners* const only = new known_owners;  // outlives the last Env
    return *only;
  }
  void add(const Env* env, store_owner* owner) {
    const std::lock_guard lock(mutex_);
    owners_[env] = owner;
  }
  void remove(const Env* env) {
    const std::lock_guard lock(mutex_);
    owners_.erase(env);
  }
  [[nodiscard]] store_owner* find(const Env* env) {
    const std::lock_guard lock(mutex_);
    const auto at = owners_.find(env);
    return at == owners_.end() ? nullptr : at->second;
  }

 private:
  std::mutex mutex_;
  std::map<const Env*, store_owner*> owners_;
};

/// A directory exists if the path of a file begins with it.
class memory_env final : public EnvWrapper, public store_owner {
 public:
  explicit memory_env(Env* base) : EnvWrapper(base) { known_owners::all().add(this, this); }
  ~memory_env() override { known_owners::all().remove(this); }

  Status NewSequentialFile(const std::string& fname, SequentialFile** result) override {
    return opened<memory_sequential_file>(fname, result);
  }
  Status NewRandomAccessFile(const std::string& fname, RandomAccessFile** result) override {
    return opened<memory_random_access_file>(fname, result);
  }
  Status NewWritableFile(const std::string& fname, WritableFile** result) override {
    const std::shared_ptr<content> made = found_or_made(fname);
    *result = new memory_writable_file(made);
    made->clear();
    return {};
  }
  Status NewAppendableFile(const std::string& fname, WritableFile** result) override {
    *result = new memory_writable_file(found_or_made(fname));
    return {};
  }
  bool FileExists(const std::string& fname) override { return found(fname) != nullptr; }
  Status GetChildren(const std::string& dir, std::vector<std::string>* result) override {
    result->clear();
    const std::string below = dir + '/';
    const std::lock_guard lock(mutex_);
    for (auto at = files_.lower_bound(below); at != files_.end(); ++at) {
      if (!at->first.starts_with(below)) break;
      result->push_back(at->first.substr(below.size()));
    }
    return {};
  }
  Status RemoveFile(const std::string& fname) override {
    const std::lock_guard lock(mutex_);
    return files_.erase(fname) != 0 ? Status() : missing(fname);
  }
  Status CreateDir(const std::string& /*dirname*/) override { return {}; }
  Status RemoveDir(const std::string& /*dirname*/) override { return {}; }
  Status GetFileSize(const std::string& fname, uint64_t* file_size) override {
    const std::shared_ptr<content> there = found(fname);
    if (there == nullptr) return missing(fname);
    *file_size = there->size();
    return {};
  }
  Status RenameFile(const std::string& src, const std::string& target) override {
    std::string name = target;  // no later step allocates
    const std::lock_guard lock(mutex_);
    auto moved = files_.extract(src);
    if (moved.empty()) return missing(src);
    files_.erase(name);
    moved.key() = std::move(name);
    files_.insert(std::move(moved));
    return {};
  }
  Status LockFile(const std::string& fname, FileLock** lock) override {
    *lock = nullptr;
    auto made = std::make_unique<memory_lock>(fname);
    const std::lock_guard guard(mutex_);
    if (!locked_.insert(fname).second) {
      return Status::IOError("lock " + fname, "already held by this process");
    }
    *lock = made.release();
    return {};
  }
  Status UnlockFile(FileLock* lock) override {
    const std::unique_ptr<memory_lock> held(static_cast<memory_lock*>(lock));
    const std::lock_guard guard(mutex_);
    locked_.erase(held->path());
    return {};
  }
  Status GetTestDirectory(std::string* path) override {
    *path = "/test";
    return {};
  }
  Status NewLogger(const std::string& /*fname*/, Logger** result) override {
    *result = new silent_logger;
    return {};
  }

  std::shared_ptr<memory_file> store_file(const std::string& path) override {
    return found_or_made(path)->store();
  }

 private:
  static Status missing(const std::string& path) {
    return Status::IOError(path, "no such file in memory");  // as in LevelDB
  }
  std::shared_ptr<content> found(const std::string& path) {
    const std::lock_guard lock(mutex_);
    const auto at = files_.find(path);
    return at == files_.end() ? nullptr : at->second;
  }
  std::shared_ptr<content> found_or_made(const std::string& path) {
    const std::lock_guard lock(mutex_);
    const auto at = files_.find(path);
    if (at != files_.end()) return at->second;
    return files_.emplace(path, std::make_shared<content>()).first->second;
  }
  template <class File, class Result>
  Status opened(const std::string& path, Result** result) {
    *result = nullptr;
    std::shared_ptr<content> there = found(path);
    if (there == nullptr) return missing(path);
    *result = new File(std::move(there));
    return {};
  }

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<content>> files_;
  std::set<std::string> locked_;
};

}  // namespace

store_owner* owner_of(const Env* env) { return known_owners::all().find(env); }

Env* NewMemEnv(Env* base_env) { return new memory_env(base_env); }

}  // namespace OUTLAST_DB_NAMESPACE
