// Stores of tests, in memory or behind a log.
#pragma once

#include <outlast/db/db.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include <unistd.h>

namespace outlast::db::test {

/// The engine of the stores that opened() makes.
inline StoreEngine& engine_of_stores() {
  static StoreEngine engine = StoreEngine::kReplicas;
  return engine;
}

/// A directory for stores on a file system in memory ("memory"), or on a device ("disk") if the
/// working directory is on one; gone with it. "records", "records_on_disk": the same, with the
/// engine of records.
class store_place {
 public:
  explicit store_place(std::string_view medium) {
    const std::filesystem::path under = medium.ends_with("disk")
                                            ? std::filesystem::current_path()
                                            : std::filesystem::path("/dev/shm");
    if (medium.starts_with("records")) engine_of_stores() = StoreEngine::kRecords;
    std::string pattern = (under / "outlast-test-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr) << pattern;
    path_ = pattern;
  }
  ~store_place() {
    engine_of_stores() = StoreEngine::kReplicas;
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  store_place(const store_place&) = delete;
  store_place& operator=(const store_place&) = delete;

  [[nodiscard]] std::string at(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// With room for 64 MiB. Fails the test if it does not open.
inline std::unique_ptr<DB> opened(const std::string& directory, const Options& options) {
  StoreOptions more;
  more.capacity_bytes = std::size_t{64} << 20;
  more.engine = engine_of_stores();
  DB* made = nullptr;
  const Status status = DB::Open(options, more, directory, &made);
  EXPECT_EQ(status.ToString(), "OK");
  return std::unique_ptr<DB>(made);
}
inline std::unique_ptr<DB> opened(const std::string& directory) {
  Options options;
  options.create_if_missing = true;
  return opened(directory, options);
}

/// Everything in it, by an iterator.
inline std::map<std::string, std::string> contents(DB& store) {
  std::map<std::string, std::string> all;
  const std::unique_ptr<Iterator> at(store.NewIterator({}));
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    all[at->key().ToString()] = at->value().ToString();
  }
  EXPECT_EQ(at->status().ToString(), "OK");
  return all;
}

}  // namespace outlast::db::test
