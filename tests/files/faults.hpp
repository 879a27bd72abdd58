// Which faults a call can meet, and why not the others.
#pragma once

#include <tests/files/calls.hpp>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::test::files {

enum class column {
  fails,
  interrupted,
  unsupported,
  cut_short,
  killed_before,
  killed_after,
  reordered,
  moved
};
constexpr std::array<column, 8> all_columns = {
    column::fails,         column::interrupted,  column::unsupported, column::cut_short,
    column::killed_before, column::killed_after, column::reordered,   column::moved};

[[nodiscard]] std::string_view name_of(column which) noexcept;

/// Why a fault does not concern a call; the table has the letter, its legend the sentence.
struct reason {
  char letter;
  std::string_view sentence;
};
[[nodiscard]] const std::vector<reason>& all_reasons();

/// What stands in a cell before it is tried.
struct choice {
  std::vector<fault> faults;      ///< to be tried
  char letter = ' ';              ///< or why none is
  bool must_succeed = false;      ///< the call has another way, or is made again
  bool must_not_succeed = false;  ///< what it answers would not be durable
};

/// What faults depend on besides the call.
struct circumstances {
  bool is_first;     ///< of this name in the operation
  bool loses_power;  ///< the operation's files outlive a power cut
  bool holds_files;  ///< the operation has them open before it begins
  bool thoroughly;   ///< with every error that the call may have, once and from then on
};

[[nodiscard]] choice faults_of(const recorded_call& call, column which, const circumstances& when);

}  // namespace outlast::test::files
