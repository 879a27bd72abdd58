// Measures experiments.
#pragma once

#include <bench/engine/experiment.hpp>
#include <bench/engine/registry.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace outlast::bench {

/// How to run, whatever the experiment.
struct run_settings {
  std::filesystem::path pool_directory;
  bool quick = false;
  std::uint64_t seed = 1;
  /// Structures up to this size are built anew for each repetition, so that no series keeps a lucky
  /// or unlucky layout; larger ones once for each point, by all CPUs.
  std::uint64_t rebuilt_up_to = 20'000;
  /// Larger ones still are built once for all their points, and nothing is counted: building takes
  /// longer than measuring.
  std::uint64_t kept_above = 1'000'000;
};

/// One combination at one point of a figure.
struct record {
  std::string figure;
  combination names;
  unsigned threads = 0;
  std::uint64_t size = 0;
  double update_percent = 0;
  std::string workload;
  unsigned added_fence_ns = 0;
  bool shadow_on_media = false;
  double mops = 0;                ///< median over repetitions, million operations per second
  double spread = 0;              ///< (p75 - p25) / median of it
  double ratio_to_transient = 0;  ///< median of the ratios to the twin in the same repetition
  double ratio_spread = 0;
  std::optional<double> flushes_per_op =
      {};  ///< exact, from a run of its own; nothing if not counted
  std::optional<double> fences_per_op = {};  ///< fences that wait for a write-back
  std::vector<double> repeated_mops = {};    ///< of each repetition
  unsigned repetitions = 0;
  double seconds = 0;
  bool quick = false;
};

/// What one timed run saw.
struct timed_result {
  double mops = 0;
  std::int64_t growth = 0;  ///< successful inserts less successful erases, warm-up included
};

/// What one counted run saw.
struct counted_result {
  double flushes_per_op = 0;
  double fences_per_op = 0;
  std::int64_t growth = 0;
};

/// Fills a fresh subject with exactly `mix.size` random keys of the range, in random order, then
/// looks every key of the range up once: what a structure sets up on first touch, as a hash table
/// its buckets, is no part of what is measured. Each of several threads does so with keys of its
/// own.
void prefill(subject& target, const workload& mix, std::uint64_t seed, unsigned threads = 1);

/// Runs `threads` threads, pinned if there are CPUs for all, for `warm_up_seconds` and then for
/// `seconds`; only the latter count. The measured path reads no clock and allocates nothing of its
/// own. Rethrows the first exception of a thread.
[[nodiscard]] timed_result timed_run(subject& target, unsigned threads, double seconds,
                                     double warm_up_seconds, std::uint64_t seed);

/// Runs `operations` operations on each of `threads` threads and counts flushes and fences exactly;
/// `target` runs over `domain::counting`.
[[nodiscard]] counted_result counted_run(subject& target, unsigned threads,
                                         std::uint32_t operations, std::uint64_t seed);

/// Measures every point of `what`: all series of a point in one run, repetitions interleaved (A B
/// C A B C ...), each repetition beginning with another series. The transient twin takes part in
/// each point, asked for or not. Calls `report` for each record as its point completes. Throws
/// corruption if a structure does not hold the keys that its results say it does, error{refused} if
/// this CPU cannot run the flush instruction that `what` names. No pool may be open meanwhile.
void run_experiment(const experiment& what, const registry& known, const run_settings& settings,
                    const std::function<void(const record&)>& report);

}  // namespace outlast::bench
