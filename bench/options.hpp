// The command line of `outlast bench`.
#pragma once

#include <bench/engine/experiment.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace outlast::bench {

struct options {
  std::vector<std::string> files;   ///< experiments
  std::vector<std::string> micros;  ///< micro benchmarks
  bool quick = false;
  bool json = false;
  bool list = false;
  std::filesystem::path pool_directory;
  std::filesystem::path disk_directory;
  std::uint64_t seed = 1;
  double seconds = 0;             ///< 0: as the experiment says
  unsigned repetitions = 0;       ///< 0: as the experiment says
  std::vector<unsigned> threads;  ///< empty: as the experiment says
};

/// Options to run with, or the exit status if there is nothing to run.
struct parsed_options {
  std::optional<options> chosen;
  int status = 0;
};

/// Prints help or a complaint where that is all there is to do.
[[nodiscard]] parsed_options parse_options(int argc, char** argv);

/// /dev/shm if it can be written, because the write-back of a disk's file system disturbs what is
/// measured; else $TMPDIR or the system's directory for such files.
[[nodiscard]] std::filesystem::path default_pool_directory();

/// `what` with the seconds, repetitions and threads of the command line.
[[nodiscard]] experiment adjusted(experiment what, const options& chosen);

}  // namespace outlast::bench
