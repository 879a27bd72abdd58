// Goal: a pool's file has the requested or the default permissions, and its log and shadow copy
// have those of the pool. The process's own settings do not change. Method: files, their modes, and
// a thread that creates other files meanwhile.
#include <outlast/base/error.hpp>
#include <outlast/domain.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/journal/redo_log.hpp>
#include <outlast/pool/pool.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace outlast {
namespace {

constexpr pool_options small{.size_bytes = 1 << 20, .capacity_bytes = 1 << 20};

unsigned mode_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777U;
}

/// With and without files that have no name at first.
class Permissions : public testing::TestWithParam<bool> {
 protected:
  Permissions() { pool_detail::test_hooks().no_unnamed_files = GetParam(); }
  ~Permissions() override {
    pool_detail::test_hooks().no_unnamed_files = false;
    ::umask(before_);
  }

  test::temp_directory directory;

 private:
  mode_t before_ = ::umask(022);
};
INSTANTIATE_TEST_SUITE_P(named, Permissions, testing::Bool(), testing::PrintToStringParamName());

TEST_P(Permissions, are_those_of_any_file) {
  for (const mode_t mask : {022U, 027U, 077U, 0U}) {
    ::umask(mask);
    const std::string path = directory.file("p" + std::to_string(mask));
    pool::create(path, small).close();
    EXPECT_EQ(mode_of(path), 0666U & ~mask);
  }
}

TEST_P(Permissions, are_exactly_those_that_were_asked_for) {
  for (const unsigned mode : {0600U, 0640U, 0664U}) {
    pool_options options = small;
    options.file_mode = mode;
    ::umask(077);
    const std::string path = directory.file("p" + std::to_string(mode));
    pool::create(path, options).close();
    EXPECT_EQ(mode_of(path), mode);
  }
}

TEST_P(Permissions, of_which_an_owner_can_make_no_use_are_refused) {
  for (const unsigned mode : {0400U, 0066U, 01600U, 0200U}) {
    pool_options options = small;
    options.file_mode = mode;
    try {
      (void)pool::create(directory.file("p"), options);
      ADD_FAILURE() << mode;
    } catch (const error& refused) {
      EXPECT_EQ(refused.reason(), errc::bad_argument);
      EXPECT_NE(std::string(refused.what()).find("file_mode"), std::string::npos) << refused.what();
    }
    EXPECT_NE(::access(directory.file("p").c_str(), F_OK), 0);
  }
}

TEST_P(Permissions, that_a_pool_exceeds_are_refused_at_its_opening) {
  const std::string path = directory.file("p");
  pool::create(path, small).close();
  pool_options options = small;
  options.file_mode = 0640;
  for (const mode_t mode : {0640U, 0600U}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_NO_THROW(pool::open(path, options).close());
    EXPECT_EQ(mode_of(path), mode);
  }
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  try {
    pool::open(path, options).close();
    ADD_FAILURE() << "opened";
  } catch (const error& refused) {
    const std::string what = refused.what();
    EXPECT_EQ(refused.reason(), errc::bad_argument);
    EXPECT_NE(what.find("file_mode is 0640, and the pool has the permissions 0644"), what.npos)
        << what;
  }
  EXPECT_NO_THROW(pool::open(path, small).close());
}

TEST_P(Permissions, of_a_log_are_the_pools) {
  using logged_pool = basic_pool<domain::logged_file>;
  logged_pool::create(directory.file("p"), small).close();
  for (const mode_t mode : {0600U, 0640U}) {
    ASSERT_EQ(::chmod(directory.file("p").c_str(), mode), 0);
    auto opened = logged_pool::open(directory.file("p"));
    EXPECT_EQ(mode_of(pool_detail::log_path_of(directory.file("p"))), mode);
    opened.close();
  }
}

/// The process's mask is one for all its threads.
TEST_P(Permissions, of_files_that_other_threads_make_stay_what_they_are) {
  ::umask(077);
  std::atomic<bool> over{false};
  std::atomic<int> open_to_all{0};
  std::jthread other([&] {
    const std::string path = directory.file("other");
    while (!over.load()) {
      const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
      struct stat status{};
      if (::fstat(file, &status) == 0 && (status.st_mode & 0777U) != 0600U) ++open_to_all;
      ::close(file);
      ::unlink(path.c_str());
    }
  });
  for (int i = 0; i < 500; ++i) {
    pool::create(directory.file("p"), small).close();
    ::unlink(directory.file("p").c_str());
  }
  over.store(true);
  other.join();
  EXPECT_EQ(open_to_all.load(), 0);
}

}  // namespace
}  // namespace outlast
