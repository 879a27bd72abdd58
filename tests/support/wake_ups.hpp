// How often the process's other threads wake up.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <unistd.h>

namespace outlast::test {

/// How often they have gone to sleep until now.
inline std::uint64_t sleeps_of_others() {
  const std::string me = std::to_string(::gettid());
  std::uint64_t sum = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    if (thread.path().filename() == me) continue;
    std::ifstream status(thread.path() / "status");
    for (std::string word; status >> word;) {
      std::uint64_t count = 0;
      if (word == "voluntary_ctxt_switches:" && status >> count) sum += count;
    }
  }
  return sum;
}

/// Waits until they sleep for good: until none of them wakes up for twenty times the interval at
/// which they would. False if that does not come.
inline bool others_fall_asleep() {
  for (int attempt = 0; attempt < 30; ++attempt) {
    const std::uint64_t before = sleeps_of_others();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    if (sleeps_of_others() == before) return true;
  }
  return false;
}

}  // namespace outlast::test
