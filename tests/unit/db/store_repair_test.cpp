// Goal: a repair keeps everything that can be read of a store of any size, in any state, and all of
// what it replaces; a copy of a full store is whole. Method: stores that are large, full, spoilt,
// killed, foreign; the files before and after, byte by byte.
#include <outlast/db/checkpoint.hpp>
#include <outlast/db/comparator.hpp>
#include <tests/support/store_bytes.hpp>
#include <tests/support/store_home.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace outlast::test {
namespace {

namespace fs = std::filesystem;

class listener final : public db::Logger {
 public:
  void Logv(const char* format, std::va_list ap) override {
    std::array<char, 1000> text{};
    std::vsnprintf(text.data(), text.size(), format, ap);
    all.append(text.data()).append("\n");
  }
  std::string all;
};

class StoreRepair : public testing::TestWithParam<place> {
 protected:
  StoreRepair() : home(GetParam()) {}

  void fill(int keys) {
    for (int i = 0; i < keys; ++i) {
      ASSERT_EQ(home->Put({}, std::to_string(10'000 + i), value(i)).ToString(), "OK");
    }
  }
  static std::string value(int i) { return "value " + std::to_string(i) + std::string(100, '-'); }
  void make_store(int keys) {
    ASSERT_EQ(home.open().ToString(), "OK");
    fill(keys);
    home.close();
  }
  /// What RepairDB() answers, and what it tells.
  db::Status repair() {
    heard.all.clear();
    db::Options options = home.options;
    options.info_log = &heard;
    return db::RepairDB(home.name(), options);
  }
  [[nodiscard]] std::string keys() {
    std::string counted;
    EXPECT_TRUE(home->GetProperty("outlast.keys", &counted));
    return counted;
  }
  /// The files as they are now, to be compared with later.
  [[nodiscard]] std::string set_aside(const std::string& name) const {
    std::string copy = home.name() + "-" + name;
    EXPECT_EQ(std::system(("cp -a --sparse=always " + home.file(name) + " " + copy).c_str()), 0);
    return copy;
  }

  store_home home;
  listener heard;
};

INSTANTIATE_TEST_SUITE_P(everywhere, StoreRepair,
                         testing::Values(place::memory_files, place::disk, place::record_files,
                                         place::record_disk),
                         testing::PrintToStringParamName());

TEST_P(StoreRepair, keeps_all_of_a_large_store) {
  home.more.capacity_bytes = std::size_t{256} << 20;
  ASSERT_EQ(home.open().ToString(), "OK");
  fill(60'000);
  for (int i = 0; i < 20; ++i) {
    const std::string large((std::size_t{1} << 20) + 100'000 * i, static_cast<char>('a' + i));
    ASSERT_EQ(home->Put({}, "large" + std::to_string(i), large).ToString(), "OK");
  }
  home.close();
  ASSERT_EQ(repair().ToString(), "OK") << heard.all;
  EXPECT_NE(heard.all.find("60020 keys kept"), std::string::npos) << heard.all;
  home.options.paranoid_checks = true;
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(keys(), "60020");
  EXPECT_EQ(value_of(*home, "69999"), value(59'999));
  EXPECT_EQ(value_of(*home, "large19").size(), (std::size_t{1} << 20) + 1'900'000);
}

TEST_P(StoreRepair, keeps_an_empty_store) {
  make_store(0);
  ASSERT_EQ(repair().ToString(), "OK");
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(keys(), "0");
}

TEST_P(StoreRepair, keeps_what_it_replaces_as_it_was) {
  make_store(500);
  ASSERT_GT(corrupt_bytes(home.file("store.pool"), value(123), 3), 0);
  const std::string before = set_aside("store.pool");
  ASSERT_EQ(repair().ToString(), "OK");
  EXPECT_EQ(names_in(home.file("lost")), std::vector<std::string>{"000001.pool"});
  EXPECT_TRUE(are_equal(home.file("lost/000001.pool"), before));
  EXPECT_NE(heard.all.find("499 keys kept"), std::string::npos) << heard.all;
  EXPECT_NE(heard.all.find("1 keys lost"), std::string::npos) << heard.all;
  EXPECT_NE(heard.all.find("lost/000001.pool"), std::string::npos) << heard.all;
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(keys(), "499");
  home.close();
  EXPECT_TRUE(are_equal(home.file("lost/000001.pool"), before));  // it is no store any more

  ASSERT_EQ(repair().ToString(), "OK");
  EXPECT_EQ(names_in(home.file("lost")), (std::vector<std::string>{"000001.pool", "000002.pool"}));
  EXPECT_TRUE(are_equal(home.file("lost/000001.pool"), before));
}

TEST_P(StoreRepair, keeps_the_log_that_it_replaces) {
  if (!home.is_logged()) GTEST_SKIP() << "no log here";
  ASSERT_TRUE(in_a_killed_process([&] {
    bool good = home.open().ok();
    for (int i = 0; i < 100; ++i) good = good && home->Put({}, std::to_string(i), value(i)).ok();
    return good;
  }));
  const std::string pool = set_aside("store.pool");
  const std::string log = set_aside("store.pool.redo");
  ASSERT_EQ(repair().ToString(), "OK");
  EXPECT_TRUE(are_equal(home.file("lost/000001.pool"), pool));
  EXPECT_TRUE(are_equal(home.file("lost/000001.pool.redo"), log));
  EXPECT_FALSE(fs::exists(home.file("store.pool.redo")));
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(keys(), "100");
}

TEST_P(StoreRepair, goes_on_without_a_log_whose_beginning_is_damaged) {
  if (!home.is_logged()) GTEST_SKIP() << "no log here";
  make_store(200);
  ASSERT_TRUE(
      in_a_killed_process([&] { return home.open().ok() && home->Put({}, "last", "one").ok(); }));
  std::fstream log(home.file("store.pool.redo"), std::ios::in | std::ios::out | std::ios::binary);
  log.seekp(40);
  log.put('!');
  log.close();
  ASSERT_FALSE(home.open().ok());
  ASSERT_EQ(repair().ToString(), "OK") << heard.all;
  EXPECT_NE(heard.all.find("store.pool.redo"), std::string::npos) << heard.all;
  EXPECT_TRUE(fs::exists(home.file("lost/000001.pool.redo")));
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(value_of(*home, "10017"), value(17));
}

/// Its own was not left by a repair: whoever put it there may need it.
TEST_P(StoreRepair, leaves_the_log_of_another_store_alone) {
  if (!home.is_logged()) GTEST_SKIP() << "no log here";
  ASSERT_TRUE(in_a_killed_process([&] { return home.open().ok(); }));
  const std::string other = set_aside("store.pool.redo");
  ASSERT_EQ(db::DestroyDB(home.name(), home.options).ToString(), "OK");
  make_store(10);
  ASSERT_EQ(repair().ToString(), "OK");  // so that there is a folder `lost`
  fs::copy(other, home.file("store.pool.redo"));
  const db::Status opened = home.open();
  EXPECT_NE(opened.ToString().find("belongs to another pool"), std::string::npos)
      << opened.ToString();
  EXPECT_NE(repair().ToString().find("belongs to another pool"), std::string::npos) << heard.all;
  EXPECT_TRUE(are_equal(home.file("store.pool.redo"), other));
  EXPECT_EQ(names_in(home.file("lost")), std::vector<std::string>{"000001.pool"});
  fs::remove(home.file("store.pool.redo"));
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(keys(), "10");
}

/// A copy of the directory, in which second names are files of their own.
TEST_P(StoreRepair, settles_a_copy_of_what_was_cut_off) {
  if (!home.is_logged()) GTEST_SKIP() << "no log here";
  ASSERT_TRUE(
      in_a_killed_process([&] { return home.open().ok() && home->Put({}, "key", "value").ok(); }));
  const std::string log = set_aside("store.pool.redo");
  ASSERT_EQ(repair().ToString(), "OK");
  fs::copy(log, home.file("store.pool.redo"));  // as if it had not been removed
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(value_of(*home, "key"), "value");
  home.close();
  EXPECT_TRUE(are_equal(home.file("lost/000001.pool.redo"), log));
}

TEST_P(StoreRepair, that_finds_nothing_to_keep_changes_nothing) {
  make_store(1);
  ASSERT_GT(corrupt_bytes(home.file("store.pool"), value(0), 3), 0);
  const std::string before = set_aside("store.pool");
  const db::Status refused = repair();
  EXPECT_TRUE(refused.IsCorruption()) << refused.ToString();
  EXPECT_TRUE(are_equal(home.file("store.pool"), before));
  EXPECT_EQ(names_in(home.name()), (std::vector<std::string>{"LOCK", "LOG", "store.pool"}));
}

class reverse final : public db::Comparator {
 public:
  int Compare(const db::Slice& a, const db::Slice& b) const override { return b.compare(a); }
  const char* Name() const override { return "test.reverse"; }
  void FindShortestSeparator(std::string* /*start*/, const db::Slice& /*limit*/) const override {}
  void FindShortSuccessor(std::string* /*key*/) const override {}
};

TEST_P(StoreRepair, with_another_comparator_changes_nothing) {
  make_store(100);
  const std::string before = set_aside("store.pool");
  const reverse other;
  home.options.comparator = &other;
  EXPECT_TRUE(repair().IsInvalidArgument());
  EXPECT_TRUE(are_equal(home.file("store.pool"), before));
  EXPECT_FALSE(fs::exists(home.file("lost")));
}

TEST_P(StoreRepair, leaves_nothing_to_those_who_open_or_destroy_the_store) {
  make_store(10);
  for (const char* const left :
       {"store.rescued", "store.rescued.redo", "store.copied", ".store.pool.redo.01234567.new"}) {
    std::ofstream(home.file(left)) << "half of it";
  }
  ASSERT_EQ(home.open().ToString(), "OK");
  home.close();
  for (const std::string& name : names_in(home.name())) {
    EXPECT_TRUE(name == "store.pool" || name == "LOCK" || name.starts_with("LOG")) << name;
  }
  ASSERT_EQ(repair().ToString(), "OK");
  EXPECT_EQ(db::DestroyDB(home.name(), home.options).ToString(), "OK");
  EXPECT_FALSE(fs::exists(home.name()));
}

TEST_P(StoreRepair, keeps_what_others_have_put_beside_what_it_kept) {
  make_store(10);
  ASSERT_EQ(repair().ToString(), "OK");
  std::ofstream(home.file("lost/000005.ldb")) << "somebody's";
  EXPECT_EQ(db::DestroyDB(home.name(), home.options).ToString(), "OK");
  EXPECT_EQ(names_in(home.name()), std::vector<std::string>{"lost"});
  EXPECT_EQ(names_in(home.file("lost")), std::vector<std::string>{"000005.ldb"});
}

// ---- Stores that are full ----

TEST_P(StoreRepair, and_copies_are_whole_of_a_store_that_is_full) {
  home.more.capacity_bytes = std::size_t{16} << 20;
  ASSERT_EQ(home.open().ToString(), "OK");
  std::mt19937_64 random(7);
  std::vector<std::string> there;
  for (db::Status status;;) {
    const std::string key = std::to_string(random());
    status = home->Put({}, key, std::string(300, 'v'));
    if (!status.ok()) break;
    there.push_back(key);
  }
  const std::string copy = home.name() + "-copy";
  ASSERT_EQ(db::Checkpoint(&*home, copy).ToString(), "OK");
  db::DB* opened = nullptr;
  ASSERT_EQ(db::DB::Open(home.options, copy, &opened).ToString(), "OK");
  const std::unique_ptr<db::DB> second(opened);
  std::string counted;
  EXPECT_TRUE(second->GetProperty("outlast.keys", &counted));
  EXPECT_EQ(counted, std::to_string(there.size()));
  home.close();
  ASSERT_EQ(repair().ToString(), "OK") << heard.all;
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(keys(), std::to_string(there.size()));
  for (std::size_t i = 0; i < there.size(); i += 97) {
    EXPECT_EQ(value_of(*home, there[i]), std::string(300, 'v'));
  }
}

}  // namespace
}  // namespace outlast::test
