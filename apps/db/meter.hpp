// The progress of a command, shown if it takes longer than a second.
#pragma once

#include <apps/progress.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace outlast::apps::db {

/// A bar on standard error. Not thread-safe.
class meter {
 public:
  meter(std::string part, std::string unit) : part_(std::move(part)), unit_(std::move(unit)) {}

  /// Shows that `done` of about `all` units are done. all == 0: the total is unknown.
  void advance(std::uint64_t done, std::uint64_t all);

 private:
  static constexpr std::uint64_t steps = 1000;

  std::string part_;
  std::string unit_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::uint64_t shown_ = 0;
  std::optional<progress> bar_;
};

}  // namespace outlast::apps::db
