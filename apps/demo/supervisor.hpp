// The demo's parent process: starts children, kills them and checks the surviving map.
#pragma once

#include <apps/demo/child_process.hpp>
#include <apps/demo/exchange.hpp>
#include <apps/demo/reference.hpp>
#include <apps/demo/subject.hpp>
#include <apps/progress.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::apps::demo {

/// The options of a run.
struct settings {
  std::uint64_t kills = 100;
  std::uint32_t threads = 2;
  std::filesystem::path folder;  ///< an existing directory for pools
  sabotage fault = sabotage::none;
  bool measure = true;
  std::function<bool()> interrupted = [] { return false; };
};

/// Thrown if the user interrupts the demo.
struct interruption : std::runtime_error {
  interruption() : std::runtime_error("interrupted") {}
};

/// Thrown if a child process fails without being killed.
struct child_failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The result of one subject.
struct outcome {
  subject who{};
  std::uint64_t kills = 0;
  std::uint64_t acknowledged = 0;
  check_result checked;
  double recovery_ms = 0;  ///< median, from opening the pool to the table ready
  figures measured;
};

/// Runs subjects on one text. Not thread-safe.
class supervisor {
 public:
  /// Throws std::runtime_error if the pools do not fit into the file system. Requires: `text`
  /// outlives the object.
  supervisor(settings how, std::string_view text, progress& shown);

  /// Kills children of the subject as often as requested, lets a last one complete the text, and
  /// compares the map with an exact count. Stops at the first contradiction. Throws child_failure.
  [[nodiscard]] outcome run(std::uint32_t subject_index);

 private:
  using clock = std::chrono::steady_clock;

  void prepare(std::uint32_t subject_index);
  void kill_one(outcome& result);
  void kill_while_it_recovers(outcome& result);
  void kill_while_it_ingests(outcome& result);
  void finish(outcome& result);
  void measure(outcome& result);

  void check(outcome& result);
  void start_task(task what, bool go = true);
  void wait_for(child_process& child, stage wanted);
  void pause_until(child_process& child, clock::time_point end);
  void let_finish();
  void check_on(child_process& child);
  void take_acknowledgements();
  [[nodiscard]] std::span<const survivor> survivors() const;
  [[nodiscard]] std::vector<std::string> child_arguments() const;
  [[nodiscard]] std::chrono::nanoseconds random_time(std::chrono::nanoseconds below);

  settings how_;
  std::string_view text_;
  progress& shown_;
  reference reference_;
  exchange shared_;
  std::mt19937_64 random_{std::random_device{}()};
  std::vector<double> recoveries_ms_;
  std::chrono::nanoseconds startup_{std::chrono::milliseconds(30)};
};

}  // namespace outlast::apps::demo
