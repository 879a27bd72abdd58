// An experiment as data: what a figure measures, read from a TOML file.
#pragma once

#include <bench/engine/registry.hpp>
#include <outlast/hw/flush.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace outlast::bench {

/// A figure to reach: the ratio to the transient twin that some policies should have, at all points
/// or at those that it names. Reported, never asserted: a benchmark is no test.
struct goal {
  std::optional<std::string> structure = {};
  std::optional<std::uint64_t> size = {};
  std::optional<double> update_percent = {};
  std::vector<std::string> policies;
  std::string domain;
  double at_least = 0;
  std::vector<unsigned> threads = {};  ///< none: whatever their number
  std::string against = {};  ///< the ratio to this policy over the same domain; "": to the twin
};

/// One file of bench/figures. Keys of the file are the members' names.
struct experiment {
  std::string figure;  ///< `flit/fig07`: how records name it
  std::string title;
  /// Micro benchmarks that redo the figure; where there are any, nothing else is given but
  /// `expected`.
  std::vector<std::string> micros;
  std::vector<std::string> structures;
  std::vector<std::string> policies;
  std::vector<std::string> domains;
  std::vector<unsigned> threads;
  std::map<std::string, std::vector<std::uint64_t>> sizes;  ///< by structure
  std::vector<double> update_percents;
  std::vector<key_distribution> workloads;
  std::vector<unsigned> added_fence_ns = {0};  ///< over `slowed` domains: emulated media
  bool shadow_on_media = false;                ///< as in pool_options: for mirrored policies
  /// None: the process's own, which is the best one or what OUTLAST_FLUSH names.
  std::optional<hw::flush_instruction> flush_instruction = {};
  double seconds = 0.5;  ///< one timed run
  unsigned repetitions = 5;
  std::string expected;     ///< the shape to expect, in prose
  std::vector<goal> goals;  ///< [[goal]] tables
};

/// Reads and checks an experiment. Throws error{bad_argument} or error{not_found} that names file,
/// line and cause: a syntax error, an unknown or missing key, a wrong type, a name that `known`
/// lacks.
[[nodiscard]] experiment load_experiment(const std::filesystem::path& file, const registry& known);

/// The same of a text; `file` is for messages.
[[nodiscard]] experiment parse_experiment(std::string_view text, const std::string& file,
                                          const registry& known);

/// The experiment in seconds instead of minutes: shorter runs, fewer repetitions, sizes above
/// 100,000 left out. What remains is measured as it stands.
[[nodiscard]] experiment quick_version(experiment full);

}  // namespace outlast::bench
