// The file of an index that outlives its process, through DB: when it is used again, and what
// happens to files that are wrong, foreign or too small.
#include <outlast/db/db.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <src/db/records/index_file.hpp>

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <ios>
#include <memory>
#include <string>
#include <utility>

namespace outlast::db {
namespace {

namespace fs = std::filesystem;
using store_detail::records::index_file;

/// A store whose index outlives its process, and the directory of index files.
class IndexFile : public testing::Test {
 protected:
  IndexFile() {
    std::string pattern = (fs::temp_directory_path() / "outlast-test-XXXXXX").string();
    folder = mkdtemp(pattern.data());
    indexes = folder / "indexes";
    fs::create_directory(indexes);
    name = (folder / "store").string();
    pool_detail::test_hooks().index_directory = indexes.string();
    options.create_if_missing = true;
    more.keep_index = true;
  }
  ~IndexFile() override {
    pool_detail::test_hooks() = {};
    fs::remove_all(folder);
  }

  std::unique_ptr<DB> open() {
    DB* opened = nullptr;
    const Status status = DB::Open(options, more, name, &opened);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return std::unique_ptr<DB>(opened);
  }
  static void put(DB& to, int from, int end) {
    for (int i = from; i < end; ++i) {
      ASSERT_TRUE(to.Put({}, "key" + std::to_string(i), "value" + std::to_string(i)).ok());
    }
  }
  static bool has(DB& in, int end) {
    std::string value;
    for (int i = 0; i < end; ++i) {
      const bool found = in.Get({}, "key" + std::to_string(i), &value).ok();
      if (!found || value != "value" + std::to_string(i)) return false;
    }
    std::string keys;
    return in.GetProperty("outlast.keys", &keys) && keys == std::to_string(end);
  }
  static bool was_reopened(DB& in) {
    std::string value;
    EXPECT_TRUE(in.GetProperty("outlast.index-was-kept", &value));
    return value == "1";
  }
  /// Runs `work` in a process that ends without a close.
  static void in_killed_process(const std::function<void()>& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      work();
      std::_Exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  void make(int keys) {
    in_killed_process([&] { put(*open().release(), 0, keys); });
  }
  [[nodiscard]] fs::path file() const {
    for (const auto& each : fs::directory_iterator(indexes)) return each.path();
    return {};
  }
  [[nodiscard]] std::string data() const { return name + "/store.pool"; }

  fs::path folder;
  fs::path indexes;
  std::string name;
  Options options;
  StoreOptions more;
};

TEST_F(IndexFile, is_used_again_after_a_kill_and_after_a_close) {
  make(1000);
  for (int round = 0; round < 3; ++round) {
    const auto store = open();
    EXPECT_TRUE(was_reopened(*store));
    EXPECT_TRUE(has(*store, 1000 + round));
    put(*store, 1000 + round, 1001 + round);
  }
  struct stat data_status{};
  struct stat index_status{};
  ASSERT_EQ(::stat(data().c_str(), &data_status), 0);
  ASSERT_EQ(::stat(file().c_str(), &index_status), 0);
  EXPECT_EQ(index_status.st_mode & 0777, data_status.st_mode & 0777);
  EXPECT_EQ(index_status.st_uid, data_status.st_uid);
}

TEST_F(IndexFile, is_made_anew_by_paranoid_checks_and_removed_by_others) {
  make(300);
  options.paranoid_checks = true;
  EXPECT_FALSE(was_reopened(*open()));
  options.paranoid_checks = false;
  EXPECT_TRUE(was_reopened(*open()));
  more.keep_index = false;
  EXPECT_TRUE(has(*open(), 300));
  EXPECT_EQ(file(), fs::path());
  more.keep_index = true;
  EXPECT_TRUE(has(*open(), 300));
  ASSERT_NE(file(), fs::path());
  ASSERT_TRUE(DestroyDB(name, options).ok());
  EXPECT_EQ(file(), fs::path());
  EXPECT_FALSE(fs::exists(name));
}

TEST_F(IndexFile, is_not_used_for_a_copy_or_for_a_repaired_store) {
  make(300);
  EXPECT_TRUE(was_reopened(*open()));  // and closed: a copy of another one is refused
  fs::copy(name, folder / "copy", fs::copy_options::recursive);
  const std::string first = std::exchange(name, (folder / "copy").string());
  {
    const auto copy = open();
    EXPECT_FALSE(was_reopened(*copy));
    EXPECT_TRUE(has(*copy, 300));
  }
  name = first;
  ASSERT_TRUE(RepairDB(name, options).ok());
  const auto repaired = open();
  EXPECT_FALSE(was_reopened(*repaired));
  EXPECT_TRUE(has(*repaired, 300));
}

TEST_F(IndexFile, that_is_wrong_is_made_anew) {
  const auto spoil = [&](std::streamoff at, const std::string& bytes) {
    std::fstream out(file(), std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(at);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  };
  const std::function<void()> faults[] = {
      [&] { fs::resize_file(file(), 0); },
      [&] { fs::resize_file(file(), 4096 + 100); },
      [&] { fs::resize_file(file(), fs::file_size(file()) / 2); },
      [&] { spoil(0, "x"); },                            // the magic
      [&] { spoil(8, "x"); },                            // another build
      [&] { spoil(16, "xx"); },                          // another pool
      [&] { spoil(32, "xx"); },                          // before the machine was started
      [&] { spoil(4096, "xx"); },                        // the magic of the index
      [&] { spoil(4096 + 8, "xx"); },                    // other sizes
      [&] { spoil(4096 + 16, std::string(8, '\0')); },   // it was not complete
      [&] { spoil(4096 + 24, "xx"); },                   // another store in the pool
      [&] { fs::permissions(file(), fs::perms::all); },  // others could write to it
      [&] { fs::create_hard_link(file(), folder / "other"); },
      [&] {
        const fs::path was = file();
        fs::rename(was, folder / "aside");
        fs::create_symlink(folder / "aside", was);
      },
  };
  more.keep_index = false;
  make(300);
  more.keep_index = true;
  int number = 0;
  for (const auto& fault : faults) {
    EXPECT_FALSE(was_reopened(*open())) << number;
    EXPECT_TRUE(was_reopened(*open())) << number;
    fault();
    const auto store = open();
    EXPECT_FALSE(was_reopened(*store)) << number;
    EXPECT_TRUE(has(*store, 300)) << number;
    // What is foreign stays, and the file is beside the data then.
    fs::remove_all(indexes);
    fs::create_directory(indexes);
    fs::remove(data() + ".index");
    fs::remove(folder / "other");
    ++number;
  }
}

TEST_F(IndexFile, is_beside_the_data_if_its_directory_has_no_room) {
  pool_detail::test_hooks().index_directory = (folder / "missing").string();
  make(300);
  EXPECT_TRUE(fs::exists(data() + ".index"));
  EXPECT_TRUE(was_reopened(*open()));
  ASSERT_TRUE(DestroyDB(name, options).ok());
  EXPECT_FALSE(fs::exists(name));
}

TEST_F(IndexFile, that_cannot_grow_is_continued_in_memory) {
  make(300);
  in_killed_process([&] {
    DB& store = *open().release();
    EXPECT_TRUE(was_reopened(store));
    pool_detail::test_hooks().index_allocation_fails = ENOSPC;
    put(store, 300, 200'000);
    EXPECT_TRUE(has(store, 200'000));
  });
  const auto store = open();
  EXPECT_FALSE(was_reopened(*store));
  EXPECT_TRUE(has(*store, 200'000));
}

}  // namespace
}  // namespace outlast::db
