// How processes end while they use what outlives them.
#pragma once

#include <tests/ends/subject.hpp>

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::test::ends {

/// In a file, so that it is there after the process.
struct progress {
  std::atomic<u64> acknowledged;  ///< the keys 1 to this one survive
  char step[256];                 ///< what the process was doing
};

/// A process that ends in one way.
struct incarnation {
  subject* used = nullptr;  ///< never deleted, unless the way says so
  progress* seen = nullptr;
  std::string family;
  std::string domain;
  std::string directory;

  [[nodiscard]] std::string file() const { return directory + "/p"; }
  /// The next key, kept at return.
  void put_next() const;
  void note(std::string_view step) const;
};

struct way {
  const char* name;
  const char* what_for;      ///< a line for the legend
  bool closes;               ///< the process closes what it uses
  int (*run)(incarnation&);  ///< returns the exit status, or does not return
};
[[nodiscard]] const std::vector<way>& all_ways();

/// What is there afterwards, in a new process: "" if nothing is wrong.
[[nodiscard]] std::string check_incarnation(const incarnation& ended, bool closed);

}  // namespace outlast::test::ends
