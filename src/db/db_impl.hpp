// The implementation of DB: an open store with LevelDB's interface, and the names of its files.
#pragma once

#include <outlast/db/db.hpp>
#include <outlast/db/detail/engine.hpp>
#include <outlast/db/env.hpp>
#include <outlast/db/namespace.hpp>
#include <outlast/db/options.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace OUTLAST_DB_NAMESPACE {

/// The paths of a store's files.
struct store_paths {
  explicit store_paths(const std::string& directory)
      : data(directory + "/store.pool"),
        lock(directory + "/LOCK"),
        log(directory + "/LOG"),
        old_log(directory + "/LOG.old"),
        unfinished_repair(directory + "/store.rescued"),
        copied(directory + "/store.copied"),
        completed(::outlast::store_detail::completed_of(data)),
        lost(::outlast::store_detail::kept_files_of(data)),
        foreign(directory + "/CURRENT") {}

  std::string data;
  std::string lock;
  std::string log;
  std::string old_log;
  std::string unfinished_repair;  ///< the new store of RepairDB(), while it is written
  std::string copied;             ///< the copy of Checkpoint(), while it is written
  std::string completed;          ///< the new store of RepairDB(), until it replaces the data
  std::string lost;               ///< the directory of the files that repairs have replaced
  std::string foreign;            ///< a file that only LevelDB's databases have
};

/// Returns InvalidArgument if the key or the value is longer than the maximum of a store.
[[nodiscard]] Status validate_length(std::string_view key, std::string_view value = {});

/// The lock on a store's directory. The destructor releases it.
class directory_lock {
 public:
  directory_lock() = default;
  directory_lock(Env* env, const std::string& path) : env_(env) {
    status_ = env->LockFile(path, &lock_);
  }
  directory_lock(directory_lock&& from) noexcept { swap(from); }
  directory_lock& operator=(directory_lock&& from) noexcept {
    swap(from);
    return *this;
  }
  ~directory_lock() {
    if (lock_ != nullptr) static_cast<void>(env_->UnlockFile(lock_));
  }

  [[nodiscard]] const Status& status() const noexcept { return status_; }

 private:
  void swap(directory_lock& other) noexcept {
    std::swap(env_, other.env_);
    std::swap(lock_, other.lock_);
    std::swap(status_, other.status_);
  }

  Env* env_ = nullptr;
  FileLock* lock_ = nullptr;
  Status status_;
};

/// A snapshot, or the status of the failure to take it.
class opened_snapshot final : public Snapshot {
 public:
  explicit opened_snapshot(std::unique_ptr<::outlast::store_detail::snapshot> of)
      : of_(std::move(of)) {}
  explicit opened_snapshot(Status failed) : failed_(std::move(failed)) {}
  ~opened_snapshot() override = default;

  [[nodiscard]] const Status& status() const noexcept { return failed_; }
  [[nodiscard]] const ::outlast::store_detail::snapshot& of() const noexcept { return *of_; }

 private:
  std::unique_ptr<::outlast::store_detail::snapshot> of_;
  Status failed_;
};

class db_impl final : public DB {
 public:
  /// `logger`: null if `messages` is Options::info_log, which outlives the store. Takes ownership
  /// of the arguments. If it throws std::bad_alloc, it has taken none of them.
  db_impl(const std::string& name, const Options& options, directory_lock&& lock,
          std::unique_ptr<Logger>&& logger, Logger* messages,
          std::shared_ptr<::outlast::store_detail::memory_file>&& memory,
          std::unique_ptr<::outlast::store_detail::engine>&& in);
  ~db_impl() override;

  Status Put(const WriteOptions& options, const Slice& key, const Slice& value) override;
  Status Delete(const WriteOptions& options, const Slice& key) override;
  Status Write(const WriteOptions& options, WriteBatch* updates) override;
  Status Get(const ReadOptions& options, const Slice& key, std::string* value) override;
  Iterator* NewIterator(const ReadOptions& options) override;
  const Snapshot* GetSnapshot() override;
  void ReleaseSnapshot(const Snapshot* snapshot) override;
  bool GetProperty(const Slice& property, std::string* value) override;
  void GetApproximateSizes(const Range* range, int n, uint64_t* sizes) override;
  void CompactRange(const Slice* begin, const Slice* end) override;

  [[nodiscard]] ::outlast::store_detail::engine& in() noexcept { return *in_; }
  [[nodiscard]] Env* env() const noexcept { return env_; }

 private:
  [[nodiscard]] std::string describe();

  std::string name_;
  Env* env_;
  bool verifies_;
  directory_lock lock_;
  std::unique_ptr<Logger> own_logger_;
  Logger* messages_;
  std::shared_ptr<::outlast::store_detail::memory_file> memory_;
  std::unique_ptr<::outlast::store_detail::engine> in_;
};

/// Returns `db` as the class that DB::Open() creates, or nullptr if it is a class of the program.
[[nodiscard]] db_impl* opened_of(DB* db) noexcept;
/// Returns the status of the function `call`, which requires a store from DB::Open().
[[nodiscard]] Status not_opened(const char* call);

}  // namespace OUTLAST_DB_NAMESPACE
