// What buffered structures do to their media: how a map comes back after a kill, exact counts of
// flushes and fences, and what a disk has to write. [Wen21, 6.4]
#include <bench/engine/machine.hpp>
#include <bench/micro/epoch_subjects.hpp>
#include <bench/peers/stores.hpp>
#include <outlast/base/thread_context.hpp>
#include <outlast/domain/adr.hpp>
#include <outlast/domain/counting.hpp>
#include <outlast/domain/file.hpp>
#include <outlast/domain/logged_file.hpp>
#include <outlast/durable.hpp>
#include <outlast/epoch/lockfree_hash_map.hpp>
#include <outlast/epoch/lockfree_queue.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace outlast::bench {
namespace {

using domain::adr;
using counted = domain::counting<adr>;
using clock = std::chrono::steady_clock;

constexpr std::size_t value_bytes = 1024;

template <class Value>
using nonblocking_queue = epoch::lockfree_queue<Value, counted>;
template <class Value>
using strict_queue = lockfree::michael_scott_queue<
    Value, durable::flit<durable::tag::adjacent, durable::automatic, counted>>;

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

// ---- Recovery ----

/// A pool file with a map of so many keys, left as a kill leaves it.
class killed_map {
  using map = epoch::hash_map<std::string, std::string, adr>;

 public:
  killed_map(const std::filesystem::path& directory, std::uint64_t keys)
      : path_(unused_path(directory)), keys_(keys) {
    const std::size_t bytes = (std::size_t{64} << 20) + keys * (2 * value_bytes + 512);
    auto pool = basic_pool<adr>::create(path_.string(), {.size_bytes = bytes});
    map filled(pool, "map");
    hand filler(1, value_bytes);
    for (std::uint64_t i = 0; i < keys; ++i) (void)filled.insert(filler.key_of(i), filler.value);
    filled.sync();
  }
  killed_map(const killed_map&) = delete;
  killed_map& operator=(const killed_map&) = delete;
  ~killed_map() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  /// Seconds until the map can be used. It is abandoned again.
  [[nodiscard]] double open_seconds() const {
    const clock::time_point start = clock::now();
    auto pool = basic_pool<adr>::open(path_.string());
    map opened(pool, "map");
    const double spent = seconds_since(start);
    if (opened.size_estimate() != keys_) throw std::runtime_error("keys were lost");
    return spent;
  }

 private:
  std::filesystem::path path_;
  std::uint64_t keys_;
};

/// `body` on one CPU: threads that it starts stay there too.
template <class Body>
auto on_one_cpu(Body&& body) {
  return std::async(std::launch::async,
                    [&] {
                      pin_this_thread(usable_cpus().front());
                      return body();
                    })
      .get();
}

// ---- Counts ----

/// Flushes and fences of one thread.
struct instructions {
  double flushes = 0;
  double fences = 0;

  static instructions of_this_thread() {
    const base::thread_context& context = base::this_thread();
    return {static_cast<double>(context.flushes), static_cast<double>(context.fences)};
  }
  instructions& operator+=(const instructions& other) {
    flushes += other.flushes;
    fences += other.fences;
    return *this;
  }
  friend instructions operator-(const instructions& a, const instructions& b) {
    return {a.flushes - b.flushes, a.fences - b.fences};
  }
};

template <class Action>
instructions instructions_of(Action&& action) {
  const instructions before = instructions::of_this_thread();
  action();
  return instructions::of_this_thread() - before;
}

void report(const micro_sink& sink, const std::string& subject, const instructions& all,
            std::uint64_t operations) {
  const auto each = static_cast<double>(operations);
  sink({"epochs-counts", subject, all.flushes / each, "flushes/op", 0, 1});
  sink({"epochs-counts", subject, all.fences / each, "fences/op", 0, 1});
}

/// One thread, which ticks itself: what operations do, and what ticks do, for each operation.
void count(const micro_settings& settings, const micro_sink& sink, epoch_subject& subject,
           const std::string& name, const operation_mix& mix) {
  const std::uint64_t rounds = settings.quick ? 4 : 40;
  const bool ticks = subject.now() != 0;
  for (const std::uint64_t epoch : {std::uint64_t{1'000}, std::uint64_t{10'000}}) {
    hand self(1, value_bytes);
    instructions by_operations;
    instructions by_ticks;
    for (std::uint64_t r = 0; r < rounds; ++r) {
      by_operations += instructions_of([&] { subject.run(self, mix, epoch); });
      by_ticks += instructions_of([&] { subject.tick(); });
    }
    const std::string where = name + (ticks ? ", epochs of " + std::to_string(epoch) : "");
    report(sink, where, by_operations, rounds * epoch);
    if (!ticks) break;
    report(sink, where + ", by ticks", by_ticks, rounds * epoch);
  }
  subject.check();
}

// ---- A disk ----

/// Bytes that this process has made the file system write, or will have.
std::uint64_t bytes_to_disk() {
  std::ifstream counters("/proc/self/io");
  std::string name;
  for (std::uint64_t value = 0; counters >> name >> value;) {
    if (name == "write_bytes:") return value;
  }
  return 0;
}

/// What a domain with a device has done to it, for the pool at `base`.
template <class Domain>
domain::log_counters use_of_device(const std::byte* base) {
  if constexpr (domain::logs_lines<Domain>) {
    return Domain::counters(base);
  } else {
    return {.page_bytes = Domain::synced_pages() * pool_format::page_bytes,
            .syncs = Domain::device_syncs()};
  }
}

/// What has happened up to a moment.
struct disk_counters {
  domain::log_counters use;
  double bytes;
  double ticks;
  double payloads;
  clock::time_point when;
};

/// Runs of a map on a disk, beside one in memory, and what they do to the disk.
template <class Domain>
class disk_runs {
 public:
  disk_runs(const micro_settings& settings, const map_setup& on_disk)
      : in_memory_(make_epoch_map<epoch::buffered<adr>>(in(settings.pool_directory, on_disk))),
        on_disk_(make_epoch_map<epoch::buffered<Domain>>(on_disk)) {
    on_disk_->sync();
  }

  /// One repetition at one length of epochs; `how` of both maps.
  void run(const epoch::clock_options& options, const run_settings& how) {
    const double memory_mops = mops(*in_memory_, options, how);
    const disk_counters before = counters();
    const double disk_mops = mops(*on_disk_, options, how);
    on_disk_->sync();
    const disk_counters after = counters();
    const double ticks = after.ticks - before.ticks;
    mops_.push_back(disk_mops);
    ratios_.push_back(disk_mops / memory_mops);
    epochs_ms_.push_back(
        std::chrono::duration<double, std::milli>(after.when - before.when).count() / ticks);
    syncs_.push_back(difference(before, after, &domain::log_counters::syncs) / ticks);
    const double payload = (after.payloads - before.payloads) * payload_bytes;
    written_.push_back((after.bytes - before.bytes) / payload);
    flushed_.push_back(difference(before, after, &domain::log_counters::lines) * 64 / payload);
    logged_.push_back(difference(before, after, &domain::log_counters::log_bytes) / payload);
    in_place_.push_back(difference(before, after, &domain::log_counters::page_bytes) / payload);
  }

  /// What the runs since the last report gave.
  void report(const micro_sink& sink, const std::string& where) {
    const std::string benchmark = "epochs-file";
    report_values(sink, {benchmark, where, 0, "Mops/s"}, std::exchange(mops_, {}));
    report_values(sink, {benchmark, where + " / adr", 0, "ratio"}, std::exchange(ratios_, {}));
    report_values(sink, {benchmark, where + ": an epoch", 0, "ms"}, std::exchange(epochs_ms_, {}));
    report_values(sink, {benchmark, where, 0, "syncs/tick"}, std::exchange(syncs_, {}));
    report_values(sink, {benchmark, where + ": written", 0, "times"}, std::exchange(written_, {}));
    if (domain::logs_lines<Domain>) {
      report_values(sink, {benchmark, where + ": lines", 0, "times"}, std::exchange(flushed_, {}));
      report_values(sink, {benchmark, where + ": log", 0, "times"}, std::exchange(logged_, {}));
    }
    report_values(sink, {benchmark, where + ": in place", 0, "times"},
                  std::exchange(in_place_, {}));
    on_disk_->check();
  }

 private:
  static constexpr double payload_bytes = 32 + value_bytes;

  static map_setup in(const std::filesystem::path& directory, map_setup setup) {
    setup.directory = directory;
    return setup;
  }

  static double difference(const disk_counters& before, const disk_counters& after,
                           std::uint64_t domain::log_counters::* which) {
    return static_cast<double>(after.use.*which - before.use.*which);
  }

  double mops(epoch_subject& map, const epoch::clock_options& options, const run_settings& how) {
    const clock_running running(map, options);
    return mops_of(how, [&](hand& self) {
      const std::uint64_t added = self.added;
      const std::uint64_t done = map.run(self, {});
      payloads_.fetch_add(self.added - added, std::memory_order_relaxed);
      return done;
    });
  }

  [[nodiscard]] disk_counters counters() {
    return {use_of_device<Domain>(on_disk_->memory()), static_cast<double>(bytes_to_disk()),
            static_cast<double>(on_disk_->now()), static_cast<double>(payloads_.load()),
            clock::now()};
  }

  std::unique_ptr<epoch_subject> in_memory_;
  std::unique_ptr<epoch_subject> on_disk_;
  std::atomic<std::uint64_t> payloads_{0};
  std::vector<double> mops_, ratios_, epochs_ms_, syncs_;
  std::vector<double> written_, flushed_, logged_, in_place_;
};

/// One series: epochs of 10 and of 100 ms.
template <class Domain>
void measure_disk(const micro_settings& settings, const micro_sink& sink, const map_setup& setup,
                  const std::string& name) {
  disk_runs<Domain> runs(settings, setup);
  const unsigned threads = threads_of(settings).back();
  for (const unsigned length_ms : {10U, 100U}) {
    epoch::clock_options options;
    options.epoch_length = std::chrono::milliseconds(length_ms);
    // The sync that ends a run may take minutes.
    for (unsigned r = 0; r < std::min(repetitions_of(settings), 3U); ++r) {
      runs.run(options, run_of(settings, threads, value_bytes));
    }
    runs.report(sink, "map on a disk, " + name + ", " + std::to_string(threads) +
                          " threads, epochs of " + std::to_string(length_ms) + " ms");
  }
}

/// A store that others have written, on the same disk.
void measure_store(const micro_settings& settings, const micro_sink& sink, const map_setup& setup,
                   const store_peer& peer, bool synced) {
  const std::unique_ptr<epoch_subject> store = peer.make(setup, synced);
  const unsigned threads = threads_of(settings).back();
  std::vector<double> kops;
  std::vector<double> written;
  for (unsigned r = 0; r < std::min(repetitions_of(settings), 3U); ++r) {
    std::atomic<std::uint64_t> added{0};
    const auto before = static_cast<double>(bytes_to_disk());
    const double mops = mops_of(run_of(settings, threads, setup.value_bytes), [&](hand& self) {
      const std::uint64_t had = self.added;
      const std::uint64_t done = store->run(self, {}, synced ? 8 : batch_operations);
      added.fetch_add(self.added - had, std::memory_order_relaxed);
      return done;
    });
    const auto bytes = static_cast<double>(bytes_to_disk()) - before;
    kops.push_back(mops * 1e3);
    written.push_back(bytes / (static_cast<double>(added.load()) * (32 + value_bytes)));
  }
  store->check();
  const std::string where = "map on a disk, " + peer.name + (synced ? ", each" : ", no") +
                            " write synced, " + std::to_string(threads) + " threads";
  report_values(sink, {"epochs-file", where, 0, "Kops/s"}, kops);
  report_values(sink, {"epochs-file", where + ": written", 0, "times"}, written);
}

}  // namespace

void measure_epoch_recovery(const micro_settings& settings, const micro_sink& sink) {
  const std::uint64_t keys = settings.quick ? 20'000 : 1'000'000;
  const killed_map killed(settings.pool_directory, keys);
  const std::string subject = "map of " + std::to_string(keys) + " keys, 1024 B, after a kill, ";
  const unsigned repetitions = repetitions_of(settings);
  report_median(sink, {"epochs-recovery", subject + "1 CPU", 0, "s"}, repetitions,
                [&] { return on_one_cpu([&] { return killed.open_seconds(); }); });
  const std::size_t cpus = usable_cpus().size();
  if (cpus == 1) return;
  report_median(sink, {"epochs-recovery", subject + std::to_string(cpus) + " CPUs", 0, "s"},
                repetitions, [&] { return killed.open_seconds(); });
}

void measure_epoch_counts(const micro_settings& settings, const micro_sink& sink) {
  const map_setup setup{settings.pool_directory, settings.quick ? 2'000U : 100'000U, value_bytes};
  for (const operation_mix& mix : {operation_mix{0, 1, 1}, operation_mix{18, 1, 1}}) {
    const std::string where = "map " + mix.name() + ": ";
    count(settings, sink, *make_epoch_map<epoch::buffered<counted>>(setup), where + "montage", mix);
    using nonblocking_map = epoch::lockfree_hash_map<std::string, std::string, counted>;
    count(settings, sink, *make_lock_free_map<nonblocking_map>(setup), where + "lockfree", mix);
    count(settings, sink, *make_set_map<sets::link_free<counted>>(setup), where + "link_free", mix);
    count(settings, sink, *make_set_map<sets::soft<counted>>(setup), where + "soft", mix);
  }
  const std::filesystem::path& directory = settings.pool_directory;
  count(settings, sink, *make_epoch_queue<epoch::buffered<counted>, value_bytes>(directory),
        "queue: montage", {});
  count(settings, sink, *make_queue<nonblocking_queue, value_bytes>(directory), "queue: lockfree",
        {});
  count(settings, sink, *make_queue<strict_queue, value_bytes>(directory), "queue: flit", {});
}

void measure_epoch_file(const micro_settings& settings, const micro_sink& sink) {
  map_setup setup{std::filesystem::current_path(), settings.quick ? 2'000U : 1'000'000U,
                  value_bytes};
  setup.more_bytes = std::size_t{2} << 30;  // epochs may be long
  measure_disk<domain::file>(settings, sink, setup, "file");
  // The larger the log, the more of what it holds a checkpoint need not write.
  for (const std::size_t log_mib : {64U, 1024U}) {
    setup.log_bytes = log_mib << 20;
    measure_disk<domain::logged_file>(settings, sink, setup,
                                      "logged_file of " + std::to_string(log_mib) + " MiB");
  }
  for (const store_peer& peer : store_peers()) {
    for (const bool synced : {false, true}) measure_store(settings, sink, setup, peer, synced);
  }
}

}  // namespace outlast::bench
