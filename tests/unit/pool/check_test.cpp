// Goal: a check of a pool changes nothing, not even the space that it takes, and does not rely on a
// file system's unreliable answers.
// Method: pools whose tables are nearly all holes, on a file system in memory if there is one.
#include <outlast/domain.hpp>
#include <outlast/pool/check.hpp>
#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/pool.hpp>
#include <tests/support/memory_folder.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace outlast {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;
constexpr long fuse = 0x65735546;

class Check : public testing::Test {
 protected:
  void TearDown() override { pool_detail::test_hooks() = {}; }

  [[nodiscard]] long blocks() const {
    struct stat status{};
    EXPECT_EQ(::stat(path_.c_str(), &status), 0);
    return static_cast<long>(status.st_blocks);
  }
  static constexpr pool_options large{.size_bytes = 6144 * mib, .capacity_bytes = 16384 * mib};
  /// A region of 4 GiB without content: 64 MiB of its lines are a hole.
  static void reserve(basic_pool<domain::process>& target) {
    (void)target.reserve_region("wide", region_kind::replicas, 2048 * mib, 2);
    (void)target.reserve_region("behind", region_kind::log, 4096);
  }
  void expect_sound_and_untouched() {
    const long before = blocks();
    for (const pool_format::finding& one : pool_format::check_file(path_)) {
      EXPECT_NE(one.level, pool_format::severity::error) << one.sentence;
    }
    EXPECT_EQ(blocks(), before);
  }

  test::scratch_folder folder_;
  std::string path_ = (folder_.path() / "pool").string();
};

TEST_F(Check, of_a_closed_pool_takes_no_space) {
  auto target = basic_pool<domain::process>::create(path_, large);
  reserve(target);
  target.close();
  expect_sound_and_untouched();
}

TEST_F(Check, of_an_open_pool_takes_no_space) {
  auto target = basic_pool<domain::process>::create(path_, large);
  reserve(target);
  expect_sound_and_untouched();
  const long before = blocks();
  for (const pool_format::finding& one : target.check()) {
    EXPECT_NE(one.level, pool_format::severity::error) << one.sentence;
  }
  EXPECT_EQ(blocks(), before);
}

TEST_F(Check, finds_what_lies_behind_a_hole) {
  {
    auto target = basic_pool<domain::process>::create(path_, large);
    reserve(target);
    auto& pages = target.pages();
    const std::uint32_t far = pages.limit() - 1;
    const pool_format::run_word wrong{pool_format::run_kind::large, 1, 0, 77};
    pages.line(far).word.store(wrong.pack());
  }
  EXPECT_TRUE(pool_format::has_errors(pool_format::check_file(path_)));
}

TEST_F(Check, of_a_file_without_a_pool_takes_no_space) {
  const pool_detail::unique_fd file(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::ftruncate(file.get(), 64 * mib), 0);
  const long before = blocks();
  EXPECT_TRUE(pool_format::has_errors(pool_format::check_file(path_)));
  EXPECT_EQ(blocks(), before);
}

/// Its answers need not know what is in the cache alone.
TEST_F(Check, an_unknown_file_system_is_synced_before_it_is_asked_what_it_stores) {
  const pool_options small{.size_bytes = mib};
  (void)basic_pool<domain::process>::create(path_, small);
  int syncs = 0;
  pool_detail::test_hooks().on_sync = [&] {
    ++syncs;
    return 0;
  };
  (void)basic_pool<domain::process>::open(path_);
  EXPECT_EQ(syncs, 0);
  pool_detail::test_hooks().file_system = fuse;
  const auto opened = basic_pool<domain::process>::open(path_);
  EXPECT_EQ(syncs, 1);
  (void)pool_format::check_file(path_);
  EXPECT_GE(syncs, 2);
}

}  // namespace
}  // namespace outlast
