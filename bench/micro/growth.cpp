// The time that operations take while their pool grows. A hash table grows a pool of format version
// 2 from 8 MiB to hundreds of MiB; a transactional map in the same pool is updated meanwhile. On a
// disk, LMDB and RocksDB are filled with as many keys in the same run.
#include <bench/adapters/temporary_pool.hpp>
#include <bench/engine/latency.hpp>
#include <bench/engine/random.hpp>
#include <bench/micro/interleaved.hpp>
#include <bench/micro/store_runs.hpp>
#include <outlast/base/hash.hpp>
#include <outlast/containers/hash_map.hpp>
#include <outlast/containers/managed_map.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/tx/left_right.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::bench {
namespace {

using steady = std::chrono::steady_clock;
using value = std::array<char, 100>;
using table = lockfree::hash_table<std::uint64_t, value>;
using map =
    containers::managed_map<tx::left_right<>, containers::hash_map<std::uint64_t, std::uint64_t>>;

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::uint64_t map_keys = 1000;
constexpr const char* ours = "outlast";

/// The durations of operations, and those of the operations that overlap a step of growth.
struct write_times {
  latencies all;
  latencies in_steps;

  void merge(const write_times& other) noexcept {
    all.merge(other.all);
    in_steps.merge(other.in_steps);
  }
};

/// Times operations, and finds out which of them overlap a step of growth.
class step_watch {
 public:
  explicit step_watch(pool& of) : pool_(of) {
    of.on_grow([this](std::size_t bytes) {
      announced_.store(bytes, std::memory_order_relaxed);
      steps_.fetch_add(1, std::memory_order_relaxed);
    });
  }
  step_watch(const step_watch&) = delete;
  step_watch& operator=(const step_watch&) = delete;

  template <class Operation>
  void time(write_times& into, Operation&& operation) const {
    const std::size_t before = announced_.load(std::memory_order_relaxed);
    const bool in_step = pool_.mapped_bytes() < before;
    const steady::time_point start = steady::now();
    operation();
    const std::chrono::nanoseconds taken = steady::now() - start;
    const auto ns = static_cast<std::uint64_t>(taken.count());
    into.all.add(ns);
    if (in_step || announced_.load(std::memory_order_relaxed) != before) into.in_steps.add(ns);
  }
  [[nodiscard]] std::uint64_t steps() const noexcept {
    return steps_.load(std::memory_order_relaxed);
  }

 private:
  const pool& pool_;
  std::atomic<std::size_t> announced_{0};  // the size after the last step that has begun
  std::atomic<std::uint64_t> steps_{0};
};

/// The load of one run.
struct load {
  std::size_t first_bytes;  ///< of the pool
  std::uint64_t keys;       ///< of all threads
  std::uint64_t buckets;    ///< of the table at first
  unsigned threads;
};

/// The results of one run in a pool.
struct filled {
  write_times inserts;
  write_times updates;  ///< of the transactional map
  std::uint64_t steps = 0;
  std::size_t pool_bytes = 0;
  double seconds = 0;
};

/// Inserts this thread's share of the keys.
write_times insert_share(table& into, const step_watch& watch, const load& of, unsigned thread) {
  write_times times;
  value text{};
  for (std::uint64_t i = thread; i < of.keys; i += of.threads) {
    text[i % text.size()] = static_cast<char>(i);
    watch.time(times, [&] { (void)into.insert(i, text); });
  }
  return times;
}

/// Updates the map until the end is requested.
write_times update_until(map& all, const step_watch& watch, const std::atomic<bool>& end) {
  write_times times;
  xoshiro256 random(1);
  while (!end.load(std::memory_order_relaxed)) {
    const std::uint64_t key = random() % map_keys;
    watch.time(times, [&] { (void)all.put(key, key); });
  }
  return times;
}

filled fill_pool(const std::filesystem::path& directory, const load& of) {
  temporary_pool<domain::native> home(
      directory,
      {.size_bytes = of.first_bytes, .capacity_bytes = 4096 * mebibyte, .format_version = 2});
  step_watch watch(home.get());
  table inserted(home.get(), "inserted", {.buckets = of.buckets});
  map updated(home.get(), "updated", {.replica_bytes = mebibyte});
  const std::uint64_t steps_before = watch.steps();
  std::atomic<bool> end{false};
  filled result;
  const steady::time_point start = steady::now();
  {
    auto updates = std::async(std::launch::async, update_until, std::ref(updated), std::cref(watch),
                              std::cref(end));
    std::vector<std::future<write_times>> writers;
    for (unsigned t = 0; t < of.threads; ++t) {
      writers.push_back(std::async(std::launch::async, insert_share, std::ref(inserted),
                                   std::cref(watch), std::cref(of), t));
    }
    for (auto& each : writers) each.wait();
    result.seconds = std::chrono::duration<double>(steady::now() - start).count();
    end.store(true, std::memory_order_relaxed);
    for (auto& each : writers) result.inserts.merge(each.get());
    result.updates = updates.get();
  }
  result.steps = watch.steps() - steps_before;
  result.pool_bytes = home.get().size_bytes();
  return result;
}

/// Where and how much; the figures of all repetitions.
class growth_measuring {
 public:
  growth_measuring(const micro_settings& settings, const micro_sink& sink,
                   const std::filesystem::path& directory, std::string benchmark)
      : settings_(settings),
        sink_(sink),
        directory_(directory),
        benchmark_(std::move(benchmark)),
        medium_(medium_name(directory)),
        repetitions_(settings.repetitions != 0 ? settings.repetitions
                     : settings.quick          ? 1
                                               : 3) {}

  /// Measures pools with `threads` inserting threads, and the given stores in turn.
  void measure(unsigned threads, const std::vector<std::pair<std::string, std::string>>& stores) {
    const std::uint64_t keys = settings_.quick ? 60'000 : 2'000'000;
    const load of{(settings_.quick ? 1 : 8) * mebibyte, keys, keys, threads};
    load small_at_first = of;
    small_at_first.buckets = lockfree::table_options().buckets;
    pools of_fixed(of);
    pools of_growing(small_at_first);
    std::vector<double> worst(stores.size(), 0);
    std::vector<std::vector<double>> p99_9(stores.size());
    for (unsigned r = 0; r < repetitions_; ++r) {
      of_fixed.add(fill_pool(directory_, of));
      of_growing.add(fill_pool(directory_, small_at_first));
      for (std::size_t i = 0; i < stores.size(); ++i) {
        const store_result other = fill_store(stores[i].second, of);
        worst[i] = std::max(worst[i], other.max_us);
        p99_9[i].push_back(other.p99_9_us);
      }
    }
    const std::string where = on_threads("", threads);
    report(where, of_fixed, ours, true);
    report(where, of_growing, std::string(ours) + ", table that grows", false);
    for (std::size_t i = 0; i < stores.size(); ++i) {
      const std::string& name = stores[i].first;
      report_values(sink_, figure("99.9 % of insertion within" + where, "us", name), p99_9[i]);
      report_one(figure("longest insertion" + where, "us", name), worst[i]);
      micro_figure ratio =
          figure("longest insertion" + where, "ratio", std::string(ours) + " / " + name);
      ratio.goal = goal_unless_quick(1);
      if (worst[i] > 0) report_one(ratio, of_fixed.all.inserts.all.max_us() / worst[i]);
    }
  }

 private:
  /// The results of all repetitions.
  struct pools {
    explicit pools(const load& each) : of(each) {}
    void add(const filled& once) {
      all.inserts.merge(once.inserts);
      all.updates.merge(once.updates);
      steps.push_back(static_cast<double>(once.steps));
      sizes.push_back(static_cast<double>(once.pool_bytes) / mebibyte);
      rates.push_back(static_cast<double>(of.keys) / once.seconds / 1e3);
    }

    load of;
    filled all;
    std::vector<double> steps, sizes, rates;
  };

  [[nodiscard]] micro_figure figure(const std::string& row, const std::string& unit,
                                    const std::string& series = ours) const {
    return {.benchmark = benchmark_, .subject = medium_ + ", " + row + ": " + series, .unit = unit};
  }
  [[nodiscard]] std::optional<micro_goal> goal_unless_quick(double bound) const {
    if (settings_.quick) return std::nullopt;
    return micro_goal{bound, false};
  }
  void report_one(micro_figure what, double measured) const {
    what.value = measured;
    what.repetitions = repetitions_;
    sink_(what);
  }

  void report(const std::string& where, const pools& of, const std::string& series,
              bool has_goals) const {
    report_values(sink_, figure("steps of growth" + where, "steps", series), of.steps);
    report_values(sink_, figure("pool at the end" + where, "MiB", series), of.sizes);
    report_values(sink_, figure("insertions" + where, rate_unit, series), of.rates);
    report_times("insertion", where, of.all.inserts, series, has_goals);
    report_times("update of a map", where, of.all.updates, series, has_goals);
  }

  void report_times(const std::string& operation, const std::string& where,
                    const write_times& times, const std::string& series, bool has_goals) const {
    for (const auto& [part, in] : {std::pair{std::string(), &times.all},
                                   std::pair{std::string(" in a step"), &times.in_steps}}) {
      for (const auto& [q, text] : {std::pair{0.5, "50 % of "}, std::pair{0.99, "99 % of "},
                                    std::pair{0.999, "99.9 % of "}}) {
        micro_figure one = figure(text + operation + part + " within" + where, "us", series);
        if (has_goals && medium_ == "tmpfs" && q == 0.999) one.goal = goal_unless_quick(5000);
        report_one(one, in->quantile_us(q));
      }
      report_one(figure("longest " + operation + part + where, "us", series), in->max_us());
      report_one(figure("count of " + operation + part + where, "operations", series),
                 static_cast<double>(in->count()));
    }
  }

  [[nodiscard]] store_result fill_store(const std::string& engine, const load& of) const {
    const store_directory in(directory_);
    return run_db_bench(
               {"--engine=" + engine, "--db=" + in.name(), "--num=" + std::to_string(of.keys),
                "--value_size=" + std::to_string(sizeof(value)), "--sync=0", "--histogram",
                "--threads=" + std::to_string(of.threads), "--benchmarks=filluniquerandom"})
        .at("filluniquerandom");
  }

  const micro_settings& settings_;
  const micro_sink& sink_;
  std::filesystem::path directory_;
  std::string benchmark_;
  std::string medium_;
  unsigned repetitions_;
};

std::vector<unsigned> inserting_threads(const micro_settings& settings) {
  if (!settings.threads.empty()) return settings.threads;
  return settings.quick ? std::vector<unsigned>{2} : std::vector<unsigned>{1, 2, 4};
}

}  // namespace

void measure_growth(const micro_settings& settings, const micro_sink& sink) {
  growth_measuring all(settings, sink, settings.pool_directory, "growth");
  for (const unsigned threads : inserting_threads(settings)) all.measure(threads, {});
}

void measure_growth_on_disk(const micro_settings& settings, const micro_sink& sink) {
  growth_measuring all(settings, sink, settings.disk_directory, "growth-disk");
  const std::vector<std::string> known = known_engines();
  std::vector<std::pair<std::string, std::string>> stores;
  for (const auto& [name, engine] : {std::pair{"LMDB", "lmdb"}, std::pair{"RocksDB", "rocksdb"}}) {
    if (std::find(known.begin(), known.end(), engine) != known.end())
      stores.emplace_back(name, engine);
  }
  for (const unsigned threads : inserting_threads(settings)) all.measure(threads, stores);
}

}  // namespace outlast::bench
