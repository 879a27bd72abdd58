// Where the store of a test lies: on each medium that a store knows.
#pragma once

#include <outlast/db/db.hpp>
#include <outlast/db/detail/engine.hpp>
#include <outlast/db/env.hpp>
#include <outlast/db/memenv.hpp>
#include <outlast/db/write_batch.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <tests/support/memory_folder.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace outlast::test {

/// `disk`: files that are synced with their device, where there is one that costs nothing: a file
/// system in memory is taken for a disk. `device`: in the temporary directory, whatever that is.
/// `record_files`, `record_disk`, `ordinary_records`: `memory_files`, `disk` and `ordinary_memory`
/// with the engine of records.
enum class place {
  memory_files,
  disk,
  ordinary_memory,
  device,
  record_files,
  record_disk,
  ordinary_records,
};

inline void PrintTo(place where, std::ostream* to) {
  *to << (where == place::memory_files       ? "memory_files"
          : where == place::disk             ? "disk"
          : where == place::device           ? "device"
          : where == place::record_files     ? "record_files"
          : where == place::record_disk      ? "record_disk"
          : where == place::ordinary_records ? "ordinary_records"
                                             : "ordinary_memory");
}

using entries = std::vector<std::pair<std::string, std::string>>;

/// What an iterator shows, forward, and that it shows the same backward.
inline entries content_of(db::DB& of, const db::ReadOptions& options = {}) {
  entries forward;
  entries backward;
  const std::unique_ptr<db::Iterator> at(of.NewIterator(options));
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    forward.emplace_back(at->key().ToString(), at->value().ToString());
  }
  for (at->SeekToLast(); at->Valid(); at->Prev()) {
    backward.emplace_back(at->key().ToString(), at->value().ToString());
  }
  EXPECT_EQ(at->status().ToString(), "OK");
  std::reverse(backward.begin(), backward.end());
  EXPECT_EQ(forward, backward);
  return forward;
}

/// What Get() answers: the value, or the status in brackets.
inline std::string value_of(db::DB& of, std::string_view key, const db::ReadOptions& options = {}) {
  std::string value;
  const db::Status status = of.Get(options, key, &value);
  if (status.ok()) return value;
  return status.IsNotFound() ? "(none)" : "(" + status.ToString() + ")";
}

/// A store of a test, gone with it.
class store_home {
 public:
  explicit store_home(place where)
      : folder_(where == place::device ? std::filesystem::temp_directory_path() : memory_folder()) {
    pool_detail::test_hooks().everything_is_a_disk =
        where == place::disk || where == place::record_disk;
    options.create_if_missing = true;
    more.capacity_bytes = std::size_t{64} << 20;
    const bool has_records = where == place::record_files || where == place::record_disk ||
                             where == place::ordinary_records;
    more.engine = has_records ? db::StoreEngine::kRecords : db::StoreEngine::kReplicas;
    if (where != place::ordinary_memory && where != place::ordinary_records) return;
    memory_.reset(db::NewMemEnv(db::Env::Default()));
    options.env = memory_.get();
  }

  ~store_home() {
    close();
    if (more.keep_index) {  // the index is elsewhere
      EXPECT_EQ(db::DestroyDB(name(), options).ToString(), "OK");
    }
    pool_detail::test_hooks().everything_is_a_disk = false;
  }
  store_home(const store_home&) = delete;
  store_home& operator=(const store_home&) = delete;

  [[nodiscard]] std::string name() const { return (folder_.path() / "store").string(); }
  [[nodiscard]] std::string file(const std::string& of) const { return name() + "/" + of; }
  /// Is it lost with the process?
  [[nodiscard]] bool is_volatile() const { return memory_ != nullptr; }
  /// Returns whether it has the engine of records.
  [[nodiscard]] bool has_records() const { return more.engine == db::StoreEngine::kRecords; }
  /// Does it wait for a device? (The temporary directory may lie in memory too.)
  [[nodiscard]] bool is_on_disk() const {
    return !is_volatile() &&
           store_detail::medium_of(folder_.path().string()) == store_detail::medium::disk;
  }
  /// Returns whether it has a redo log.
  [[nodiscard]] bool is_logged() const { return is_on_disk() && !has_records(); }

  /// As DB::Open(), after a close().
  db::Status open() {
    close();
    db::DB* opened = nullptr;
    const db::Status status = db::DB::Open(options, more, name(), &opened);
    EXPECT_EQ(status.ok(), opened != nullptr);
    store_.reset(opened);
    return status;
  }
  void close() { store_.reset(); }
  [[nodiscard]] db::DB& operator*() const { return *store_; }
  [[nodiscard]] db::DB* operator->() const { return store_.get(); }

  db::Options options;
  db::StoreOptions more;

 private:
  scratch_folder folder_;
  std::unique_ptr<db::Env> memory_;
  std::unique_ptr<db::DB> store_;
};

/// Runs `incarnation` in a process that ends like a killed one. Returns its result.
template <class Incarnation>
bool in_a_killed_process(Incarnation&& incarnation) {
  const ::pid_t child = ::fork();
  if (child == 0) ::_exit(incarnation() ? 0 : 1);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status == 0;
}

}  // namespace outlast::test
