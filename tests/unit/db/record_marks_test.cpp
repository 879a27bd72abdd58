// Goal: a store of records on a disk has all writes that were synced, and never a write without
// those before it. Method: a file system in memory is taken for a disk, processes are killed, and
// the test chooses whether the machine has crashed.
#include <outlast/db/db.hpp>
#include <outlast/db/detail/engine.hpp>
#include <outlast/domain/file.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <src/db/records/format.hpp>
#include <tests/support/store_bytes.hpp>
#include <tests/support/store_home.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace outlast::test {
namespace {

using store_detail::records::mark_header;

class RecordMarks : public ::testing::Test {
 protected:
  RecordMarks() { home.more.max_unsynced_time = std::chrono::hours(1); }
  ~RecordMarks() override { pool_detail::test_hooks().boot.reset(); }

  static std::string key_of(int i) { return "key" + std::to_string(100'000 + i); }
  /// Writes keys in order in a process that is killed. `synced`: of these, each has waited.
  void write_and_kill(int from, int to, const std::vector<int>& synced) {
    ASSERT_TRUE(in_a_killed_process([&] {
      bool good = home.open().ok();
      for (int i = from; i < to; ++i) {
        db::WriteOptions how;
        how.sync = std::find(synced.begin(), synced.end(), i) != synced.end();
        good = good && home->Put(how, key_of(i), "value").ok();
      }
      return good;
    }));
  }
  /// The machine crashes, and the disk has everything that the kernel had.
  static void crash_the_machine() {
    static std::uint8_t boots = 0;
    pool_detail::test_hooks().boot = pool_format::boot_id{1, 2, ++boots};
  }
  void expect_keys(int count) {
    ASSERT_EQ(home.open().ToString(), "OK");
    const entries found = content_of(*home);
    EXPECT_EQ(found.size(), static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].first, key_of(static_cast<int>(i)));
    }
  }
  /// Changes a byte of each mark with a number in [from, to). Returns how many there were.
  int damage_marks(std::uint64_t from, std::uint64_t to) {
    std::string bytes = bytes_of_file();
    constexpr std::uint64_t magic = mark_header::right_magic;
    const std::string_view wanted(reinterpret_cast<const char*>(&magic), sizeof magic);
    int found = 0;
    for (std::size_t at = 0; (at = bytes.find(wanted, at)) != std::string::npos; at += 8) {
      std::uint64_t number = 0;
      std::memcpy(&number, bytes.data() + at + offsetof(mark_header, number), sizeof number);
      if (number < from || number >= to) continue;
      std::fstream file(home.file("store.pool"), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<std::streamoff>(at + offsetof(mark_header, count)));
      file.put('\x5a');
      ++found;
    }
    return found;
  }
  std::uint64_t newest_mark() {
    const std::string bytes = bytes_of_file();
    constexpr std::uint64_t magic = mark_header::right_magic;
    const std::string_view wanted(reinterpret_cast<const char*>(&magic), sizeof magic);
    std::uint64_t newest = 0;
    for (std::size_t at = 0; (at = bytes.find(wanted, at)) != std::string::npos; at += 8) {
      std::uint64_t number = 0;
      std::memcpy(&number, bytes.data() + at + offsetof(mark_header, number), sizeof number);
      newest = std::max(newest, number);
    }
    return newest;
  }
  /// Returns the offsets of the marks in a file, the older one first.
  static std::vector<std::size_t> places_of_marks(const std::string& bytes) {
    constexpr std::uint64_t magic = mark_header::right_magic;
    const std::string_view wanted(reinterpret_cast<const char*>(&magic), sizeof magic);
    const auto number_at = [&](std::size_t at) {
      std::uint64_t number = 0;
      std::memcpy(&number, bytes.data() + at + offsetof(mark_header, number), sizeof number);
      return number;
    };
    std::vector<std::size_t> places;
    for (std::size_t at = 0; (at = bytes.find(wanted, at)) != std::string::npos; at += 8) {
      places.push_back(at);
    }
    std::sort(places.begin(), places.end(), [&](std::size_t one, std::size_t other) {
      return number_at(one) < number_at(other);
    });
    return places;
  }
  std::string bytes_of_file() const {
    std::ifstream file(home.file("store.pool"), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  store_home home{place::record_disk};
};

TEST_F(RecordMarks, a_kill_loses_nothing) {
  write_and_kill(0, 1000, {400});
  expect_keys(1000);
}

TEST_F(RecordMarks, a_crash_of_the_machine_leaves_what_was_synced) {
  write_and_kill(0, 1000, {400});
  crash_the_machine();
  expect_keys(401);
  home.close();
  expect_keys(401);
}

TEST_F(RecordMarks, what_a_crash_has_removed_never_comes_back) {
  write_and_kill(0, 1000, {400});
  crash_the_machine();
  ASSERT_TRUE(in_a_killed_process([&] { return home.open().ok(); }));
  expect_keys(401);
  home.close();
  crash_the_machine();
  expect_keys(401);
}

TEST_F(RecordMarks, an_opening_makes_durable_what_a_kill_has_left) {
  write_and_kill(0, 1000, {400});
  ASSERT_TRUE(in_a_killed_process([&] { return home.open().ok(); }));
  crash_the_machine();
  expect_keys(1000);
}

TEST_F(RecordMarks, a_mark_whose_sync_was_not_completed_does_not_count) {
  write_and_kill(0, 1000, {400, 700});
  ASSERT_EQ(damage_marks(newest_mark(), ~std::uint64_t{0}), 1);
  crash_the_machine();
  expect_keys(401);
}

TEST_F(RecordMarks, a_mark_does_not_count_if_one_of_its_records_is_missing) {
  write_and_kill(0, 1000, {400, 700});
  ASSERT_GT(corrupt_bytes(home.file("store.pool"), key_of(500), 2), 0);
  crash_the_machine();
  expect_keys(401);
}

TEST_F(RecordMarks, a_record_of_the_older_mark_is_not_silently_absent) {
  write_and_kill(0, 1000, {400, 700});
  ASSERT_GT(corrupt_bytes(home.file("store.pool"), key_of(300), 2), 0);
  crash_the_machine();
  EXPECT_TRUE(home.open().IsCorruption());
  EXPECT_EQ(db::RepairDB(home.name(), home.options).ToString(), "OK");
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(value_of(*home, key_of(299)), "value");
  EXPECT_EQ(value_of(*home, key_of(300)), "(none)");
  EXPECT_EQ(value_of(*home, key_of(301)), "value");
}

TEST_F(RecordMarks, a_store_without_an_intact_mark_is_damaged) {
  write_and_kill(0, 1000, {400, 700});
  ASSERT_EQ(damage_marks(0, ~std::uint64_t{0}), 2);
  const db::Status status = home.open();
  EXPECT_TRUE(status.IsCorruption()) << status.ToString();
  EXPECT_NE(status.ToString().find("no intact mark"), std::string::npos) << status.ToString();
  EXPECT_EQ(db::RepairDB(home.name(), home.options).ToString(), "OK");
  expect_keys(1000);
}

TEST_F(RecordMarks, stores_are_read_as_they_would_be_opened) {
  write_and_kill(0, 1000, {400});
  crash_the_machine();
  const std::string before = bytes_of_file();
  db::DB* opened = nullptr;
  ASSERT_EQ(db::DB::OpenForReading(home.options, home.name(), &opened).ToString(), "OK");
  EXPECT_EQ(content_of(*opened).size(), 401U);
  delete opened;
  EXPECT_TRUE(bytes_of_file() == before);
}

TEST_F(RecordMarks, a_closed_store_needs_no_boot) {
  ASSERT_EQ(home.open().ToString(), "OK");
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(home->Put({}, key_of(i), "value").ok());
  home.close();
  crash_the_machine();
  expect_keys(1000);
}

/// A store of a disk moves to memory, where each write is durable by itself, and back.
TEST_F(RecordMarks, marks_are_gone_where_each_write_is_durable) {
  write_and_kill(0, 1000, {400});
  pool_detail::test_hooks().everything_is_a_disk = false;
  ASSERT_TRUE(in_a_killed_process([&] {
    bool good = home.open().ok();
    for (int i = 1000; i < 1100; ++i) good = good && home->Put({}, key_of(i), "value").ok();
    return good;
  }));
  EXPECT_EQ(newest_mark(), 0U);
  expect_keys(1100);
  home.close();
  pool_detail::test_hooks().everything_is_a_disk = true;
  expect_keys(1100);
  home.close();
  EXPECT_GT(newest_mark(), 0U);
}

/// A crash in the removal of the marks leaves one of these states.
TEST_F(RecordMarks, a_removal_that_was_interrupted_is_completed) {
  write_and_kill(0, 1000, {400});
  pool_detail::test_hooks().everything_is_a_disk = false;
  std::string bytes = bytes_of_file();
  const std::vector<std::size_t> marks = places_of_marks(bytes);
  ASSERT_EQ(marks.size(), 2U);
  constexpr std::size_t check = offsetof(mark_header, check);
  for (const std::size_t word : {marks[0] + check, marks[0], marks[1], marks[1] + check}) {
    bytes.replace(word, sizeof(std::uint64_t), sizeof(std::uint64_t), '\0');
    std::ofstream(home.file("store.pool"), std::ios::binary) << bytes;
    expect_keys(1000);
    home.close();
  }
}

TEST_F(RecordMarks, a_window_ends_by_itself) {
  home.more.max_unsynced_time = std::chrono::milliseconds(1);
  ASSERT_TRUE(in_a_killed_process([&] {
    bool good = home.open().ok();
    for (int i = 0; i < 100; ++i) good = good && home->Put({}, key_of(i), "value").ok();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return good;
  }));
  crash_the_machine();
  expect_keys(100);
}

TEST_F(RecordMarks, a_failed_device_accepts_no_more_writes) {
  ASSERT_EQ(home.open().ToString(), "OK");
  db::WriteOptions synced;
  synced.sync = true;
  ASSERT_EQ(home->Put(synced, key_of(0), "value").ToString(), "OK");
  domain::file::fail_next_syncs(1, EIO);
  const db::Status failed = home->Put(synced, key_of(1), "value");
  EXPECT_TRUE(failed.IsIOError()) << failed.ToString();
  domain::file::fail_next_syncs(0, 0);
  for (const bool syncs : {false, true}) {
    synced.sync = syncs;
    const db::Status later = home->Put(synced, key_of(2), "value");
    EXPECT_TRUE(later.IsIOError()) << later.ToString();
    EXPECT_NE(later.ToString().find("store.pool"), std::string::npos) << later.ToString();
  }
  EXPECT_EQ(value_of(*home, key_of(0)), "value");
  home.close();
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(value_of(*home, key_of(0)), "value");
  EXPECT_EQ(value_of(*home, key_of(2)), "(none)");
}

}  // namespace
}  // namespace outlast::test
