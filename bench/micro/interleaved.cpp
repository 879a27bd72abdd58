#include <bench/micro/interleaved.hpp>

#include <bench/engine/machine.hpp>
#include <bench/engine/statistics.hpp>
#include <outlast/base/thread_context.hpp>
#include <outlast/hw/flush.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <utility>

namespace outlast::bench {
namespace {

using clock = std::chrono::steady_clock;

enum class phase { waiting, warming, measuring, done };

double measure(hand& self, const batch& body, const std::atomic<phase>& now) {
  while (now.load(std::memory_order_acquire) == phase::waiting) hw::pause();
  while (now.load(std::memory_order_relaxed) == phase::warming) (void)body(self);
  const clock::time_point start = clock::now();
  std::uint64_t done = 0;
  do {  // at least once: on a busy machine this thread may first run when time is up
    done += body(self);
  } while (now.load(std::memory_order_relaxed) == phase::measuring);
  const std::chrono::duration<double> elapsed = clock::now() - start;
  return static_cast<double>(done) / elapsed.count() / 1e6;
}

}  // namespace

run_settings run_of(const micro_settings& settings, unsigned threads, std::size_t value_bytes) {
  const double usual = settings.quick ? 0.01 : 1;
  return {threads, value_bytes, settings.seconds > 0 ? settings.seconds : usual};
}

unsigned repetitions_of(const micro_settings& settings) {
  if (settings.repetitions != 0) return settings.repetitions;
  return settings.quick ? 3 : 5;
}

std::vector<unsigned> threads_of(const micro_settings& settings) {
  return settings.threads.empty() ? std::vector<unsigned>{1, 2} : settings.threads;
}

double mops_of(const run_settings& how, const batch& body) {
  std::atomic<phase> now{phase::waiting};
  std::atomic<unsigned> ready{0};
  const std::vector<int> cpus = usable_cpus();
  std::vector<std::future<double>> workers;
  for (unsigned t = 0; t < how.threads; ++t) {
    const int cpu = how.threads <= cpus.size() ? cpus[t] : -1;
    workers.push_back(std::async(std::launch::async, [&, t, cpu] {
      if (cpu >= 0) pin_this_thread(cpu);
      static_cast<void>(base::this_thread());  // registered before the start
      hand self(t + 1, how.value_bytes);
      ready.fetch_add(1, std::memory_order_release);
      return measure(self, body, now);
    }));
  }
  while (ready.load(std::memory_order_acquire) != how.threads) std::this_thread::yield();
  for (const auto& [next, seconds] : {std::pair{phase::warming, how.seconds / 5},
                                      {phase::measuring, how.seconds},
                                      {phase::done, 0.0}}) {
    now.store(next, std::memory_order_release);
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }
  double sum = 0;
  for (std::future<double>& each : workers) sum += each.get();
  return sum;
}

void report_values(const micro_sink& sink, micro_figure figure, const std::vector<double>& values) {
  figure.value = median(values);
  figure.spread = spread(values);
  figure.repetitions = static_cast<unsigned>(values.size());
  sink(figure);
}

std::string on_threads(const std::string& what, unsigned threads) {
  return what + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

void report_interleaved(const micro_sink& sink, const std::string& benchmark,
                        const std::string& where, unsigned repetitions,
                        const std::vector<std::size_t>& references,
                        const std::vector<series>& all) {
  std::vector<std::vector<double>> measured(all.size(), std::vector<double>(repetitions));
  for (unsigned r = 0; r < repetitions; ++r) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t next = (i + r) % all.size();
      measured[next][r] = all[next].mops();
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string subject = where + ": " + all[i].name;
    report_values(sink, {benchmark, subject, 0, "Mops/s"}, measured[i]);
    for (const std::size_t reference : references) {
      if (i == reference) continue;
      report_values(sink, {benchmark, subject + " / " + all[reference].name, 0, "ratio"},
                    pairwise_ratios(measured[i], measured[reference]));
    }
  }
}

void report_interleaved(const micro_sink& sink, const std::string& benchmark,
                        const std::string& where, unsigned repetitions, std::size_t reference,
                        const std::vector<series>& all) {
  report_interleaved(sink, benchmark, where, repetitions, std::vector{reference}, all);
}

}  // namespace outlast::bench
