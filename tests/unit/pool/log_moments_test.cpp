// Goal: a pool's file and a redo log of different moments of one session are refused; those of one
// moment are accepted, whatever the moment.
// Method: a device that copies both files at each of its steps, and all pairs of the copies; copies
// of a live pool by hand; a log as the first version wrote it.
#include <outlast/domain.hpp>
#include <outlast/pool/journal/redo_log.hpp>
#include <outlast/pool/pool.hpp>
#include <tests/support/failing_device.hpp>
#include <tests/support/memory_folder.hpp>
#include <tests/support/mixed_snapshots.hpp>
#include <tests/support/whole_file.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace outlast {
namespace {

using domain::logged_file;
using logged_pool = basic_pool<logged_file>;
using test::word_at;

constexpr pool_options small{
    .size_bytes = 1 << 20, .capacity_bytes = 4 << 20, .log_bytes = 64 << 10};

void set(logged_pool& pool, std::uint64_t page, std::uint64_t value) {
  std::uint64_t* const at = word_at(pool, page);
  *at = value;
  domain::persist<logged_file>(at, sizeof *at);
}

class LogMoments : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return (folder_.path() / "p").string(); }
  [[nodiscard]] std::string copy() const { return (folder_.path() / "copy").string(); }

  static void copy_file(const std::string& from, const std::string& to) {
    std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
  }
  void copy_pool() const { copy_file(path(), copy()); }
  void copy_log() const { copy_file(log_of(path()), log_of(copy())); }
  [[nodiscard]] static std::string log_of(const std::string& pool) { return pool + ".redo"; }

  /// Why the copies are refused.
  [[nodiscard]] std::optional<errc> refusal(const pool_options& options = small) {
    try {
      auto pool = logged_pool::open(copy(), options);
    } catch (const error& failure) {
      said_ = failure.what();
      return failure.reason();
    }
    return std::nullopt;
  }
  void expect_both_names() const {
    EXPECT_NE(said_.find(copy() + ":"), std::string::npos) << said_;
    EXPECT_NE(said_.find(log_of(copy())), std::string::npos) << said_;
  }

  test::scratch_folder folder_;
  std::string said_;
};

TEST_F(LogMoments, of_all_steps_do_not_pass_for_one) {
  EXPECT_EQ(test::complaint_of_mixed_snapshots(path()), "");
}

TEST_F(LogMoments, a_log_that_was_copied_after_a_checkpoint_does_not_fit_an_earlier_file) {
  auto pool = logged_pool::create(path(), small);
  for (std::uint64_t page = 0; page < 20; ++page) set(pool, page, 1);
  copy_pool();
  for (std::uint64_t page = 0; page < 20; ++page) set(pool, page, 2);
  logged_file::checkpoint(word_at(pool, 0));
  copy_log();
  EXPECT_EQ(refusal(), errc::corrupted);
  expect_both_names();
  set(pool, 3, 3);
  copy_log();
  EXPECT_EQ(refusal(), errc::corrupted);
}

TEST_F(LogMoments, a_file_that_was_copied_after_a_checkpoint_does_not_fit_an_earlier_log) {
  auto pool = logged_pool::create(path(), small);
  set(pool, 0, 1);
  copy_log();
  set(pool, 0, 2);
  set(pool, 1, 2);
  logged_file::checkpoint(word_at(pool, 0));
  copy_pool();
  EXPECT_EQ(refusal(), errc::corrupted);
  expect_both_names();
}

TEST_F(LogMoments, an_older_file_is_refused_beside_the_log_that_a_kill_left) {
  {
    auto pool = logged_pool::create(path(), small);
    set(pool, 0, 1);
    copy_pool();
    set(pool, 1, 1);
    logged_file::checkpoint(word_at(pool, 0));
    set(pool, 0, 2);
    copy_log();
  }
  EXPECT_EQ(refusal(), errc::corrupted);
  copy_pool();
  auto pool = logged_pool::open(copy(), small);
  EXPECT_EQ(*word_at(pool, 0), 2U);
  EXPECT_EQ(*word_at(pool, 1), 1U);
}

TEST_F(LogMoments, a_log_is_not_applied_to_a_file_that_went_on_without_it) {
  {
    auto pool = logged_pool::create(path(), small);
    set(pool, 0, 1);
    copy_log();
  }
  {
    auto pool = basic_pool<domain::process>::open(path());
    *word_at(pool, 0) = 2;
    pool.close();
  }
  copy_pool();
  EXPECT_EQ(refusal(), errc::corrupted);
  expect_both_names();
}

TEST_F(LogMoments, both_files_of_a_quiet_moment_are_the_pool) {
  auto pool = logged_pool::create(path(), small);
  std::vector<std::uint64_t> offsets;  // of words, whatever the pool's size
  for (std::uint64_t page = 0; page < 7; ++page) {
    offsets.push_back(reinterpret_cast<std::uintptr_t>(word_at(pool, page)) - pool.base());
  }
  const auto word_in = [&](logged_pool& of, std::uint64_t value) {
    return reinterpret_cast<std::uint64_t*>(of.base() + offsets[value % offsets.size()]);
  };
  for (std::uint64_t value = 1; value <= 60; ++value) {
    *word_in(pool, value) = value;
    domain::persist<logged_file>(word_in(pool, value), sizeof value);
    if (value % 11 == 0) pool.grow(pool.size_bytes() + (64 << 10));
    copy_pool();
    copy_log();
    auto found = logged_pool::open(copy(), small);
    ASSERT_EQ(found.size_bytes(), pool.size_bytes());
    for (std::uint64_t last = value; last + 7 > value && last != 0; --last) {
      ASSERT_EQ(*word_in(found, last), last);
    }
    if (value % 2 == 0) found.close();
    std::filesystem::remove(log_of(copy()));
  }
}

/// Makes the log of a killed pool what version 1 had: there the generation of the pool's file does
/// not count batches.
void make_version_1(const std::string& log) {
  std::string content = test::whole_file(log);
  pool_format::log_header header;
  std::memcpy(&header, content.data(), sizeof header);
  header.format_version = 1;
  pool_format::seal(header);
  std::memcpy(content.data(), &header, sizeof header);
  std::ofstream(log, std::ios::binary | std::ios::trunc) << content;
}
void give_generation(const std::string& pool, std::uint64_t generation) {
  std::string content = test::whole_file(pool);
  for (const std::size_t offset : pool_format::slot_offsets) {
    pool_format::state_slot slot;
    std::memcpy(&slot, &content[offset], sizeof slot);
    slot.generation = generation;
    pool_format::seal(slot);
    std::memcpy(&content[offset], &slot, sizeof slot);
  }
  std::ofstream(pool, std::ios::binary | std::ios::trunc) << content;
}

TEST_F(LogMoments, a_log_of_the_first_version_is_brought_in_and_becomes_one_of_this) {
  {
    auto pool = logged_pool::create(path(), small);
    for (std::uint64_t value = 1; value <= 5; ++value) set(pool, value, value);
  }
  make_version_1(log_of(path()));
  give_generation(path(), 1'000);  // no count of batches
  {
    auto pool = logged_pool::open(path(), small);
    for (std::uint64_t value = 1; value <= 5; ++value) EXPECT_EQ(*word_at(pool, value), value);
    set(pool, 6, 6);
  }
  copy_pool();
  copy_log();
  auto pool = logged_pool::open(path(), small);
  EXPECT_EQ(*word_at(pool, 6), 6U);
  logged_file::checkpoint(word_at(pool, 0));
  copy_log();
  EXPECT_EQ(refusal(), errc::corrupted);
}

}  // namespace
}  // namespace outlast
