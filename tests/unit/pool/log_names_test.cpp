// Goal: a pool removes its own redo log and no other file, even if the names have changed.
// Method: files and directories renamed while the pool is open, and replaced by others.
#include <outlast/domain.hpp>
#include <outlast/pool/journal/redo_log.hpp>
#include <outlast/pool/pool.hpp>
#include <tests/support/failing_device.hpp>
#include <tests/support/memory_folder.hpp>
#include <tests/support/whole_file.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

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

class LogNames : public testing::Test {
 protected:
  LogNames() { std::filesystem::create_directory(directory()); }

  [[nodiscard]] std::filesystem::path directory() const { return folder_.path() / "pools"; }
  [[nodiscard]] std::filesystem::path moved() const { return folder_.path() / "moved"; }
  [[nodiscard]] static std::string pool_in(const std::filesystem::path& in) {
    return (in / "p").string();
  }
  [[nodiscard]] static std::string log_in(const std::filesystem::path& in) {
    return (in / "p.redo").string();
  }
  void move_directory() const {
    std::filesystem::rename(directory(), moved());
    std::filesystem::create_directory(directory());
  }

  test::scratch_folder folder_;
};

TEST_F(LogNames, a_close_leaves_the_log_of_a_pool_that_has_taken_the_name) {
  auto first = logged_pool::create(pool_in(directory()), small);
  test::keep_words(first);
  set(first, 0, 1);
  move_directory();
  {
    auto second = logged_pool::create(pool_in(directory()), small);
    set(second, 0, 2);
    first.close();
    EXPECT_TRUE(std::filesystem::exists(log_in(directory())));
    set(second, 1, 3);
  }
  auto second = logged_pool::open(pool_in(directory()), small);
  EXPECT_EQ(*word_at(second, 0), 2U);
  EXPECT_EQ(*word_at(second, 1), 3U);
  EXPECT_FALSE(std::filesystem::exists(log_in(moved()))) << "its own log has moved with it";
  auto again = logged_pool::open(pool_in(moved()), small);
  EXPECT_EQ(*word_at(again, 0), 1U);
}

TEST_F(LogNames, a_close_leaves_a_file_that_has_taken_the_logs_name) {
  auto pool = logged_pool::create(pool_in(directory()), small);
  set(pool, 0, 1);
  std::filesystem::remove(log_in(directory()));
  std::ofstream(log_in(directory())) << "theirs";
  pool.close();
  EXPECT_EQ(test::whole_file(log_in(directory())), "theirs");
}

TEST_F(LogNames, a_failed_opening_leaves_a_file_that_has_taken_the_logs_name) {
  {
    auto pool = logged_pool::create(pool_in(directory()), small);
  }
  std::filesystem::rename(log_in(directory()), log_in(directory()) + ".away");
  std::ofstream(log_in(directory())) << "theirs";
  EXPECT_THROW((void)logged_pool::open(pool_in(directory()), small), error);
  EXPECT_EQ(test::whole_file(log_in(directory())), "theirs");
}

TEST_F(LogNames, leaves_a_log_without_a_name_alone) {
  auto pool = logged_pool::create(pool_in(directory()), small);
  test::keep_words(pool);
  set(pool, 0, 1);
  std::filesystem::remove(log_in(directory()));
  EXPECT_NO_THROW(pool.close());
  auto again = logged_pool::open(pool_in(directory()), small);
  EXPECT_FALSE(again.was_dirty());
  EXPECT_EQ(*word_at(again, 0), 1U);
}

}  // namespace
}  // namespace outlast
