// A process that works on the key space of a test and is killed.
#pragma once

#include <tests/unit/server/stored_stand.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace outlast::server {

using progress = std::array<std::uint64_t, 2>;
using report = std::function<void(const progress&)>;

/// Runs `work` in a child over the store, and kills the child some time after its first progress.
/// Returns the last one.
inline progress last_before_kill(served_store& at, std::chrono::microseconds after,
                                 const std::function<void(served_store&, const report&)>& work) {
  at.close();
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const ::pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    at.open();
    work(at, [&](const progress& done) {
      // A pipe of 64 KiB is full at some time: the parent reads at the same time.
      if (::write(ends[1], done.data(), sizeof done) != sizeof done) ::_exit(1);
    });
    ::_exit(2);
  }
  ::close(ends[1]);
  progress last{};
  progress next{};
  const auto receive = [&] { return ::read(ends[0], next.data(), sizeof next) == sizeof next; };
  EXPECT_TRUE(receive()) << "the child has stopped";
  last = next;
  std::thread killer([&] {
    std::this_thread::sleep_for(after);
    ::kill(child, SIGKILL);
  });
  while (receive()) last = next;
  killer.join();
  ::close(ends[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself";
  at.open();
  return last;
}

/// Returns the time between the first progress and a kill.
inline std::chrono::microseconds kill_moment(int kill) {
  return std::chrono::microseconds(200 + kill * 397 % 5'000);
}

}  // namespace outlast::server
