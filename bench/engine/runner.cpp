#include <bench/engine/runner.hpp>

#include <bench/engine/machine.hpp>
#include <bench/engine/slowed.hpp>
#include <bench/engine/statistics.hpp>
#include <outlast/base/error.hpp>
#include <outlast/base/thread_context.hpp>
#include <outlast/hw/flush.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace outlast::bench {
namespace {

using clock = std::chrono::steady_clock;

/// Operations between two looks at the phase.
constexpr std::uint32_t batch = 128;
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

/// Inserts the share of one of `threads` threads: as many random keys as it gets of the `size`,
/// among those that are `which` modulo `threads`. Then looks all of those up.
void fill_share(subject& target, const workload& mix, unsigned which, unsigned threads,
                worker& self) {
  const std::uint64_t own_keys = (mix.range() - which + threads - 1) / threads;
  const std::uint64_t share = mix.size / threads + (which < mix.size % threads ? 1 : 0);
  while (self.inserted < share) {
    const std::uint64_t key = self.random.below(own_keys) * threads + which;
    self.inserted += target.insert(key) ? 1 : 0;
  }
  for (std::uint64_t i = 0; i < own_keys; ++i) {
    self.found += target.contains(i * threads + which) ? 1 : 0;
  }
}

std::uint64_t fill_together(subject& target, const workload& mix, std::uint64_t seed,
                            unsigned threads) {
  const std::atomic<phase> at_once{phase::measuring};
  std::atomic<unsigned> next{0};
  crew workers(threads, seed, at_once,
               [&](member& one) { fill_share(target, mix, next.fetch_add(1), threads, one.self); });
  std::uint64_t found = 0;
  for (const auto& one : workers.join()) found += one->self.found;
  return found;
}

void pause_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// One point of a figure: all series at one size, mix and number of threads.
struct point {
  std::string structure;
  unsigned threads = 0;
  workload mix;
  unsigned added_fence_ns = 0;
};

std::vector<point> points_of(const experiment& what) {
  std::vector<point> points;
  for (const std::string& structure : what.structures) {
    for (const std::uint64_t size : what.sizes.at(structure)) {
      for (const key_distribution& distribution : what.workloads) {
        for (const double updates : what.update_percents) {
          for (const unsigned added : what.added_fence_ns) {
            for (const unsigned threads : what.threads) {
              points.push_back({structure, threads, {size, updates, distribution}, added});
            }
          }
        }
      }
    }
  }
  return points;
}

/// A combination, its structure, and its measurements at the current point.
class series {
 public:
  series(const registration& entry, const experiment& what, const run_settings& settings)
      : entry_(&entry), what_(&what), settings_(&settings) {}

  [[nodiscard]] const combination& names() const noexcept { return entry_->names; }
  [[nodiscard]] const std::vector<double>& mops() const noexcept { return mops_; }

  void begin() { mops_.clear(); }

  void repeat(const point& where, std::uint64_t seed) {
    if (!target_) build(entry_->make, where.mix);
    target_->use(where.mix);
    const slower_fences on_slower_media(where.added_fence_ns);
    const double seconds = what_->seconds;
    const timed_result result = timed_run(*target_, where.threads, seconds, seconds / 5, seed);
    mops_.push_back(result.mops);
    expected_count_ += result.growth;
    if (where.mix.size <= settings_->rebuilt_up_to) finish();
  }

  /// Judges and drops the structure.
  void finish() {
    if (!target_) return;
    const auto held = static_cast<std::int64_t>(target_->count());
    target_.reset();
    if (held != expected_count_) fail(held);
  }

  /// Nothing if nobody counts this combination, or it is not worth the time.
  [[nodiscard]] std::optional<counted_result> count(const point& where) {
    if (names().domain == twin_domain) return counted_result{};  // it never flushes
    if (!entry_->make_counting || where.mix.size > settings_->kept_above) return std::nullopt;
    build(entry_->make_counting, where.mix);
    const std::uint32_t operations = settings_->quick ? 4'000 : 40'000;
    const counted_result result = counted_run(*target_, where.threads, operations, settings_->seed);
    expected_count_ += result.growth;
    finish();
    return result;
  }

 private:
  void build(const subject_factory& make, const workload& mix) {
    target_ = make({mix, settings_->pool_directory, what_->shadow_on_media});
    const bool worth_threads = mix.size > settings_->rebuilt_up_to;
    const auto threads = worth_threads ? static_cast<unsigned>(usable_cpus().size()) : 1U;
    prefill(*target_, mix, prefill_seed, threads);
    expected_count_ = static_cast<std::int64_t>(mix.size);
  }

  [[noreturn]] void fail(std::int64_t held) const {
    throw corruption("", names().structure + " with " + names().policy + " over " + names().domain +
                             " holds " + std::to_string(held) + " keys where its results say " +
                             std::to_string(expected_count_));
  }

  const registration* entry_;
  const experiment* what_;
  const run_settings* settings_;
  std::unique_ptr<subject> target_;
  std::int64_t expected_count_ = 0;
  std::vector<double> mops_;
};

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

/// Lines are flushed by the instruction that an experiment names, if it names one, while it lives.
class named_instruction {
 public:
  explicit named_instruction(std::optional<hw::flush_instruction> wanted)
      : before_(hw::chosen_flush_instruction()) {
    if (wanted) hw::choose_flush_instruction(*wanted);
  }
  ~named_instruction() {
    if (hw::can_run(before_)) hw::choose_flush_instruction(before_);
  }
  named_instruction(const named_instruction&) = delete;
  named_instruction& operator=(const named_instruction&) = delete;

 private:
  hw::flush_instruction before_;
};

/// All series of a structure at one size, point by point.
class interleaved_series {
 public:
  interleaved_series(const experiment& what, const registry& known, const run_settings& settings,
                     const point& first)
      : what_(what),
        settings_(settings),
        structure_(first.structure),
        size_(first.mix.size),
        kept_(size_ > settings.kept_above) {
    for (const registration* entry : lineup(what, structure_, known)) {
      series_.emplace_back(*entry, what, settings);
    }
  }

  /// Is `next` another point for the structures that were kept?
  [[nodiscard]] bool serves(const point& next) const {
    return kept_ && next.structure == structure_ && next.mix.size == size_;
  }

  void measure(const point& where) {
    for (series& one : series_) one.begin();
    for (unsigned repetition = 0; repetition < what_.repetitions; ++repetition) {
      for (std::size_t i = 0; i < series_.size(); ++i) {
        series_[(i + repetition) % series_.size()].repeat(where, settings_.seed + repetition);
      }
    }
    if (!kept_) finish();
  }

  void report(const point& where, const std::function<void(const record&)>& sink) {
    for (series& one : series_) sink(summary(where, one, one.count(where)));
  }

  void finish() {
    for (series& one : series_) one.finish();
  }

 private:
  [[nodiscard]] record summary(const point& where, const series& one,
                               const std::optional<counted_result>& counts) const {
    const std::vector<double> ratios = pairwise_ratios(one.mops(), series_.front().mops());
    record result{.figure = what_.figure,
                  .names = one.names(),
                  .threads = where.threads,
                  .size = where.mix.size,
                  .update_percent = where.mix.update_percent,
                  .workload = where.mix.distribution.name(),
                  .added_fence_ns = where.added_fence_ns,
                  .shadow_on_media = what_.shadow_on_media,
                  .mops = median(one.mops()),
                  .spread = spread(one.mops()),
                  .ratio_to_transient = median(ratios),
                  .ratio_spread = spread(ratios),
                  .repeated_mops = one.mops(),
                  .repetitions = what_.repetitions,
                  .seconds = what_.seconds,
                  .quick = settings_.quick};
    if (counts) {
      result.flushes_per_op = counts->flushes_per_op;
      result.fences_per_op = counts->fences_per_op;
    }
    return result;
  }

  const experiment& what_;
  const run_settings& settings_;
  std::string structure_;
  std::uint64_t size_;
  bool kept_;
  std::vector<series> series_;
};

}  // namespace

void prefill(subject& target, const workload& mix, std::uint64_t seed, unsigned threads) {
  std::uint64_t found = 0;
  if (threads == 1) {
    worker alone(seed);
    fill_share(target, mix, 0, 1, alone);
    found = alone.found;
  } else {
    found = fill_together(target, mix, seed, threads);
  }
  // A queue or stack finds every key while one value is there.
  const std::uint64_t held = target.count();
  if (held != mix.size || found < mix.size) {
    throw corruption("", "of " + std::to_string(mix.size) + " keys inserted, " +
                             std::to_string(std::min(held, found)) + " were found");
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
  const named_instruction as_named(what.flush_instruction);
  std::optional<interleaved_series> running;
  for (const point& where : points_of(what)) {
    if (!running || !running->serves(where)) {
      if (running) running->finish();
      running.emplace(what, known, settings, where);
    }
    running->measure(where);
    running->report(where, report);
  }
  if (running) running->finish();
}

}  // namespace outlast::bench
