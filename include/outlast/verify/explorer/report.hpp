// The report of an exploration: its counts, and the counterexample.
#pragma once

#include <outlast/verify/explorer/strategy.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace outlast::verify {

/// An operation of a scenario: the thread's number and the operation's among the thread's.
struct operation_place {
  std::uint8_t thread = 0;
  std::uint8_t operation = 0;
  friend bool operator==(const operation_place&, const operation_place&) = default;
};
/// Returns a text such as "0.2 1.0".
[[nodiscard]] std::string to_text(const std::vector<operation_place>& places);
/// Returns the places of such a text. Throws error{bad_argument} if the text is malformed.
[[nodiscard]] std::vector<operation_place> operations_from_text(const std::string& text);

/// A counterexample, as a description and as coordinates that replay it.
struct failure {
  std::string what;        ///< one sentence
  std::uint64_t seed = 0;  ///< of the scenario
  std::uint64_t execution = 0;
  schedule decisions;
  std::vector<operation_place> without;  ///< operations that do not matter
  std::vector<std::string> history;      ///< one line per operation
  std::vector<std::string> crashes;      ///< the stores that survived each crash, outermost first
  std::string replay;                    ///< a command or a call that replays it
};

/// Counts of one exploration.
struct report {
  std::string structure;
  std::string policy;
  std::string model;
  std::uint64_t scenarios = 0;
  std::uint64_t executions = 0;
  std::uint64_t crash_points = 0;
  std::uint64_t crash_images = 0;    ///< considered
  std::uint64_t images_checked = 0;  ///< distinct for their history: recovered and checked
  std::uint64_t kills_checked = 0;   ///< kills after which power was cut
  std::uint64_t nested_checked = 0;  ///< of these, crashes during or after a recovery
  std::uint64_t sampled_points = 0;  ///< crash points at which not every image was considered
  std::uint64_t forced_write_backs = 0;
  std::uint64_t sites = 0;   ///< flushes and fences passed
  std::uint64_t parked = 0;  ///< executions in which a thread stopped for good
  /// True if an exhaustive exploration explored every scenario with every interleaving.
  bool exhausted = false;
  double seconds = 0;
  std::optional<failure> found;
};

/// Returns a description of the counterexample.
[[nodiscard]] std::string to_text(const failure& found);
/// Returns one line with the counts.
[[nodiscard]] std::string to_text(const report& done);

}  // namespace outlast::verify
