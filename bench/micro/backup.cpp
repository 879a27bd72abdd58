// Backups of a pool while threads write to it: the time of the copy, and the cost for the threads.
#include <bench/adapters/temporary_pool.hpp>
#include <bench/engine/latency.hpp>
#include <bench/engine/random.hpp>
#include <bench/micro/interleaved.hpp>
#include <bench/micro/store_runs.hpp>
#include <outlast/domain.hpp>
#include <outlast/epoch/hash_map.hpp>
#include <outlast/lockfree/hash_table.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace outlast::bench {
namespace {

using steady = std::chrono::steady_clock;
using value = std::array<char, 100>;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// Threads that overwrite values at random until the end of their object.
template <class Map>
class writing_threads {
 public:
  writing_threads(Map& all, std::uint64_t keys, unsigned threads) {
    for (unsigned thread = 0; thread < threads; ++thread) {
      results_.push_back(std::async(std::launch::async, [this, &all, keys, thread] {
        return write_until_end(all, keys, thread);
      }));
    }
  }
  ~writing_threads() { end_.store(true, std::memory_order_relaxed); }
  writing_threads(const writing_threads&) = delete;
  writing_threads& operator=(const writing_threads&) = delete;

  /// Ends the threads. Returns the durations of their operations.
  [[nodiscard]] latencies end() {
    end_.store(true, std::memory_order_relaxed);
    latencies all;
    for (auto& each : results_) all.merge(each.get());
    return all;
  }

 private:
  latencies write_until_end(Map& all, std::uint64_t keys, unsigned thread) const {
    latencies times;
    xoshiro256 random(thread + 1);
    value text{};
    while (!end_.load(std::memory_order_relaxed)) {
      const std::uint64_t key = random() % keys;
      text[key % text.size()] = static_cast<char>(key);
      const steady::time_point start = steady::now();
      (void)all.put(key, text);
      const std::chrono::nanoseconds taken = steady::now() - start;
      times.add(static_cast<std::uint64_t>(taken.count()));
    }
    return times;
  }

  std::atomic<bool> end_{false};
  std::vector<std::future<latencies>> results_;  // destroyed first: waits for the threads
};

/// The results of all repetitions.
struct backup_results {
  std::vector<double> rates_without, rates_during;  ///< thousand operations per second
  std::vector<double> longest_without, longest_during;
  std::vector<double> copies, sizes, stops;

  static void add(const latencies& of, double seconds, std::vector<double>& rates,
                  std::vector<double>& longest) {
    rates.push_back(static_cast<double>(of.count()) / seconds / 1e3);
    longest.push_back(of.max_us() / 1e3);
  }
};

/// Measures pools of one domain in one directory.
template <class D, class Map>
class backup_measuring {
 public:
  backup_measuring(const micro_settings& settings, const micro_sink& sink,
                   const std::filesystem::path& directory, const std::string& domain)
      : sink_(sink),
        directory_(directory),
        where_(medium_name(directory) + ", " + domain),
        keys_(settings.quick ? 60'000 : 2'000'000),
        seconds_(settings.seconds != 0 ? settings.seconds
                 : settings.quick      ? 0.1
                                       : 2),
        repetitions_(settings.repetitions != 0 ? settings.repetitions
                     : settings.quick          ? 1
                                               : 5) {}

  void run(unsigned threads) {
    const std::filesystem::path path = unused_path(directory_);
    pool_options options;
    options.size_bytes = keys_ * 256 + 64 * mebibyte;
    {
      auto pool = basic_pool<D>::create(path.string(), options);
      Map all(pool, "values");
      for (std::uint64_t key = 0; key < keys_; ++key) (void)all.insert(key, value{});
      backup_results results;
      for (unsigned r = 0; r < repetitions_; ++r) measure(pool, all, threads, results);
      report(on_threads("", threads), results);
    }
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }

 private:
  void measure(basic_pool<D>& pool, Map& all, unsigned threads, backup_results& into) const {
    {
      writing_threads<Map> writers(all, keys_, threads);
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds_));
      backup_results::add(writers.end(), seconds_, into.rates_without, into.longest_without);
    }
    const std::filesystem::path copy = unused_path(directory_);
    writing_threads<Map> writers(all, keys_, threads);
    const backup_result made = pool.backup(copy.string());
    backup_results::add(writers.end(), made.seconds, into.rates_during, into.longest_during);
    std::filesystem::remove(copy);
    into.copies.push_back(made.seconds * 1e3);
    into.sizes.push_back(static_cast<double>(made.bytes) / mebibyte);
    into.stops.push_back(made.longest_stop_seconds() * 1e3);
  }

  void report(const std::string& on, const backup_results& of) const {
    const auto report_row = [&](const std::string& row, const std::string& unit,
                                const std::vector<double>& values) {
      report_values(sink_,
                    {.benchmark = "backup", .subject = where_ + ", " + row + on, .unit = unit},
                    values);
    };
    report_row("bytes of the backup", "MiB", of.sizes);
    report_row("duration of the backup", "ms", of.copies);
    report_row("longest stop by the backup's figures", "ms", of.stops);
    report_row("longest update without a backup", "ms", of.longest_without);
    report_row("longest update during a backup", "ms", of.longest_during);
    report_row("updates without a backup", rate_unit, of.rates_without);
    report_row("updates during a backup", rate_unit, of.rates_during);
  }

  const micro_sink& sink_;
  std::filesystem::path directory_;
  std::string where_;
  std::uint64_t keys_;
  double seconds_;
  unsigned repetitions_;
};

}  // namespace

void measure_backup(const micro_settings& settings, const micro_sink& sink) {
  using logged = domain::logged_file;
  using table = lockfree::hash_table<std::uint64_t, value>;
  using buffered = epoch::hash_map<std::uint64_t, value>;
  using logged_map = epoch::hash_map<std::uint64_t, value, logged>;
  for (const unsigned threads : threads_of(settings)) {
    const auto& memory = settings.pool_directory;
    backup_measuring<domain::native, table>(settings, sink, memory, "strict table").run(threads);
    backup_measuring<domain::native, buffered>(settings, sink, memory, "buffered map").run(threads);
    backup_measuring<logged, logged_map>(settings, sink, settings.disk_directory,
                                         "buffered map with a log")
        .run(threads);
  }
}

}  // namespace outlast::bench
