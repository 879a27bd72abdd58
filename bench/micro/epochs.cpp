// What buffered structures cost beside transient and strict ones: by payload size, by frequency of
// syncs, and by the design points of their clock. [Wen21, Figures 4 to 9]
#include <bench/micro/epoch_subjects.hpp>
#include <outlast/domain/adr.hpp>
#include <outlast/durable.hpp>
#include <outlast/epoch/lockfree_hash_map.hpp>
#include <outlast/epoch/lockfree_queue.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace outlast::bench {
namespace {

using domain::adr;
using flit = durable::flit<durable::tag::adjacent, durable::automatic, adr>;
using nonblocking_map = epoch::lockfree_hash_map<std::string, std::string, adr>;
template <class Value>
using nonblocking_queue = epoch::lockfree_queue<Value, adr>;
template <class Value>
using strict_queue = lockfree::michael_scott_queue<Value, flit>;

constexpr operation_mix write_dominant{0, 1, 1};
constexpr operation_mix read_dominant{18, 1, 1};
constexpr operation_mix mixed{2, 1, 1};

/// Subjects that are compared; the second is what ratios refer to.
class contest {
 public:
  contest(const micro_settings& settings, const micro_sink& sink, std::string benchmark)
      : settings_(settings), sink_(sink), benchmark_(std::move(benchmark)) {}

  void add(std::string name, std::unique_ptr<epoch_subject> one) {
    names_.push_back(std::move(name));
    subjects_.push_back(std::move(one));
  }

  /// Each in turn, its clock running by default and the others' at rest.
  void measure(const std::string& where, const operation_mix& mix, const run_settings& how) const {
    std::vector<series> all;
    for (std::size_t i = 0; i < subjects_.size(); ++i) {
      all.push_back({names_[i], [&, one = subjects_[i].get()] {
                       const clock_running running(*one, {});
                       return mops_of(how, [&](hand& self) { return one->run(self, mix); });
                     }});
    }
    report_interleaved(sink_, benchmark_, where, repetitions_of(settings_), 1, all);
    for (const auto& each : subjects_) each->check();
  }

 private:
  const micro_settings& settings_;
  const micro_sink& sink_;
  std::string benchmark_;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<epoch_subject>> subjects_;
};

void add_maps(contest& to, const map_setup& setup) {
  to.add("montage", make_epoch_map<epoch::buffered<adr>>(setup));
  to.add("twin", make_epoch_map<epoch::transient<adr>>(setup));
  to.add("lockfree", make_lock_free_map<nonblocking_map>(setup));
  to.add("volatile", make_volatile_map(setup));
  to.add("link_free", make_set_map<sets::link_free<adr>>(setup));
  to.add("soft", make_set_map<sets::soft<adr>>(setup));
}

template <std::size_t Bytes>
void add_queues(contest& to, const micro_settings& settings) {
  const std::filesystem::path& directory = settings.pool_directory;
  to.add("montage", make_epoch_queue<epoch::buffered<adr>, Bytes>(directory));
  to.add("twin", make_epoch_queue<epoch::transient<adr>, Bytes>(directory));
  to.add("montage, one lock",
         make_epoch_queue<epoch::buffered<adr>, Bytes, epoch::queue_locks::one>(directory));
  to.add("lockfree", make_queue<nonblocking_queue, Bytes>(directory));
  to.add("volatile", make_volatile_queue<Bytes>(directory));
  to.add("flit", make_queue<strict_queue, Bytes>(directory));
}

std::string point(const std::string& mix, std::size_t bytes, unsigned threads) {
  return mix + ", " + std::to_string(bytes) + " B, " + std::to_string(threads) +
         (threads == 1 ? " thread" : " threads");
}

template <std::size_t Bytes>
void measure_queues_of(const micro_settings& settings, const micro_sink& sink) {
  contest queues(settings, sink, "epochs-queues");
  add_queues<Bytes>(queues, settings);
  for (const unsigned threads : threads_of(settings)) {
    queues.measure(point("queue", Bytes, threads), {}, run_of(settings, threads, Bytes));
  }
}

/// A map and a queue of values of this size.
template <std::size_t Bytes>
void measure_size(const micro_settings& settings, const micro_sink& sink) {
  {
    contest maps(settings, sink, "epochs-sizes");
    add_maps(maps, {settings.pool_directory, settings.quick ? 2'000U : 200'000U, Bytes});
    maps.measure(point("map " + mixed.name(), Bytes, 1), mixed, run_of(settings, 1, Bytes));
  }
  contest queues(settings, sink, "epochs-sizes");
  add_queues<Bytes>(queues, settings);
  queues.measure(point("queue", Bytes, 1), {}, run_of(settings, 1, Bytes));
}

/// Runs `subject` under a clock of `options`.
series under_clock(std::string name, epoch_subject& subject, const epoch::clock_options& options,
                   const run_settings& how) {
  return {std::move(name), [&subject, options, how] {
            const clock_running running(subject, options);
            return mops_of(how,
                           [&subject](hand& self) { return subject.run(self, write_dominant); });
          }};
}

/// The same, where each thread syncs after so many operations on average.
series with_syncs(epoch_subject& map, const epoch::clock_options& options, std::uint64_t every,
                  const run_settings& how) {
  return {"sync every " + std::to_string(every), [&map, options, every, how] {
            const clock_running running(map, options);
            return mops_of(how, [&map, every](hand& self) {
              if (self.until_sync == 0) self.until_sync = 1 + self.random.below(2 * every - 1);
              const std::uint64_t done =
                  map.run(self, write_dominant, std::min(self.until_sync, batch_operations));
              self.until_sync -= done;
              if (self.until_sync == 0) map.sync();
              return done;
            });
          }};
}

/// One way to write back, from a sync for each operation to none.
void measure_syncs(const micro_settings& settings, const micro_sink& sink, epoch_subject& map,
                   const std::string& where, epoch::write_back writes, const run_settings& how) {
  epoch::clock_options options;
  options.writes = writes;
  std::vector<series> all = {under_clock("no sync", map, options, how)};
  for (std::uint64_t every = 1; every <= 100'000; every *= 10) {
    all.push_back(with_syncs(map, options, every, how));
  }
  report_interleaved(sink, "epochs-syncs", where, repetitions_of(settings), 0, all);
  map.check();
}

struct design {
  std::string name;
  epoch::clock_options options;
};

/// The bars of [Wen21, Figures 4 and 5], and one that the paper has not: everything through the
/// caches.
std::vector<design> designs_at(std::chrono::milliseconds length) {
  epoch::clock_options usual;
  usual.epoch_length = length;
  std::vector<design> all;
  for (const std::size_t buffer : {256U, 64U, 16U, 2U}) {
    all.push_back({"buffer " + std::to_string(buffer), usual});
    all.back().options.buffer = buffer;
  }
  all.push_back({"workers reclaim", usual});
  all.back().options.reclaims = epoch::reclamation::workers;
  all.push_back({"never streamed", usual});
  all.back().options.stream_from_bytes = 0;
  all.push_back({"each operation writes back", usual});
  all.back().options.writes = epoch::write_back::each_operation;
  all.push_back({"nothing written back", usual});
  all.back().options.writes = epoch::write_back::none;
  return all;
}

/// What ratios refer to is the transient twin.
void measure_designs(const micro_settings& settings, const micro_sink& sink,
                     const std::string& where, epoch_subject& transient, epoch_subject& buffered,
                     const run_settings& how) {
  std::vector<series> all = {under_clock("twin", transient, clock_at_rest(), how)};
  for (const unsigned length_ms : {1U, 10U, 100U}) {
    for (const design& each : designs_at(std::chrono::milliseconds(length_ms))) {
      all.push_back(under_clock(each.name + ", " + std::to_string(length_ms) + " ms", buffered,
                                each.options, how));
    }
  }
  report_interleaved(sink, "epochs-design", where, repetitions_of(settings), 0, all);
  buffered.check();
  transient.check();
}

map_setup usual_map(const micro_settings& settings) {
  return {settings.pool_directory, settings.quick ? 2'000U : 1'000'000U, 1024};
}

}  // namespace

void measure_epoch_maps(const micro_settings& settings, const micro_sink& sink) {
  const map_setup setup = usual_map(settings);
  contest maps(settings, sink, "epochs-maps");
  add_maps(maps, setup);
  for (const unsigned threads : threads_of(settings)) {
    for (const operation_mix& mix : {write_dominant, read_dominant}) {
      maps.measure(point("map " + mix.name(), setup.value_bytes, threads), mix,
                   run_of(settings, threads, setup.value_bytes));
    }
  }
}

void measure_epoch_queues(const micro_settings& settings, const micro_sink& sink) {
  measure_queues_of<16>(settings, sink);
  measure_queues_of<1024>(settings, sink);
}

void measure_epoch_sizes(const micro_settings& settings, const micro_sink& sink) {
  measure_size<16>(settings, sink);
  measure_size<64>(settings, sink);
  measure_size<256>(settings, sink);
  measure_size<1024>(settings, sink);
  measure_size<4096>(settings, sink);
}

void measure_epoch_syncs(const micro_settings& settings, const micro_sink& sink) {
  const map_setup setup = usual_map(settings);
  const auto map = make_epoch_map<epoch::buffered<adr>>(setup);
  for (const unsigned threads : threads_of(settings)) {
    const std::string where = point("map " + write_dominant.name(), setup.value_bytes, threads);
    const run_settings how = run_of(settings, threads, setup.value_bytes);
    measure_syncs(settings, sink, *map, where, epoch::write_back::buffered, how);
    measure_syncs(settings, sink, *map, where + ", each operation writes back",
                  epoch::write_back::each_operation, how);
  }
}

void measure_epoch_design(const micro_settings& settings, const micro_sink& sink) {
  const map_setup setup = usual_map(settings);
  const unsigned threads = threads_of(settings).back();
  {
    const auto transient = make_epoch_map<epoch::transient<adr>>(setup);
    const auto buffered = make_epoch_map<epoch::buffered<adr>>(setup);
    measure_designs(settings, sink,
                    point("map " + write_dominant.name(), setup.value_bytes, threads), *transient,
                    *buffered, run_of(settings, threads, setup.value_bytes));
  }
  const auto transient = make_epoch_queue<epoch::transient<adr>, 1024>(settings.pool_directory);
  const auto buffered = make_epoch_queue<epoch::buffered<adr>, 1024>(settings.pool_directory);
  measure_designs(settings, sink, point("queue", 1024, 1), *transient, *buffered,
                  run_of(settings, 1, 1024));
}

void measure_epochs(const micro_settings& settings, const micro_sink& sink) {
  measure_epoch_maps(settings, sink);
  measure_epoch_queues(settings, sink);
  measure_epoch_sizes(settings, sink);
  measure_epoch_syncs(settings, sink);
  measure_epoch_design(settings, sink);
  measure_epoch_cache(settings, sink);
  measure_epoch_graph(settings, sink);
  measure_epoch_graph_recovery(settings, sink);
  measure_epoch_recovery(settings, sink);
  measure_epoch_counts(settings, sink);
  measure_epoch_file(settings, sink);
}

}  // namespace outlast::bench
