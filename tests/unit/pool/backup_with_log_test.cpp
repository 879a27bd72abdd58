// Goal: a backup of a pool with a log has the state of one moment, in its file alone, although
// checkpoints and the logs of transactions change the pool's file during the copy.
// Method: the receiver of a stream makes all changes after the moment of the copy and before the
// first chunk is read. No change may be in the copy, and every earlier one must be.
#include <outlast/base/error.hpp>
#include <outlast/domain.hpp>
#include <outlast/pool/check.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/tx/redo_opt.hpp>
#include <tests/support/failing_device.hpp>
#include <tests/support/reasons.hpp>
#include <tests/support/streamed_backup.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

namespace outlast {
namespace {

namespace fs = std::filesystem;
using domain::logged_file;
using logged_pool = basic_pool<logged_file>;
using test::reason_of;
using test::stream_to_file;
using test::word_at;

constexpr std::uint64_t words = 1500;  // in pages of their own, more than there is memory for
constexpr pool_options roomy{
    .size_bytes = 64 << 20, .log_bytes = 1 << 20, .per_operation_device_sync = true};

struct counters {
  tx::field<std::uint64_t> first;
  tx::field<std::uint64_t> last;
};
using manager = tx::redo_opt<logged_file>;
/// No thread syncs or writes back the updates.
constexpr tx::options for_ever{.replica_bytes = std::size_t{1} << 20,
                               .replicas = 3,
                               .max_unsynced_time = std::chrono::hours(1)};

void add_one(manager& in) {
  in.update(in.root<counters>("counters"), [](counters& at) {
    at.first += 1;
    at.last += 1;
  });
}

template <class Manager>
std::uint64_t value_in(Manager& of) {
  return of.read(of.template root<counters>("counters"), [](const counters& at) {
    return at.first.get() == at.last.get() ? at.first.get() : ~std::uint64_t{0};
  });
}

class BackupWithLog : public testing::Test {
 protected:
  /// Stores durably.
  static void store(logged_pool& to, std::uint64_t value, std::uint64_t count = words) {
    for (std::uint64_t i = 0; i < count; ++i) {
      *word_at(to, i) = value;
      domain::flush<logged_file>(word_at(to, i), sizeof value);
    }
    domain::fence<logged_file>();
  }
  template <class Pool>
  static void expect_words(Pool& in, std::uint64_t value) {
    for (std::uint64_t i = 0; i < words; ++i) ASSERT_EQ(*word_at(in, i), value) << i;
  }
  void expect_sound(const std::string& path) {
    EXPECT_FALSE(pool_format::has_errors(pool_format::check_file(path)));
    EXPECT_FALSE(fs::exists(path + ".redo"));
  }
  test::temp_directory directory_;
  std::string path_ = directory_.file("pool");
  std::string copy_ = directory_.file("copy");
  logged_pool pool_ = logged_pool::create(path_, roomy);
};

TEST_F(BackupWithLog, has_all_that_was_fenced_before) {
  store(pool_, 1);
  logged_file::checkpoint(word_at(pool_, 0));
  store(pool_, 2);
  const backup_result result = pool_.backup(copy_);
  EXPECT_EQ(result.length_bytes, fs::file_size(copy_));
  expect_sound(copy_);
  auto copy = logged_pool::open(copy_);
  EXPECT_TRUE(copy.was_dirty());
  expect_words(copy, 2);
  store(pool_, 3);
  pool_.close();
  expect_words(copy, 2);
}

TEST_F(BackupWithLog, opens_under_other_domains) {
  store(pool_, 1);
  pool_.backup(copy_);
  auto copy = basic_pool<domain::process>::open(copy_);
  EXPECT_TRUE(copy.was_dirty());
  expect_words(copy, 1);
}

TEST_F(BackupWithLog, has_nothing_that_is_fenced_later) {
  store(pool_, 1);
  const backup_result result = stream_to_file(pool_, copy_, [&] {
    for (std::uint64_t value = 2; value < 5; ++value) {
      store(pool_, value);
      logged_file::checkpoint(word_at(pool_, 0));
    }
  });
  EXPECT_GE(result.waits, words * pool_format::page_bytes / result.chunk_bytes);
  expect_words(pool_, 4);
  expect_sound(copy_);
  auto copy = basic_pool<domain::process>::open(copy_);
  expect_words(copy, 1);
  EXPECT_EQ(std::distance(fs::directory_iterator(fs::path(path_).parent_path()), {}), 3);
}

TEST_F(BackupWithLog, has_updates_that_no_thread_has_synced) {
  manager accounts(pool_, "accounts", for_ever);
  add_one(accounts);
  accounts.sync();
  add_one(accounts);
  pool_.backup(copy_);
  expect_sound(copy_);
  auto copy = basic_pool<domain::process>::open(copy_);
  tx::redo_opt<domain::process> found(copy, "accounts");
  EXPECT_EQ(value_in(found), 2u);
}

TEST_F(BackupWithLog, has_no_later_updates) {
  manager accounts(pool_, "accounts", for_ever);
  add_one(accounts);
  stream_to_file(pool_, copy_, [&] {
    // The log of the transactions is full repeatedly, and its records are written back.
    for (int i = 0; i < 3000; ++i) add_one(accounts);
    accounts.sync();
    logged_file::checkpoint(word_at(pool_, 0));
    for (int i = 0; i < 10; ++i) add_one(accounts);
  });
  EXPECT_EQ(value_in(accounts), 3011u);
  expect_sound(copy_);
  auto copy = basic_pool<domain::process>::open(copy_);
  tx::redo_opt<domain::process> found(copy, "accounts");
  EXPECT_EQ(value_in(found), 1u);
}

TEST_F(BackupWithLog, has_no_updates_of_managers_that_are_opened_meanwhile) {
  std::optional<manager> accounts(std::in_place, pool_, "accounts", for_ever);
  add_one(*accounts);
  accounts.reset();
  stream_to_file(pool_, copy_, [&] {
    accounts.emplace(pool_, "accounts", for_ever);
    for (int i = 0; i < 100; ++i) add_one(*accounts);
    manager others(pool_, "others", for_ever);
    add_one(others);
  });
  EXPECT_EQ(value_in(*accounts), 101u);
  auto copy = basic_pool<domain::process>::open(copy_);
  tx::redo_opt<domain::process> found(copy, "accounts");
  EXPECT_EQ(value_in(found), 1u);
  for (const root_info& each : copy.roots()) EXPECT_EQ(each.name.find("others"), std::string::npos);
}

TEST_F(BackupWithLog, has_roots_whose_space_gets_a_log_of_transactions) {
  constexpr std::uint32_t pages = 2048;
  constexpr std::size_t bytes = pages * pool_format::page_bytes;
  const attached_root root = pool_.attach_root("run", "run", 1, true);
  void* const run =
      pool_.pages().allocate_run(pool_format::run_kind::large, root.index, 1, pages, bytes);
  std::memset(run, 7, bytes);
  domain::flush<logged_file>(run, bytes);
  domain::fence<logged_file>();
  pool_.publish_root(root.index, run);
  pool_.detach_root(root.index, false);
  bool is_in_its_space = false;
  stream_to_file(pool_, copy_, [&] {
    pool_.drop_root("run");
    manager accounts(pool_, "accounts", for_ever);
    for (int i = 0; i < 3000; ++i) add_one(accounts);
    for (const region_info& each : pool_.regions()) {
      const std::byte* const first = static_cast<std::byte*>(run);
      is_in_its_space |= each.kind == region_kind::log && each.address >= first &&
                         each.address + each.bytes <= first + bytes;
    }
  });
  ASSERT_TRUE(is_in_its_space);
  auto copy = basic_pool<domain::process>::open(copy_);
  const attached_root found = copy.attach_root("run", "run", 1, true);
  const auto* const in_copy = reinterpret_cast<const std::byte*>(copy.base() + found.object_offset);
  EXPECT_EQ(std::count(in_copy, in_copy + bytes, std::byte{7}), std::ptrdiff_t{bytes});
}

/// The state of one moment: one thread makes each number durable in one word and then in the next.
TEST_F(BackupWithLog, has_the_state_of_one_moment) {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> durable{0};
  manager accounts(pool_, "accounts", for_ever);
  std::jthread running([&] {
    for (std::uint64_t number = 1; !stop.load(); ++number) {
      for (const std::uint64_t word : {0, 700, 1400}) {
        *word_at(pool_, word) = number;
        domain::persist<logged_file>(word_at(pool_, word), sizeof number);
      }
      add_one(accounts);
      durable.store(number);
    }
  });
  for (int i = 0; i < 6; ++i) {
    const std::uint64_t begin = durable.load();
    while (durable.load() < begin + 20) std::this_thread::yield();
    const std::uint64_t before = durable.load();
    const std::string path = directory_.file("copy" + std::to_string(i));
    pool_.backup(path);
    const std::uint64_t after = durable.load() + 1;
    expect_sound(path);
    auto copy = basic_pool<domain::process>::open(path);
    std::uint64_t last = *word_at(copy, 0);
    EXPECT_LE(last, after);
    for (const std::uint64_t word : {700, 1400}) {
      const std::uint64_t here = *word_at(copy, word);
      EXPECT_TRUE(here == last || here + 1 == last) << here << " after " << last;
      last = here;
    }
    tx::redo_opt<domain::process> found(copy, "accounts");
    const std::uint64_t here = value_in(found);
    EXPECT_TRUE(here == last || here + 1 == last) << here << " after " << last;
    EXPECT_GE(here, before);
  }
  stop.store(true);
}

TEST_F(BackupWithLog, leaves_holes_as_they_are) {
  store(pool_, 1);
  pool_.backup(copy_);
  struct stat first{};
  struct stat second{};
  ASSERT_EQ(::stat(path_.c_str(), &first), 0);
  ASSERT_EQ(::stat(copy_.c_str(), &second), 0);
  EXPECT_EQ(first.st_size, second.st_size);
  EXPECT_LE(second.st_blocks, first.st_blocks);
}

TEST_F(BackupWithLog, replaces_no_log) {
  std::ofstream(copy_ + ".redo") << "something";
  EXPECT_EQ(reason_of([&] { pool_.backup(copy_); }), errc::already_exists);
  EXPECT_FALSE(fs::exists(copy_));
}

TEST_F(BackupWithLog, fails_with_its_device_and_leaves_no_file) {
  store(pool_, 1);
  for (std::uint64_t step = 0;; ++step) {
    SCOPED_TRACE(step);
    const std::string path = directory_.file("failing" + std::to_string(step));
    auto failing = logged_pool::create(path, roomy);
    store(failing, 2, 20);
    const test::failing_device device(step);
    try {
      failing.backup(copy_);
    } catch (const error& failure) {
      EXPECT_EQ(failure.reason(), errc::io_failure);
      EXPECT_FALSE(fs::exists(copy_));
      EXPECT_EQ(reason_of([&] { store(failing, 3, 1); }), errc::io_failure);
      continue;
    }
    EXPECT_GT(step, 20u);
    expect_sound(copy_);
    break;
  }
}

TEST_F(BackupWithLog, that_is_refused_leaves_the_log_as_it_is) {
  store(pool_, 1);
  std::ofstream(copy_) << "something";
  EXPECT_EQ(reason_of([&] { pool_.backup(copy_); }), errc::already_exists);
  store(pool_, 2, words / 2);
  EXPECT_EQ(reason_of([&] { pool_.backup(copy_); }), errc::already_exists);
  store(pool_, 3, words / 4);
  fs::remove(copy_);
  pool_.backup(copy_);
  auto copy = basic_pool<domain::process>::open(copy_);
  for (std::uint64_t i = 0; i < words; ++i) {
    ASSERT_EQ(*word_at(copy, i), i < words / 4 ? 3u : i < words / 2 ? 2u : 1u) << i;
  }
}

TEST_F(BackupWithLog, that_fails_leaves_the_pool_in_use) {
  store(pool_, 1);
  const auto failing = [](const std::byte*, std::size_t) { throw std::runtime_error("full"); };
  EXPECT_THROW(pool_.backup(failing), std::runtime_error);
  store(pool_, 2);
  logged_file::checkpoint(word_at(pool_, 0));
  pool_.backup(copy_);
  auto copy = basic_pool<domain::process>::open(copy_);
  expect_words(copy, 2);
}

}  // namespace
}  // namespace outlast
