// Goal: a forked child can neither use nor harm its parent's pools. Method: children that report
// their findings by the exit status.
#include <outlast/base/per_thread.hpp>
#include <outlast/base/thread_context.hpp>
#include <outlast/domain.hpp>
#include <outlast/pool/journal/redo_log.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/pool/replica_pair.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace outlast {
namespace {

using test::temp_directory;

constexpr pool_options small{.size_bytes = 1 << 20};

/// The exit status of a child that runs `body`.
int status_of_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

template <class Action>
bool is_forked_error(Action&& action) {
  try {
    action();
  } catch (const error& failure) {
    return failure.reason() == errc::forked;
  }
  return false;
}

TEST(fork, makes_every_call_in_the_child_fail) {
  temp_directory directory;
  auto target = pool::create(directory.file("p"), small);
  const int status = status_of_child([&] {
    const bool all = is_forked_error([&] { (void)target.roots(); }) &&
                     is_forked_error([&] { (void)target.attach_root("x", "t", 1, true); }) &&
                     is_forked_error([&] { target.grow(2 << 20); }) &&
                     is_forked_error([&] { (void)target.guarantee(); }) &&
                     is_forked_error([&] { (void)target.check(); }) &&
                     is_forked_error([&] { target.close(); });
    return all ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  EXPECT_NO_THROW((void)target.attach_root("x", "t", 1, true));
}

TEST(fork, leaves_the_log_and_what_was_noted_for_it_with_the_parent) {
  using domain::logged_file;
  temp_directory directory;
  std::error_code failed;
  auto target = basic_pool<logged_file>::try_create(directory.file("p"), small, failed);
  auto* const word =
      static_cast<std::uint64_t*>(target->pages().address_of(target->pages().limit() - 1));
  *word = 42;
  logged_file::pwb(word);
  const int status = status_of_child([&] {
    logged_file::psync();
    target.reset();
    return ::access(pool_detail::log_path_of(directory.file("p")).c_str(), F_OK);
  });
  EXPECT_EQ(status, 0);
  logged_file::psync();
  target.reset();
  target = basic_pool<logged_file>::try_open(directory.file("p"), small, failed);
  EXPECT_EQ(*word, 42U);
}

TEST(fork, leaves_lock_and_file_with_the_parent_when_the_child_ends) {
  temp_directory directory;
  std::error_code failed;
  auto target = pool::try_create(directory.file("p"), small, failed);
  const int status = status_of_child([&] {
    target.reset();
    return 0;
  });
  EXPECT_EQ(status, 0);
  EXPECT_THROW((void)pool::open(directory.file("p")), error);
  target->close();
  EXPECT_FALSE(pool::open(directory.file("p")).was_dirty());
}

// 1 -> the child creates a pool and forks; 2 <- the grandchild is ready; 3 -> the child is killed;
// 4 <- the pool can be opened although the grandchild lives on.
TEST(fork, does_not_keep_the_lock_alive_in_a_child_that_outlives_its_parent) {
  temp_directory directory;
  int ready[2];
  int over[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(over), 0);
  const int status = status_of_child([&] {
    char byte = 0;
    auto target = pool::create(directory.file("p"), small);
    if (::fork() == 0) {
      ::close(over[1]);
      (void)!::write(ready[1], &byte, 1);
      (void)!::read(over[0], &byte, 1);  // until the test is over
      ::_exit(0);
    }
    (void)!::read(ready[0], &byte, 1);
    return ::kill(::getpid(), SIGKILL);
  });
  EXPECT_EQ(status, 128 + SIGKILL);
  EXPECT_TRUE(pool::open(directory.file("p")).was_dirty());
  for (const int end : {ready[0], ready[1], over[0], over[1]}) ::close(end);
}

TEST(fork, lets_the_child_use_a_pool_of_its_own) {
  temp_directory directory;
  auto target = pool::create(directory.file("p"), small);
  const int status = status_of_child([&] {
    auto own = pool::create(directory.file("q"), small);
    (void)own.attach_root("x", "t", 1, true);
    own.close();
    return 0;
  });
  EXPECT_EQ(status, 0);
  EXPECT_NO_THROW(pool::open(directory.file("q")).close());
}

/// A pool of the child's where its parent's is, under the domains that keep a table of pools.
template <class D>
void expect_own_pool_at_the_parents_address() {
  temp_directory directory;
  std::error_code failed;
  constexpr pool_options sizes{.size_bytes = 1 << 20, .capacity_bytes = 1 << 20};
  auto target = basic_pool<D>::try_create(directory.file("p"), sizes, failed);
  const int status = status_of_child([&] {
    ::alarm(20);
    pool_options there = sizes;
    there.base_address = target->base();
    auto own = basic_pool<D>::create(directory.file("q"), there);
    target.reset();  // which must not take the child's own for its parent's
    if (own.base() != there.base_address) return 2;
    auto* const word = static_cast<std::uint64_t*>(own.pages().address_of(own.pages().limit() - 1));
    *word = 42;
    D::pwb(word);
    D::psync();
    ::kill(::getpid(), SIGKILL);
    return 3;
  });
  EXPECT_EQ(status, 128 + SIGKILL);
  auto again = basic_pool<D>::open(directory.file("q"));
  EXPECT_EQ(*static_cast<std::uint64_t*>(again.pages().address_of(again.pages().limit() - 1)), 42U);
}

TEST(fork, lets_the_child_have_a_pool_at_its_parents_address) {
  expect_own_pool_at_the_parents_address<domain::file>();
  expect_own_pool_at_the_parents_address<domain::logged_file>();
}

/// Threads that come and go and open pools: at any moment one of them holds a lock of the process.
TEST(fork, lets_the_child_work_whatever_other_threads_were_doing) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "AddressSanitizer's own locks are not free in a child";
#endif
  temp_directory directory;
  std::atomic<bool> over{false};
  std::vector<std::jthread> busy;
  for (const char* const name : {"a", "b"}) {
    busy.emplace_back([&, path = directory.file(name)] {
      pool::create(path, small).close();
      while (!over.load()) {
        auto opened = pool::open(path);
        (void)opened.service<replica_pair<domain::native>>();
        opened.close();
        std::jthread([] { (void)base::this_thread(); }).join();
      }
    });
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(status_of_child([&] {
                ::alarm(20);  // a child that waits for a lock dies of it
                auto own = pool::create(directory.file("own-" + std::to_string(i)), small);
                (void)own.attach_root("x", "t", 1, true);
                (void)own.service<replica_pair<domain::native>>();
                own.close();
                return 0;
              }),
              0);
  }
  over.store(true);
}

/// Dawdles while the registry of threads is locked.
class slow_listener final : private base::thread_exit_listener {
 public:
  slow_listener() { listen_for_exits(); }
  ~slow_listener() { stop_listening(); }
  std::atomic<bool> called{false};

 private:
  void thread_exited(std::uint32_t) noexcept override {
    called.store(true);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
};

TEST(fork, waits_until_no_thread_is_just_being_registered) {
  slow_listener listener;
  std::jthread exits([] { (void)base::this_thread(); });
  while (!listener.called.load()) std::this_thread::yield();
  EXPECT_EQ(status_of_child([] {
              ::alarm(20);
              std::jthread([] { (void)base::this_thread(); }).join();
              return 0;
            }),
            0);
}

TEST(fork, tells_services_in_the_child) {
  temp_directory directory;
  auto target = pool::create(directory.file("p"), small);
  base::per_thread<int> table([](std::uint32_t) { return std::make_unique<int>(1); });
  (void)table.local();
  target.on_fork_child([&table] { table.forbid(); });
  EXPECT_EQ(status_of_child([&] { return is_forked_error([&] { (void)table.local(); }) ? 0 : 1; }),
            0);
  EXPECT_EQ(table.local(), 1);
}

TEST(fork, does_not_map_the_pool_in_the_child) {
  temp_directory directory;
  auto target = pool::create(directory.file("p"), small);
  volatile const char* const byte = reinterpret_cast<const char*>(target.base());
  const int status = status_of_child([&] {
    ::signal(SIGSEGV, SIG_DFL);
    return *byte == 'O' ? 1 : 2;
  });
  EXPECT_NE(status, 1);
  EXPECT_NE(status, 2);
}

TEST(fork, leaves_the_second_replica_to_the_parent) {
  temp_directory directory;
  auto target = pool::create(directory.file("p"), small);
  (void)target.service<replica_pair<domain::native>>();
  volatile char* const byte = shadow_of<domain::native>(reinterpret_cast<char*>(target.base()));
  *byte = 7;
  const int reading = status_of_child([&] {
    ::signal(SIGSEGV, SIG_DFL);
    return *byte == 7 ? 1 : 2;
  });
  EXPECT_NE(reading, 1);
  EXPECT_NE(reading, 2);
  const int making_another = status_of_child([&] {
    auto own = pool::create(directory.file("q"), small);
    (void)own.service<replica_pair<domain::native>>();
    *shadow_of<domain::native>(reinterpret_cast<char*>(own.base())) = 8;
    own.close();
    return 0;
  });
  EXPECT_EQ(making_another, 0);
  EXPECT_EQ(*byte, 7);
}

TEST(fork, lets_a_killed_parent_be_recovered) {
  temp_directory directory;
  const int status = status_of_child([&] {
    auto target = pool::create(directory.file("p"), small);
    const attached_root root = target.attach_root("x", "t", 1, true);
    target.publish_root(root.index, target.pages().allocate_run(pool_format::run_kind::large,
                                                                root.index, 1, 1, 4096));
    return ::kill(::getpid(), SIGKILL);
  });
  EXPECT_EQ(status, 128 + SIGKILL);
  auto again = pool::open(directory.file("p"));
  EXPECT_TRUE(again.was_dirty());
  EXPECT_EQ(again.attach_root("x", "t", 1, true).state, root_state::needs_recovery);
}

}  // namespace
}  // namespace outlast
