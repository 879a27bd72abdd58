// Series that are measured in turn, A B C A B C, and what they are worth to one of them.
#pragma once

#include <bench/engine/random.hpp>
#include <bench/micro/micro.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace outlast::bench {

/// What one thread draws and writes.
struct alignas(128) hand {
  /// `value_bytes`: how long the values are that it writes.
  hand(std::uint64_t seed, std::size_t value_bytes) : random(seed), value(value_bytes, 'v') {}

  /// `number` in decimal, padded to 32 bytes; below 100 million. Valid until the next call.
  const std::string& key_of(std::uint64_t number) {
    for (std::size_t i = key.size(); i-- > key.size() - 8; number /= 10) {
      key[i] = static_cast<char>('0' + number % 10);
    }
    return key;
  }

  xoshiro256 random;
  std::string key = std::string(32, '0');
  std::string value;
  std::uint64_t seen = 0;   ///< bytes read: nothing may be optimised away
  std::uint64_t added = 0;  ///< insertions and pushes that took effect
  std::uint64_t taken = 0;  ///< removals and pops that took effect
  std::uint64_t until_sync = 0;
};

/// Does some operations and returns how many.
using batch = std::function<std::uint64_t(hand&)>;

/// How a series is run.
struct run_settings {
  unsigned threads = 1;
  std::size_t value_bytes = 0;
  double seconds = 1;  ///< behind a fifth of it to warm up
};

/// Million operations per second of threads that repeat `body`, pinned if there are CPUs for all.
/// Rethrows what one of them throws.
[[nodiscard]] double mops_of(const run_settings& how, const batch& body);

/// As the command line says, else 1 second, or a hundredth of it.
[[nodiscard]] run_settings run_of(const micro_settings& settings, unsigned threads,
                                  std::size_t value_bytes);
/// As the command line says, else 5 or 3.
[[nodiscard]] unsigned repetitions_of(const micro_settings& settings);
/// As the command line says, else 1 and 2.
[[nodiscard]] std::vector<unsigned> threads_of(const micro_settings& settings);

/// Hands over the median of what repetitions gave.
void report_values(const micro_sink& sink, micro_figure figure, const std::vector<double>& values);

/// One of several that are compared.
struct series {
  std::string name;
  std::function<double()> mops;
};

/// `what`, and how many threads do it.
[[nodiscard]] std::string on_threads(const std::string& what, unsigned threads);

/// Runs all in turn, each repetition beginning with another one, and hands over of each the median
/// and the medians of its ratios to each of `references`, places in `all`, in the same repetition.
void report_interleaved(const micro_sink& sink, const std::string& benchmark,
                        const std::string& where, unsigned repetitions,
                        const std::vector<std::size_t>& references, const std::vector<series>& all);
/// The same with one reference.
void report_interleaved(const micro_sink& sink, const std::string& benchmark,
                        const std::string& where, unsigned repetitions, std::size_t reference,
                        const std::vector<series>& all);

}  // namespace outlast::bench
