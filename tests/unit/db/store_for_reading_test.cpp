// Goal: a store that is opened to be read shows what a store shows, whatever state it is in, and
// nothing of it changes; that a store is refused changes nothing either. Method: stores that were
// closed, killed, torn, ordered by a program's own comparator; their files before and after, byte
// by byte.
#include <outlast/db/checkpoint.hpp>
#include <outlast/db/comparator.hpp>
#include <outlast/db/transaction.hpp>
#include <outlast/db/write_batch.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/format.hpp>
#include <tests/support/store_bytes.hpp>
#include <tests/support/store_home.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace outlast::test {
namespace {

namespace fs = std::filesystem;

/// Another order under each name that is given.
class reverse final : public db::Comparator {
 public:
  int Compare(const db::Slice& a, const db::Slice& b) const override { return b.compare(a); }
  const char* Name() const override { return "test.reverse"; }
  void FindShortestSeparator(std::string* /*start*/, const db::Slice& /*limit*/) const override {}
  void FindShortSuccessor(std::string* /*key*/) const override {}
};

class StoreForReading : public testing::TestWithParam<place> {
 protected:
  StoreForReading() : home(GetParam()) {}

  [[nodiscard]] bool fill(int keys = 300) {
    bool good = home.open().ok();
    for (int i = 0; i < keys; ++i) {
      const std::string key = std::to_string(1000 + i);
      good = good && home->Put({}, key, "value of " + key).ok();
      expected.emplace_back(key, "value of " + key);
    }
    return good;
  }
  void make_store() {
    ASSERT_TRUE(fill());
    home.close();
    remember();
  }
  void make_killed_store() {
    ASSERT_TRUE(in_a_killed_process([&] { return fill(); }));
    for (int i = 1000; i < 1300; ++i) {
      expected.emplace_back(std::to_string(i), "value of " + std::to_string(i));
    }
    remember();
  }
  void remember() const {
    const std::string copy = "cp -a --sparse=always " + home.name() + " " + before();
    ASSERT_EQ(std::system(copy.c_str()), 0);
  }
  [[nodiscard]] std::string before() const { return home.name() + "-before"; }
  void expect_no_change() const {
    ASSERT_EQ(names_in(home.name()), names_in(before()));
    for (const std::string& name : names_in(before())) {
      EXPECT_TRUE(are_equal(home.file(name), before() + "/" + name)) << name;
    }
  }
  db::Status open_for_reading() {
    store.reset();
    db::DB* opened = nullptr;
    db::Status status = db::DB::OpenForReading(home.options, home.name(), &opened);
    store.reset(opened);
    return status;
  }
  [[nodiscard]] bool is_dirty() const {
    std::array<char, 4096> page{};
    std::ifstream(home.file("store.pool"), std::ios::binary).read(page.data(), page.size());
    const auto reading = pool_format::read_header(std::as_bytes(std::span(page)));
    return !reading.header || reading.header->dirty();
  }

  store_home home;
  entries expected;
  std::unique_ptr<db::DB> store;
};

INSTANTIATE_TEST_SUITE_P(everywhere, StoreForReading,
                         testing::Values(place::memory_files, place::disk, place::record_files,
                                         place::record_disk),
                         testing::PrintToStringParamName());

TEST_P(StoreForReading, is_refused_where_its_file_is_older_than_its_log) {
  if (GetParam() != place::disk) GTEST_SKIP() << "it has no log";
  ASSERT_TRUE(fill());
  const std::string aside = home.name() + "-aside";
  const auto copy = [](const std::string& from, const std::string& to) {
    return std::system(("cp --sparse=always " + from + " " + to).c_str()) == 0;
  };
  ASSERT_TRUE(fs::create_directory(aside));
  ASSERT_TRUE(copy(home.file("store.pool"), aside + "/store.pool"));
  // Longer than the log: there is a checkpoint.
  db::WriteOptions synced;
  synced.sync = true;
  for (int i = 0; i < 48; ++i) {
    ASSERT_TRUE(home->Put(synced, std::to_string(i), std::string(std::size_t{1} << 20, 'x')).ok());
  }
  ASSERT_TRUE(copy(home.file("store.pool.redo"), aside + "/store.pool.redo"));
  home.close();
  fs::rename(aside + "/store.pool", home.file("store.pool"));
  fs::rename(aside + "/store.pool.redo", home.file("store.pool.redo"));
  const db::Status status = open_for_reading();
  EXPECT_TRUE(status.IsCorruption()) << status.ToString();
  EXPECT_NE(status.ToString().find("older than its redo log"), std::string::npos);
}

TEST_P(StoreForReading, shows_what_was_written) {
  make_store();
  home.options.paranoid_checks = true;
  ASSERT_EQ(open_for_reading().ToString(), "OK");
  EXPECT_EQ(content_of(*store), expected);
  EXPECT_EQ(value_of(*store, "1017"), "value of 1017");
  EXPECT_EQ(value_of(*store, "17"), "(none)");
  const db::Snapshot* const now = store->GetSnapshot();
  db::ReadOptions then;
  then.snapshot = now;
  EXPECT_EQ(value_of(*store, "1017", then), "value of 1017");
  store->ReleaseSnapshot(now);
  std::string text;
  EXPECT_TRUE(store->GetProperty("outlast.keys", &text));
  EXPECT_EQ(text, "300");
  EXPECT_TRUE(store->GetProperty("outlast.comparator", &text));
  EXPECT_EQ(text, "leveldb.BytewiseComparator");
  EXPECT_TRUE(store->GetProperty("outlast.guarantee", &text));
  EXPECT_NE(text.find(home.file("store.pool")), std::string::npos) << text;
  EXPECT_TRUE(store->GetProperty("outlast.file-bytes", &text));
  EXPECT_GT(std::stoull(text), 10'000U);
  store.reset();
  expect_no_change();
}

TEST_P(StoreForReading, shows_what_a_killed_process_has_left) {
  make_killed_store();
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(open_for_reading().ToString(), "OK");
    EXPECT_EQ(content_of(*store), expected);
    store.reset();
    expect_no_change();
  }
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(content_of(*home), expected);
}

/// As large as its file system, and beside others: its addresses are taken when it is read.
TEST_P(StoreForReading, lies_wherever_there_is_room) {
  home.more.capacity_bytes = std::size_t{40} << 30;
  make_killed_store();
  std::vector<std::unique_ptr<db::DB>> others;
  for (const char* const name : {"-a", "-b", "-c"}) {
    const std::string copy = home.name() + name;
    ASSERT_EQ(std::system(("cp -a --sparse=always " + home.name() + " " + copy).c_str()), 0);
    adopt(copy + "/store.pool");
    db::DB* opened = nullptr;
    ASSERT_EQ(db::DB::OpenForReading(home.options, copy, &opened).ToString(), "OK");
    others.emplace_back(opened);
  }
  ASSERT_EQ(open_for_reading().ToString(), "OK");
  EXPECT_EQ(content_of(*store), expected);
  store.reset();
  ASSERT_EQ(db::RepairDB(home.name(), home.options).ToString(), "OK");
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(content_of(*home), expected);
}

TEST_P(StoreForReading, takes_no_write) {
  make_store();
  ASSERT_EQ(open_for_reading().ToString(), "OK");
  const db::Status refused = store->Put({}, "key", "value");
  EXPECT_TRUE(refused.IsIOError()) << refused.ToString();
  EXPECT_NE(refused.ToString().find("open for reading only"), std::string::npos);
  EXPECT_TRUE(store->Delete({}, "1017").IsIOError());
  db::WriteBatch batch;
  batch.Put("key", "value");
  EXPECT_TRUE(store->Write({}, &batch).IsIOError());
  db::Transaction step(store.get());
  step.Put("key", "value");
  bool is_done = true;
  EXPECT_TRUE(step.Commit({}, &is_done).IsIOError());
  EXPECT_FALSE(is_done);
  store->CompactRange(nullptr, nullptr);
  EXPECT_EQ(content_of(*store), expected);
  store.reset();
  expect_no_change();
}

TEST_P(StoreForReading, is_not_made) {
  EXPECT_TRUE(open_for_reading().IsInvalidArgument());
  EXPECT_FALSE(fs::exists(home.name()));
}

TEST_P(StoreForReading, is_opened_by_one_at_a_time) {
  make_store();
  ASSERT_EQ(open_for_reading().ToString(), "OK");
  EXPECT_TRUE(home.open().IsIOError());
  store.reset();
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_TRUE(open_for_reading().IsIOError());
}

TEST_P(StoreForReading, is_refused_where_an_opening_would_be) {
  make_killed_store();
  pool_detail::test_hooks().boot = pool_format::boot_id{1, 2, 3};
  const db::Status torn = open_for_reading();
  pool_detail::test_hooks().boot.reset();
  EXPECT_EQ(torn.IsCorruption(), !home.is_on_disk()) << torn.ToString();
  store.reset();
  expect_no_change();
  if (!home.is_logged()) return;
  fs::rename(home.file("store.pool.redo"), home.name() + "-log");
  const db::Status missing = open_for_reading();
  EXPECT_TRUE(missing.IsCorruption()) << missing.ToString();
  EXPECT_NE(missing.ToString().find("missing"), std::string::npos) << missing.ToString();
}

TEST_P(StoreForReading, tells_of_damage) {
  make_store();
  ASSERT_GT(corrupt_bytes(home.file("store.pool"), "value of 1123", 9), 0);
  home.options.paranoid_checks = true;
  EXPECT_TRUE(open_for_reading().IsCorruption());
}

TEST_P(StoreForReading, by_an_order_of_a_programs_is_read_without_it) {
  const reverse order;
  home.options.comparator = &order;
  make_store();
  std::reverse(expected.begin(), expected.end());
  home.options.comparator = nullptr;
  home.options.paranoid_checks = true;
  ASSERT_EQ(open_for_reading().ToString(), "OK");
  std::string text;
  EXPECT_TRUE(store->GetProperty("outlast.comparator", &text));
  EXPECT_EQ(text, "test.reverse");
  if (home.has_records()) {
    // Its records have no order before it is opened with one.
    const std::unique_ptr<db::Iterator> at(store->NewIterator({}));
    at->SeekToFirst();
    EXPECT_FALSE(at->Valid());
    for (const db::Status& refused : {at->status(), store->Get({}, "1017", &text)}) {
      EXPECT_TRUE(refused.IsInvalidArgument()) << refused.ToString();
      EXPECT_NE(refused.ToString().find("'test.reverse'"), std::string::npos) << refused.ToString();
    }
    const db::Status copied = db::Checkpoint(store.get(), home.name() + "-copy");
    EXPECT_TRUE(copied.IsInvalidArgument()) << copied.ToString();
    store.reset();
    return expect_no_change();
  }
  EXPECT_EQ(content_of(*store), expected);
  const db::Status refused = store->Get({}, "1017", &text);
  EXPECT_TRUE(refused.IsInvalidArgument()) << refused.ToString();
  EXPECT_NE(refused.ToString().find("'test.reverse'"), std::string::npos) << refused.ToString();
  const std::unique_ptr<db::Iterator> at(store->NewIterator({}));
  at->Seek("1017");
  EXPECT_FALSE(at->Valid());
  EXPECT_TRUE(at->status().IsInvalidArgument());

  const std::string copy = home.name() + "-copy";
  ASSERT_EQ(db::Checkpoint(store.get(), copy).ToString(), "OK");
  home.options.comparator = &order;
  db::DB* opened = nullptr;
  ASSERT_EQ(db::DB::Open(home.options, copy, &opened).ToString(), "OK");
  const std::unique_ptr<db::DB> second(opened);
  EXPECT_EQ(content_of(*second), expected);
  EXPECT_EQ(value_of(*second, "1017"), "value of 1017");
  store.reset();
  expect_no_change();
}

TEST_P(StoreForReading, that_a_check_refuses_is_as_it_was) {
  make_store();
  ASSERT_GT(corrupt_bytes(home.file("store.pool"), "value of 1123", 9), 0);
  home.options.paranoid_checks = true;
  EXPECT_TRUE(home.open().IsCorruption());
  EXPECT_FALSE(is_dirty());
  EXPECT_FALSE(fs::exists(home.file("store.pool.redo")));
}

/// Of a refused opening nothing is left: neither a log nor a mark.
TEST_P(StoreForReading, with_another_comparator_is_as_it_was) {
  make_store();
  const reverse other;
  home.options.comparator = &other;
  const db::Status refused = open_for_reading();
  EXPECT_TRUE(refused.IsInvalidArgument()) << refused.ToString();
  expect_no_change();
  EXPECT_TRUE(home.open().IsInvalidArgument());
  EXPECT_FALSE(is_dirty());
  EXPECT_FALSE(fs::exists(home.file("store.pool.redo")));
  home.options.comparator = db::BytewiseComparator();
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(content_of(*home), expected);
}

}  // namespace
}  // namespace outlast::test
