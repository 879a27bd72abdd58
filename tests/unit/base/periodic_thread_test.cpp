// A thread that works periodically, in a child process in which it does not exist.
#include <outlast/base/periodic_thread.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace outlast::base {
namespace {

TEST(PeriodicThread, is_called_and_stopped) {
  std::atomic<int> calls{0};
  periodic_thread counts;
  counts.start(std::chrono::hours(1), [&] {
    ++calls;
    return true;
  });
  counts.hasten();
  while (calls.load() == 0) std::this_thread::yield();
  counts.stop();
  const int seen = calls.load();
  counts.hasten();
  EXPECT_EQ(calls.load(), seen);
}

/// Other threads hold its mutex at most of the forks, and do not exist in the children.
TEST(PeriodicThread, that_was_abandoned_in_a_child_is_stopped_there) {
  periodic_thread hastened;
  hastened.start(std::chrono::hours(1), [] { return true; });
  std::atomic<bool> ends{false};
  std::thread hastens([&] {
    while (!ends.load(std::memory_order_relaxed)) hastened.hasten();
  });
  int stuck = 0;
  for (int i = 0; i < 50 && stuck == 0; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(5);
      hastened.abandon();
      hastened.hasten();
      hastened.stop();
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status != 0) ++stuck;
  }
  ends.store(true);
  hastens.join();
  EXPECT_EQ(stuck, 0);
}

}  // namespace
}  // namespace outlast::base
