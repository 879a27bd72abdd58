// Goal: if the process or the machine lacks a resource that a pool needs, an error states which,
// and no signal arrives and no file is left.
// Method: lowered limits; a child without /proc, and one with a small file system.
#include <outlast/domain.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/journal/redo_log.hpp>
#include <outlast/pool/pool.hpp>
#include <tests/support/reasons.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace outlast {
namespace {

namespace fs = std::filesystem;
using test::reason_of;
using test::temp_directory;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;
constexpr pool_options small{.size_bytes = mib, .capacity_bytes = 64 * mib};

/// Lowers a limit of the process while it lives.
class lowered {
 public:
  lowered(__rlimit_resource_t which, std::uint64_t limit) : which_(which) {
    ::getrlimit(which_, &before_);
    struct rlimit now = before_;
    now.rlim_cur = std::min<rlim_t>(limit, before_.rlim_max);
    ::setrlimit(which_, &now);
  }
  ~lowered() { ::setrlimit(which_, &before_); }
  lowered(const lowered&) = delete;
  lowered& operator=(const lowered&) = delete;

 private:
  __rlimit_resource_t which_;
  struct rlimit before_{};
};

/// What `action` says of its failure; "" if it does not fail.
template <class Action>
std::string sentence_of(errc expected, Action&& action) {
  try {
    action();
  } catch (const error& failure) {
    EXPECT_EQ(failure.reason(), expected) << failure.what();
    return failure.what();
  }
  return "";
}

/// Runs `work` in a child; how it ended. 77: the child may not do what it needs.
int in_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    int result = 3;
    try {
      result = work();
    } catch (const std::exception& failure) {
      (void)!::write(2, failure.what(), std::strlen(failure.what()));
    }
    ::_exit(result);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

constexpr int not_allowed = 77;

/// Mounts and roots of its own. False where the process may not have them.
bool leave_the_others() {
  const std::string user = "0 " + std::to_string(::geteuid()) + " 1";
  const std::string group = "0 " + std::to_string(::getegid()) + " 1";
  const bool is_root = ::geteuid() == 0;
  if (::unshare(is_root ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0) return false;
  const auto tell = [](const char* file, const std::string& text) {
    return static_cast<bool>(std::ofstream(file) << text << std::flush);
  };
  if (!is_root && !(tell("/proc/self/uid_map", user) && tell("/proc/self/setgroups", "deny") &&
                    tell("/proc/self/gid_map", group))) {
    return false;
  }
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

class Limits : public testing::Test {
 protected:
  void TearDown() override { pool_detail::test_hooks() = {}; }

  [[nodiscard]] bool folder_is_empty() const {
    return fs::is_empty(fs::path(directory_.file("p")).parent_path());
  }

  temp_directory directory_;
  std::string path_ = directory_.file("p");
};

TEST_F(Limits, of_files_are_named_when_a_pool_is_created) {
  const lowered files(RLIMIT_FSIZE, mib);
  const std::string sentence =
      sentence_of(errc::no_space, [&] { (void)pool::create(path_, {.size_bytes = 8 * mib}); });
  EXPECT_NE(sentence.find("RLIMIT_FSIZE"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("1048576"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("ulimit -f"), std::string::npos) << sentence;
  EXPECT_TRUE(folder_is_empty());
}

TEST_F(Limits, of_files_hold_where_the_file_system_does_not_allocate) {
  pool_detail::test_hooks().fallocate_fails = EOPNOTSUPP;
  auto target = pool::create(path_, small);
  const lowered files(RLIMIT_FSIZE, 3 * mib);
  EXPECT_EQ(reason_of([&] { target.grow(8 * mib); }), errc::no_space);
}

TEST_F(Limits, of_files_are_named_when_a_pool_grows_which_goes_on) {
  auto target = pool::create(path_, small);
  {
    const lowered files(RLIMIT_FSIZE, 3 * mib);
    const std::string sentence = sentence_of(errc::no_space, [&] { target.grow(8 * mib); });
    EXPECT_NE(sentence.find("RLIMIT_FSIZE"), std::string::npos) << sentence;
    EXPECT_EQ(target.size_bytes(), mib);
  }
  target.grow(8 * mib);
  target.close();
}

TEST_F(Limits, of_files_are_no_obstacle_to_a_mapping) {
  pool::create(path_, small).close();
  const lowered files(RLIMIT_FSIZE, mib / 2);
  auto target = pool::open(path_);
  (void)target.pages().allocate_run(pool_format::run_kind::large, 0, 1, 16,
                                    16 * pool_format::page_bytes);
  target.close();
}

TEST_F(Limits, of_files_are_named_where_a_log_would_write_beyond_them) {
  using pool_type = basic_pool<domain::logged_file>;
  pool_type::create(path_, small).close();
  const lowered files(RLIMIT_FSIZE, mib / 2);
  const std::string sentence = sentence_of(errc::no_space, [&] { (void)pool_type::open(path_); });
  EXPECT_NE(sentence.find("RLIMIT_FSIZE"), std::string::npos) << sentence;
}

TEST_F(Limits, of_files_are_named_when_a_log_is_created_and_nothing_is_left) {
  const lowered files(RLIMIT_FSIZE, 8 * mib);
  pool_options with_log = small;
  with_log.log_bytes = 16 * mib;
  const std::string sentence = sentence_of(
      errc::no_space, [&] { (void)basic_pool<domain::logged_file>::create(path_, with_log); });
  EXPECT_NE(sentence.find("RLIMIT_FSIZE"), std::string::npos) << sentence;
  EXPECT_TRUE(folder_is_empty());
}

TEST_F(Limits, of_address_space_are_named_and_no_file_is_left) {
  if (test::under_address_sanitizer || test::under_thread_sanitizer)
    GTEST_SKIP() << "takes address space of its own";
  const lowered space(RLIMIT_AS, 6144 * mib);
  const std::string sentence = sentence_of(errc::address_taken, [&] {
    (void)pool::create(
        path_, {.size_bytes = mib * 64, .capacity_bytes = 65536 * mib, .format_version = 1});
  });
  EXPECT_NE(sentence.find("RLIMIT_AS"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("6144 MiB"), std::string::npos) << sentence;
  EXPECT_TRUE(folder_is_empty());
}

TEST_F(Limits, that_are_not_set_are_not_named) {
  auto neighbour = pool::create(directory_.file("neighbour"), small);
  const std::string sentence = sentence_of(errc::address_taken, [&] {
    (void)pool::create(path_, {.size_bytes = mib, .base_address = neighbour.base()});
  });
  EXPECT_EQ(sentence.find("RLIMIT"), std::string::npos) << sentence;
}

class UnfinishedCreation : public Limits {};

TEST_F(UnfinishedCreation, by_options_that_cannot_be_leaves_nothing) {
  pool_options contradicting = small;
  contradicting.force_domain = domain::kind::adr;
  EXPECT_EQ(reason_of([&] { (void)basic_pool<domain::file>::create(path_, contradicting); }),
            errc::bad_argument);
  EXPECT_TRUE(folder_is_empty());
  EXPECT_EQ(reason_of([&] { (void)basic_pool<domain::logged_file>::create(path_, contradicting); }),
            errc::bad_argument);
  EXPECT_TRUE(folder_is_empty());
}

TEST_F(UnfinishedCreation, by_a_device_that_fails_leaves_nothing) {
  pool_detail::test_hooks().on_sync = [] { return EIO; };
  EXPECT_EQ(reason_of([&] { (void)basic_pool<domain::process>::create(path_, small); }),
            errc::io_failure);
  EXPECT_TRUE(folder_is_empty());
}

TEST_F(UnfinishedCreation, leaves_another_file_of_that_name_alone) {
  pool_detail::test_hooks().on_sync = [this] {
    fs::remove(path_);
    std::ofstream(path_) << "somebody else's";
    return EIO;
  };
  EXPECT_EQ(reason_of([&] { (void)basic_pool<domain::process>::create(path_, small); }),
            errc::io_failure);
  std::string content;
  std::getline(std::ifstream(path_), content);
  EXPECT_EQ(content, "somebody else's");
}

TEST_F(Limits, a_pool_is_created_and_opened_without_proc) {
  const std::string root = fs::path(path_).parent_path().string();
  const int end = in_child([&] {
    if (!leave_the_others() || ::chroot(root.c_str()) != 0 || ::chdir("/") != 0) return not_allowed;
    basic_pool<domain::process>::create("/p", small).close();
    basic_pool<domain::file>::create("/f", small).close();
    basic_pool<domain::logged_file>::create("/l", small).close();
    return basic_pool<domain::process>::open("/p").was_dirty() ? 1 : 0;
  });
  if (end == not_allowed) GTEST_SKIP() << "no root of one's own";
  EXPECT_EQ(end, 0);
  unsigned files = 0;
  for (const auto& each : fs::directory_iterator(root)) {
    EXPECT_EQ(each.path().filename().string().size(), 1u) << each.path();
    ++files;
  }
  EXPECT_EQ(files, 3u);
}

TEST_F(Limits, a_full_file_system_in_memory_is_an_error_and_no_signal) {
  const std::string root = fs::path(path_).parent_path().string();
  const int end = in_child([&] {
    if (!leave_the_others() || ::mount("tmpfs", root.c_str(), "tmpfs", 0, "size=1m") != 0) {
      return not_allowed;
    }
    auto target = basic_pool<domain::process>::create(path_, {.size_bytes = 8 * mib});
    try {
      for (;;) {
        constexpr std::size_t bytes = 16 * pool_format::page_bytes;
        void* const run =
            target.pages().allocate_run(pool_format::run_kind::large, 0, 1, 16, bytes);
        std::memset(run, 1, bytes);
      }
    } catch (const out_of_space&) {
    }
    target.close();
    std::string sentence = sentence_of(
        errc::no_space, [&] { (void)basic_pool<domain::process>::create(path_ + "2", small); });
    return sentence.empty() || fs::exists(path_ + "2") ? 2 : 0;
  });
  if (end == not_allowed) GTEST_SKIP() << "no mounts of one's own";
  EXPECT_EQ(end, 0);
}

}  // namespace
}  // namespace outlast
