// The command line of db_bench: LevelDB's flags, and a few of ours.
#pragma once

#include <bench/db_bench/settings.hpp>

#include <optional>

namespace outlast::bench {

/// Settings to run with, or the exit status if there is nothing to run.
struct parsed_flags {
  std::optional<store_settings> settings;
  int status = 0;
};

/// Prints help or a complaint where that is all there is to do.
[[nodiscard]] parsed_flags parse_flags(int argc, char** argv);

}  // namespace outlast::bench
