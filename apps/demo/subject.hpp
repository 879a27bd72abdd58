// The subjects of the demo: a policy under a domain, by name.
#pragma once

#include <apps/demo/exchange.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::apps::demo {

/// One row of the demo's table.
struct subject {
  std::string_view choice;  ///< the name in `--policies`
  std::string policy;       ///< the name in the code
  std::string_view domain;
  bool flushes;  ///< needs a flush instruction
  void (*ingest)(exchange&);
  void (*measure)(exchange&);
};

/// Returns all subjects, in the order of the table.
[[nodiscard]] std::span<const subject> all_subjects();

/// The first argument of a child process; the second is the descriptor.
inline constexpr std::string_view child_command = "demo-child";

/// Runs the task of the exchange in `descriptor`, in a child process. Returns the exit status. An
/// error is reported in the exchange.
[[nodiscard]] int run_child(int descriptor);

}  // namespace outlast::apps::demo
