// The benchmarks that db_bench knows by name.
#pragma once

#include <bench/db_bench/generate.hpp>
#include <bench/engine/latency.hpp>
#include <bench/db_bench/store.hpp>
#include <bench/engine/random.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::bench {

using bench_clock = std::chrono::steady_clock;

/// What the threads of one benchmark have in common.
struct common_state {
  const store_settings* settings = nullptr;
  /// Another one for each benchmark, so that none draws the keys of the one before.
  std::uint64_t seed = 0;
  double limit_s = 0;  ///< 0: none
  /// Records of YCSB that were loaded or inserted.
  std::atomic<std::uint64_t>* records = nullptr;
  /// Threads that the benchmark is about, and have not finished.
  std::atomic<unsigned> measured{0};
};

/// What one thread has done.
struct tally {
  std::uint64_t operations = 0;
  std::uint64_t bytes = 0;
  std::uint64_t found = 0;
  std::uint64_t sought = 0;  ///< 0: nothing was looked for
  bench_clock::time_point began;
  bench_clock::time_point ended;
  latencies each;
};

/// One thread.
struct alignas(128) worker {
  worker(common_state& of, unsigned number, std::unique_ptr<session> on);

  common_state& common;
  const store_settings& settings;
  unsigned id;
  std::unique_ptr<session> at;
  xoshiro256 random;
  key_text key;
  value_text values;
  std::string value;  ///< that was read last
  tally did;
};

/// How a benchmark is run.
enum class starts_with { what_is_there, nothing };
enum class writes { as_asked, synced };

struct benchmark {
  std::string_view name;
  std::string_view what;
  /// All operations of one thread.
  void (*run)(worker& self);
  starts_with start = starts_with::what_is_there;
  writes how = writes::as_asked;
  /// Of one more thread, until those that are measured have finished; may be null.
  void (*beside)(worker& self) = nullptr;
  unsigned threads = 0;  ///< 0: as the settings say
};

/// In the order of the manual.
[[nodiscard]] const std::vector<benchmark>& benchmarks();
/// The workloads of YCSB, a part of these.
void append_ycsb(std::vector<benchmark>& all);

/// Repeats `once(i)`, i from 0, `count` times, or until the time is up if there is a limit.
template <class Once>
void repeat(worker& self, std::uint64_t count, Once&& once) {
  // The clock is asked once in so many operations; a disk makes one last a hundredth of a second.
  constexpr std::uint64_t operations_between_looks = 16;
  const bool limited = self.common.limit_s > 0;
  const auto limit = self.did.began + std::chrono::duration_cast<bench_clock::duration>(
                                          std::chrono::duration<double>(self.common.limit_s));
  bench_clock::time_point last = self.did.began;
  for (std::uint64_t i = 0; i < count; ++i) {
    once(i);
    ++self.did.operations;
    if (self.settings.histogram) {
      const bench_clock::time_point now = bench_clock::now();
      self.did.each.add(static_cast<std::uint64_t>((now - last).count()));
      last = now;
    }
    if (limited && i % operations_between_looks == 0 && bench_clock::now() >= limit) break;
  }
}

}  // namespace outlast::bench
