// The commands of `outlast` that are programs of their own: each is built and linked alone.
#pragma once

#include <string_view>

namespace outlast::apps {

/// `outlast COMMAND ARGUMENT...` executes `PROGRAM ARGUMENT...`, which stands beside it.
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
     "Kill a program again and again while it writes, and show that it loses nothing", true},
    {"verify", "outlast-verify", "Explore interleavings, crashes and evictions of the structures",
     true},
};

}  // namespace outlast::apps
