#include <bench/engine/runner.hpp>

#include <bench/engine/machine.hpp>
#include <bench/engine/statistics.hpp>
#include <outlast/base/error.hpp>
#include <outlast/base/thread_context.hpp>
#include <outlast/hw/flush.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

namespace outlast::bench {
namespace {

using clock = std::chrono::steady_clock;

/// Operations between two looks at the phase.
constexpr std::uint32_t batch = 128;
/// Structures up to this size are built anew for each repetition, so that no series keeps a lucky
/// or unlucky layout; larger ones are built once for each point.
constexpr std::uint64_t rebuilt_up_to = 20'000;
constexpr std::uint64_t prefill_seed = 0x6f75746c617374;

enum class phase { waiting, warming, measuring, done };

double seconds_between(clock::time_point from, clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

/// One thread of a run: its worker, and what became of it.
struct alignas(128) member {
  explicit member(std::uint64_t seed) : self(seed) {}

  worker self;
  double mops = 0;
  std::uint64_t flushes = 0;
  std::uint64_t fences = 0;
  std::exception_ptr failure;
};

/// Threads that run a body each on a member of their own and wait for a common start.
class crew {
 public:
  template <class Body>
  crew(unsigned threads, std::uint64_t seed, const std::atomic<phase>& now, Body body) {
    const std::vector<int> cpus = usable_cpus();
    splitmix64 seeds(seed);
    for (unsigned i = 0; i < threads; ++i) {
      members_.push_back(std::make_unique<member>(seeds()));
    }
    for (unsigned i = 0; i < threads; ++i) {
      const int cpu = threads <= cpus.size() ? cpus[i] : -1;
      threads_.emplace_back(
          [this, &now, body, cpu, one = members_[i].get()] { enter(*one, now, body, cpu); });
    }
    while (ready_.load(std::memory_order_acquire) != threads) std::this_thread::yield();
  }

  crew(const crew&) = delete;
  crew& operator=(const crew&) = delete;

  /// Waits for all; rethrows the first failure.
  const std::vector<std::unique_ptr<member>>& join() {
    for (std::jthread& thread : threads_) thread.join();
    for (const auto& one : members_) {
      if (one->failure) std::rethrow_exception(one->failure);
    }
    return members_;
  }

  [[nodiscard]] std::int64_t growth() const {
    std::int64_t sum = 0;
    for (const auto& one : members_) {
      sum += static_cast<std::int64_t>(one->self.inserted) -
             static_cast<std::int64_t>(one->self.erased);
    }
    return sum;
  }

 private:
  template <class Body>
  void enter(member& one, const std::atomic<phase>& now, const Body& body, int cpu) {
    if (cpu >= 0) pin_this_thread(cpu);
    static_cast<void>(base::this_thread());  // registered before the start, not in the first batch
    ready_.fetch_add(1, std::memory_order_release);
    while (now.load(std::memory_order_acquire) == phase::waiting) hw::pause();
    try {
      body(one);
    } catch (...) {
      one.failure = std::current_exception();
    }
  }

  std::vector<std::unique_ptr<member>> members_;
  std::atomic<unsigned> ready_{0};
  std::vector<std::jthread> threads_;
};

void warm_and_measure(subject& target, member& one, const std::atomic<phase>& now) {
  while (now.load(std::memory_order_relaxed) == phase::warming) target.run(one.self, batch);
  const std::uint64_t before = one.self.operations;
  const clock::time_point start = clock::now();
  do {  // at least once: on a busy machine this thread may first run when time is up
    target.run(one.self, batch);
  } while (now.load(std::memory_order_relaxed) == phase::measuring);
  const double elapsed = seconds_between(start, clock::now());
  const auto done = static_cast<double>(one.self.operations - before);
  one.mops = elapsed > 0 ? done / elapsed / 1e6 : 0;
}

void run_and_count(subject& target, member& one, std::uint32_t operations) {
  const base::thread_context& context = base::this_thread();
  const std::uint64_t flushes = context.flushes;
  const std::uint64_t fences = context.fences;
  target.run(one.self, operations);
  one.flushes = context.flushes - flushes;
  one.fences = context.fences - fences;
}

void pause_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// A combination at a point, with its measurements so far.
class series {
 public:
  series(const registration& entry, subject_options options)
      : entry_(&entry), options_(std::move(options)) {}

  [[nodiscard]] const registration& entry() const noexcept { return *entry_; }
  [[nodiscard]] const std::vector<double>& mops() const noexcept { return mops_; }

  void repeat(unsigned threads, double seconds, std::uint64_t seed) {
    if (!target_) build(entry_->make);
    const timed_result result = timed_run(*target_, threads, seconds, seconds / 5, seed);
    mops_.push_back(result.mops);
    expected_count_ += result.growth;
    if (options_.mix.size <= rebuilt_up_to) finish();
  }

  /// Judges and drops the structure.
  void finish() {
    if (!target_) return;
    const auto held = static_cast<std::int64_t>(target_->count());
    target_.reset();
    if (held != expected_count_) fail(held);
  }

  [[nodiscard]] counted_result count(unsigned threads, std::uint32_t operations,
                                     std::uint64_t seed) {
    if (!entry_->make_counting) return {};
    build(entry_->make_counting);
    const counted_result result = counted_run(*target_, threads, operations, seed);
    expected_count_ += result.growth;
    finish();
    return result;
  }

 private:
  void build(const subject_factory& make) {
    target_ = make(options_);
    prefill(*target_, options_.mix, prefill_seed);
    expected_count_ = static_cast<std::int64_t>(options_.mix.size);
  }

  [[noreturn]] void fail(std::int64_t held) const {
    throw corruption("", entry_->names.structure + " with " + entry_->names.policy + " over " +
                             entry_->names.domain + " holds " + std::to_string(held) +
                             " keys where its results say " + std::to_string(expected_count_));
  }

  const registration* entry_;
  subject_options options_;
  std::unique_ptr<subject> target_;
  std::int64_t expected_count_ = 0;
  std::vector<double> mops_;
};

/// One point of a figure: all series at one size, mix and number of threads.
struct point {
  std::string structure;
  unsigned threads = 0;
  workload mix;
};

std::vector<point> points_of(const experiment& what) {
  std::vector<point> points;
  for (const std::string& structure : what.structures) {
    for (const std::uint64_t size : what.sizes.at(structure)) {
      for (const key_distribution& distribution : what.workloads) {
        for (const double updates : what.update_percents) {
          for (const unsigned threads : what.threads) {
            points.push_back({structure, threads, {size, updates, distribution}});
          }
        }
      }
    }
  }
  return points;
}

/// Can it be measured here?
bool is_built(const registration* entry) { return entry != nullptr && entry->make; }

/// The twin first, then what the experiment asks for. Combinations that this build lacks are left
/// out; `transient` is measured as the twin alone.
std::vector<const registration*> lineup(const experiment& what, const std::string& structure,
                                        const registry& known) {
  const combination twin{structure, std::string(twin_policy), std::string(twin_domain)};
  const registration* const first = known.find(twin);
  if (!is_built(first)) {
    throw error(errc::bad_argument, "", structure + " has no transient twin in this program");
  }
  std::vector<const registration*> result{first};
  for (const std::string& domain : what.domains) {
    for (const std::string& policy : what.policies) {
      const registration* const entry = known.find({structure, policy, domain});
      if (is_built(entry) && policy != twin_policy) result.push_back(entry);
    }
  }
  return result;
}

class point_run {
 public:
  point_run(const experiment& what, const registry& known, const run_settings& settings,
            const point& where)
      : what_(what), settings_(settings), where_(where) {
    for (const registration* entry : lineup(what, where.structure, known)) {
      series_.emplace_back(*entry, subject_options{where.mix, settings.pool_directory});
    }
  }

  void measure() {
    for (unsigned repetition = 0; repetition < what_.repetitions; ++repetition) {
      for (std::size_t i = 0; i < series_.size(); ++i) {
        series& next = series_[(i + repetition) % series_.size()];
        next.repeat(where_.threads, what_.seconds, settings_.seed + repetition);
      }
    }
    for (series& one : series_) one.finish();
  }

  void report(const std::function<void(const record&)>& sink) {
    const std::uint32_t operations = settings_.quick ? 4'000 : 40'000;
    for (series& one : series_) {
      sink(summary(one, one.count(where_.threads, operations, settings_.seed)));
    }
  }

 private:
  [[nodiscard]] record summary(const series& one, const counted_result& counts) const {
    const std::vector<double> ratios = pairwise_ratios(one.mops(), series_.front().mops());
    return {.figure = what_.figure,
            .names = one.entry().names,
            .threads = where_.threads,
            .size = where_.mix.size,
            .update_percent = where_.mix.update_percent,
            .workload = where_.mix.distribution.name(),
            .mops = median(one.mops()),
            .spread = spread(one.mops()),
            .ratio_to_transient = median(ratios),
            .ratio_spread = spread(ratios),
            .flushes_per_op = counts.flushes_per_op,
            .fences_per_op = counts.fences_per_op,
            .repetitions = what_.repetitions,
            .seconds = what_.seconds,
            .quick = settings_.quick};
  }

  const experiment& what_;
  const run_settings& settings_;
  const point& where_;
  std::vector<series> series_;
};

}  // namespace

void prefill(subject& target, const workload& mix, std::uint64_t seed) {
  xoshiro256 random(seed);
  for (std::uint64_t held = 0; held < mix.size;) {
    held += target.insert(random.below(mix.range())) ? 1 : 0;
  }
  std::uint64_t found = 0;
  for (std::uint64_t key = 0; key < mix.range(); ++key) found += target.contains(key) ? 1 : 0;
  if (found != mix.size) {
    throw corruption("", "of " + std::to_string(mix.size) + " keys inserted, " +
                             std::to_string(found) + " were found");
  }
}

timed_result timed_run(subject& target, unsigned threads, double seconds, double warm_up_seconds,
                       std::uint64_t seed) {
  std::atomic<phase> now{phase::waiting};
  crew workers(threads, seed, now,
               [&target, &now](member& one) { warm_and_measure(target, one, now); });
  now.store(phase::warming, std::memory_order_release);
  pause_for(warm_up_seconds);
  now.store(phase::measuring, std::memory_order_release);
  pause_for(seconds);
  now.store(phase::done, std::memory_order_release);
  timed_result result;
  for (const auto& one : workers.join()) result.mops += one->mops;
  result.growth = workers.growth();
  return result;
}

counted_result counted_run(subject& target, unsigned threads, std::uint32_t operations,
                           std::uint64_t seed) {
  std::atomic<phase> now{phase::waiting};
  crew workers(threads, seed, now, [&](member& one) { run_and_count(target, one, operations); });
  now.store(phase::measuring, std::memory_order_release);
  counted_result result;
  const double total = static_cast<double>(operations) * threads;
  for (const auto& one : workers.join()) {
    result.flushes_per_op += static_cast<double>(one->flushes) / total;
    result.fences_per_op += static_cast<double>(one->fences) / total;
  }
  result.growth = workers.growth();
  return result;
}

void run_experiment(const experiment& what, const registry& known, const run_settings& settings,
                    const std::function<void(const record&)>& report) {
  for (const point& where : points_of(what)) {
    point_run run(what, known, settings, where);
    run.measure();
    run.report(report);
  }
}

}  // namespace outlast::bench
