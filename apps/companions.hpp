// The commands of `outlast` that are programs of their own, built and linked separately.
#pragma once

#include <string_view>

namespace outlast::apps {

/// `outlast COMMAND ARGUMENT...` executes `PROGRAM ARGUMENT...` in the directory of `outlast`.
struct companion {
  std::string_view command;
  std::string_view program;
  std::string_view description;
  bool describes_itself;  ///< has `--describe`
};

inline constexpr companion companions[] = {
    {"bench", "outlast-bench",
     "Measure experiments: FILE... [--quick] [--json] [--micro NAME]; --help for more", false},
    {"demo", "outlast-demo",
     "Kill a program repeatedly while it writes, and show that it loses nothing", true},
    {"verify", "outlast-verify", "Explore interleavings, crashes and evictions of the structures",
     true},
};

}  // namespace outlast::apps
