// What buffered structures make of a cache and of graphs. [Wen21, Figures 10 to 12]
#include <bench/adapters/temporary_pool.hpp>
#include <bench/engine/distribution.hpp>
#include <bench/engine/machine.hpp>
#include <bench/micro/epoch_subjects.hpp>
#include <outlast/domain/adr.hpp>
#include <outlast/epoch/cache.hpp>
#include <outlast/epoch/graph.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace outlast::bench {
namespace {

using domain::adr;
using durable_side = epoch::buffered<adr>;
using twin_side = epoch::transient<adr>;
using steady = std::chrono::steady_clock;

double seconds_since(steady::time_point start) {
  return std::chrono::duration<double>(steady::now() - start).count();
}

// ---- Figure 10 ----

/// Half reads, half updates, of records that are all there, by zipf(0.99).
constexpr std::size_t record_bytes = 1000;

template <class Policy>
class cache_in_pool {
 public:
  cache_in_pool(const std::filesystem::path& directory, std::uint64_t records)
      : pool_(directory, {.size_bytes = (std::size_t{256} << 20) + records * 3 * record_bytes}),
        cache_(pool_.get(), "cache", options_for(records)) {}

  void set(const std::string& key, const std::string& value) { cache_.set(key, value); }
  std::size_t get(const std::string& key) { return cache_.get(key).value().size(); }

 private:
  static epoch::cache_options options_for(std::uint64_t records) {
    epoch::cache_options options;
    options.table.buckets = records;
    return options;
  }

  temporary_pool<adr> pool_;
  epoch::basic_cache<Policy> cache_;
};

/// Without a pool.
class volatile_cache {
 public:
  volatile_cache(const std::filesystem::path&, std::uint64_t records) : map_(records) {}

  void set(const std::string& key, const std::string& value) { map_.set(key, value); }
  std::size_t get(const std::string& key) { return map_.get(key).value().size(); }

 private:
  sharded_map map_;
};

template <class Cache>
series ycsb_a(const char* name, Cache& cache, const zipf_keys& keys, const run_settings& how) {
  return {name, [&cache, &keys, how] {
            return mops_of(how, [&](hand& self) {
              for (std::uint64_t i = 0; i < batch_operations; ++i) {
                const std::string& key = self.key_of(keys(self.random));
                if (self.random.below(2) == 0) {
                  self.seen += cache.get(key);
                } else {
                  cache.set(key, self.value);
                }
              }
              return batch_operations;
            });
          }};
}

// ---- Figure 11 ----

template <class Policy>
using graph_of = epoch::basic_graph<Policy, std::uint64_t, std::uint64_t>;

constexpr std::uint64_t degree = 32;

/// Vertices from 0 to `capacity`, half of which are there.
template <class Policy>
class changing_graph {
 public:
  changing_graph(const std::filesystem::path& directory, std::uint64_t capacity)
      : pool_(directory, {.size_bytes = (std::size_t{256} << 20) + capacity * degree * 192}),
        graph_(pool_.get(), "graph"),
        capacity_(capacity) {
    xoshiro256 random(1);
    for (std::uint64_t v = 0; v < capacity; v += 2) graph_.add_vertex(v, v);
    // Each has 32 neighbours then, on average.
    for (std::uint64_t v = 0; v < capacity; v += 2) connect(random, v, degree / 2);
  }

  std::uint64_t run(hand& self, std::uint64_t edge_operations_per_vertex_operation) {
    for (std::uint64_t i = 0; i < batch_operations; ++i) {
      if (self.random.below(edge_operations_per_vertex_operation + 1) != 0) {
        change_edge(self.random);
      } else {
        change_vertex(self.random);
      }
    }
    return batch_operations;
  }

 private:
  std::uint64_t draw(xoshiro256& random) const { return random.below(capacity_); }

  void connect(xoshiro256& random, std::uint64_t from, std::uint64_t edges) {
    for (std::uint64_t made = 0, tries = 0; made < edges && tries < 8 * edges; ++tries) {
      made += graph_.add_edge(from, draw(random), tries) ? 1 : 0;
    }
  }
  /// Both ends of an edge that is added are there in one case of four; so one of four removals of
  /// an edge of a vertex takes place.
  void change_edge(xoshiro256& random) {
    const std::uint64_t from = draw(random);
    if (random.below(2) == 0) {
      graph_.add_edge(from, draw(random), from);
      return;
    }
    if (random.below(2) == 0) return;
    std::optional<std::uint64_t> chosen;
    std::uint64_t seen = 0;
    graph_.for_each_edge_from(from, [&](std::uint64_t to, std::uint64_t) {
      if (random.below(++seen) == 0) chosen = to;
    });
    if (chosen) graph_.remove_edge(from, *chosen);
  }
  void change_vertex(xoshiro256& random) {
    const std::uint64_t vertex = draw(random);
    if (random.below(2) == 0) {
      if (graph_.add_vertex(vertex, vertex)) connect(random, vertex, degree);
    } else {
      graph_.remove_vertex(vertex);
    }
  }

  temporary_pool<adr> pool_;
  graph_of<Policy> graph_;
  std::uint64_t capacity_;
};

template <class Policy>
series changes_of(const char* name, changing_graph<Policy>& graph, std::uint64_t ratio,
                  const run_settings& how) {
  return {name, [&graph, ratio, how] {
            return mops_of(how, [&](hand& self) { return graph.run(self, ratio); });
          }};
}

// ---- Figure 12 ----

struct edge {
  std::uint32_t from;
  std::uint32_t to;
};

/// Both ends by zipf(0.8): few vertices have many neighbours. Each edge once.
std::vector<edge> power_law_edges(std::uint64_t vertices, std::uint64_t edges) {
  xoshiro256 random(3);
  const zipf_keys popular(vertices, 0.8);
  std::vector<edge> all(edges);
  for (edge& each : all) {
    each = {static_cast<std::uint32_t>(random.below(vertices)),
            static_cast<std::uint32_t>(popular(random))};
  }
  return all;
}

template <class Body>
void on_each_of(unsigned threads, Body&& body) {
  std::vector<std::thread> crew;
  for (unsigned t = 0; t < threads; ++t) crew.emplace_back([&, t] { body(t); });
  for (std::thread& member : crew) member.join();
}

/// A pool file with that graph, left as a kill leaves it.
class killed_graph {
  using graph_type = graph_of<durable_side>;

 public:
  killed_graph(const std::filesystem::path& directory, std::uint64_t vertices,
               const std::vector<edge>& edges)
      : path_(unused_path(directory)), vertices_(vertices), edges_(edges) {}
  ~killed_graph() { remove(); }
  killed_graph(const killed_graph&) = delete;
  killed_graph& operator=(const killed_graph&) = delete;

  /// Seconds to load it into a new pool.
  [[nodiscard]] double load_seconds(unsigned threads) {
    remove();
    auto pool = basic_pool<adr>::create(path_.string(), {.size_bytes = pool_bytes()});
    const steady::time_point start = steady::now();
    graph_type loaded(pool, "graph");
    on_each_of(threads, [&](unsigned t) {
      for (std::uint64_t v = t; v < vertices_; v += threads) loaded.add_vertex(v, v);
    });
    on_each_of(threads, [&](unsigned t) {
      const std::size_t begin = edges_.size() * t / threads;
      const std::size_t end = edges_.size() * (t + 1) / threads;
      for (std::size_t i = begin; i < end; ++i) loaded.add_edge(edges_[i].from, edges_[i].to, i);
    });
    loaded.sync();
    const double spent = seconds_since(start);
    held_ = loaded.edge_count();
    return spent;
  }

  /// Seconds until it can be used again. It is abandoned again.
  [[nodiscard]] double open_seconds() const {
    const steady::time_point start = steady::now();
    auto pool = basic_pool<adr>::open(path_.string());
    graph_type opened(pool, "graph");
    const double spent = seconds_since(start);
    if (opened.edge_count() != held_) throw std::runtime_error("edges were lost");
    return spent;
  }

 private:
  [[nodiscard]] std::size_t pool_bytes() const {
    return (std::size_t{64} << 20) + (vertices_ + edges_.size()) * 96;
  }
  void remove() const {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  std::filesystem::path path_;
  std::uint64_t vertices_;
  const std::vector<edge>& edges_;
  std::size_t held_ = 0;
};

}  // namespace

void measure_epoch_cache(const micro_settings& settings, const micro_sink& sink) {
  const std::uint64_t records = settings.quick ? 2'000 : 1'000'000;
  const std::filesystem::path& directory = settings.pool_directory;
  cache_in_pool<durable_side> buffered(directory, records);
  cache_in_pool<twin_side> twin(directory, records);
  volatile_cache without(directory, records);
  hand filler(1, record_bytes);
  for (std::uint64_t i = 0; i < records; ++i) {
    const std::string& key = filler.key_of(i);
    buffered.set(key, filler.value);
    twin.set(key, filler.value);
    without.set(key, filler.value);
  }
  const zipf_keys keys(records, 0.99);
  for (const unsigned threads : threads_of(settings)) {
    const run_settings how = run_of(settings, threads, record_bytes);
    report_interleaved(sink, "epochs-cache",
                       on_threads("YCSB-A, " + std::to_string(records) + " records", threads),
                       repetitions_of(settings), 1,
                       {ycsb_a("montage", buffered, keys, how), ycsb_a("twin", twin, keys, how),
                        ycsb_a("volatile", without, keys, how)});
  }
}

void measure_epoch_graph(const micro_settings& settings, const micro_sink& sink) {
  const std::uint64_t capacity = settings.quick ? 2'000 : 200'000;
  changing_graph<durable_side> buffered(settings.pool_directory, capacity);
  changing_graph<twin_side> twin(settings.pool_directory, capacity);
  for (const std::uint64_t ratio : {std::uint64_t{4}, std::uint64_t{499}}) {
    for (const unsigned threads : threads_of(settings)) {
      const run_settings how = run_of(settings, threads, 0);
      report_interleaved(
          sink, "epochs-graph",
          on_threads("graph of " + std::to_string(capacity / 2) + " vertices, edges:vertices " +
                         std::to_string(ratio) + ":1",
                     threads),
          repetitions_of(settings), 1,
          {changes_of("montage", buffered, ratio, how), changes_of("twin", twin, ratio, how)});
    }
  }
}

void measure_epoch_graph_recovery(const micro_settings& settings, const micro_sink& sink) {
  const std::uint64_t vertices = settings.quick ? 200 : 300'000;
  const std::vector<edge> edges = power_law_edges(vertices, settings.quick ? 2'000U : 5'000'000U);
  killed_graph graph(settings.pool_directory, vertices, edges);
  const std::string subject = "power-law graph of " + std::to_string(edges.size()) + " edges, ";
  const unsigned repetitions = std::min(repetitions_of(settings), 3U);
  for (const unsigned threads : threads_of(settings)) {
    report_median(sink, {"epochs-graph-recovery", on_threads(subject + "loaded", threads), 0, "s"},
                  repetitions, [&] { return graph.load_seconds(threads); });
  }
  report_median(sink, {"epochs-graph-recovery", subject + "after a kill, all CPUs", 0, "s"},
                repetitions, [&] { return graph.open_seconds(); });
}

}  // namespace outlast::bench
