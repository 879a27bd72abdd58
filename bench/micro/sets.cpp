// What sets without durable links cost beyond single operations: an update beside an erasure and an
// insertion, a table that grows beside one that starts large, and coming back after a kill.
#include <bench/adapters/temporary_pool.hpp>
#include <bench/engine/machine.hpp>
#include <bench/engine/random.hpp>
#include <bench/micro/micro.hpp>
#include <outlast/domain/adr.hpp>
#include <outlast/sets/baselines/soft_in_place.hpp>
#include <outlast/sets/basic_hash.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace outlast::bench {
namespace {

using clock = std::chrono::steady_clock;
using domain::adr;

/// Seconds that `work` takes.
template <class Work>
double seconds_of(Work&& work) {
  const clock::time_point start = clock::now();
  work();
  return std::chrono::duration<double>(clock::now() - start).count();
}

/// One scheme's table of keys and values of 8 bytes.
template <class Scheme>
class scheme_costs {
  using table = sets::basic_hash<Scheme, std::uint64_t, std::uint64_t>;

 public:
  scheme_costs(const micro_settings& settings, const micro_sink& sink)
      : settings_(settings), sink_(sink) {}

  void measure() const {
    updates();
    growth();
    recovery();
  }

 private:
  static sets::table_options starting_with(std::uint64_t buckets) {
    sets::table_options made;
    made.buckets = buckets;
    return made;
  }

  /// Every key once, scattered, by as many threads as there are CPUs.
  static void fill(table& into, std::uint64_t keys) {
    const std::uint64_t threads = usable_cpus().size();
    std::vector<std::jthread> helpers;
    for (std::uint64_t t = 0; t < threads; ++t) {
      helpers.emplace_back([&, t] {
        constexpr std::uint64_t stride = 0x9e3779b97f4a7c15;  // odd: a bijection of the words
        for (std::uint64_t i = t; i < keys; i += threads) (void)into.insert(i * stride, i);
      });
    }
  }

  /// How many times as fast as erasing and inserting the key; one thread.
  void updates() const {
    const std::uint64_t keys = 10'000;
    const std::uint64_t rounds = settings_.quick ? 100'000 : 1'000'000;
    temporary_pool<adr> pool(settings_.pool_directory, {.size_bytes = pool_bytes_for(keys)});
    table measured(pool.get(), "table", starting_with(keys));
    for (std::uint64_t k = 0; k < keys; ++k) (void)measured.insert(k, k);
    xoshiro256 random(1);
    report_median(sink_, {"sets", "update beside erase and insert, " + Scheme::name(), 0, "times"},
                  settings_.quick ? 3 : 7, [&] {
                    const double updating = seconds_of([&] {
                      for (std::uint64_t i = 0; i < rounds; ++i) {
                        (void)measured.update(random() % keys, i);
                      }
                    });
                    const double replacing = seconds_of([&] {
                      for (std::uint64_t i = 0; i < rounds; ++i) {
                        const std::uint64_t key = random() % keys;
                        (void)measured.erase(key);
                        (void)measured.insert(key, i);
                      }
                    });
                    return replacing / updating;
                  });
  }

  /// How much longer a table takes that begins with 1 K buckets than one that begins large.
  void growth() const {
    const std::uint64_t keys = settings_.quick ? 1'000'000 : 10'000'000;
    const auto seconds = [&](std::uint64_t buckets) {
      temporary_pool<adr> pool(settings_.pool_directory, {.size_bytes = pool_bytes_for(keys)});
      table filled(pool.get(), "table", starting_with(buckets));
      return seconds_of([&] { fill(filled, keys); });
    };
    report_median(sink_,
                  {"sets",
                   "growing from 1 K buckets to " + std::to_string(keys) +
                       " keys beside starting large, " + Scheme::name(),
                   0, "times"},
                  3, [&] {
                    const double large = seconds(keys);
                    return seconds(1024) / large;
                  });
  }

  void recovery() const {
    const std::uint64_t keys = settings_.quick ? 1'000'000 : 10'000'000;
    const std::filesystem::path path = unused_path(settings_.pool_directory);
    {
      auto pool = basic_pool<adr>::create(path.string(), {.size_bytes = pool_bytes_for(keys)});
      table filled(pool, "table", starting_with(keys));
      fill(filled, keys);
    }  // left as a kill leaves it
    report_median(sink_,
                  {"sets",
                   "recovery of " + std::to_string(keys) + " keys after a kill, " +
                       std::to_string(usable_cpus().size()) + " CPUs, " + Scheme::name(),
                   0, "M nodes/s"},
                  settings_.quick ? 3 : 5, [&] {
                    auto pool = basic_pool<adr>::open(path.string());
                    std::unique_ptr<table> attached;
                    const double spent =
                        seconds_of([&] { attached = std::make_unique<table>(pool, "table"); });
                    return static_cast<double>(keys) / 1e6 / spent;
                  });
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }

  const micro_settings& settings_;
  const micro_sink& sink_;
};

}  // namespace

void measure_sets(const micro_settings& settings, const micro_sink& sink) {
  scheme_costs<sets::link_free<adr>>(settings, sink).measure();
  scheme_costs<sets::soft<adr>>(settings, sink).measure();
  scheme_costs<sets::soft_in_place<adr>>(settings, sink).measure();
}

}  // namespace outlast::bench
