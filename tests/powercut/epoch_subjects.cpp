#include <tests/powercut/epoch_subjects.hpp>

#include <outlast/domain/native.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/epoch/baselines/one_lock_queue.hpp>
#include <outlast/epoch/bounded_cache.hpp>
#include <outlast/epoch/buffered_stack.hpp>
#include <outlast/epoch/cache.hpp>
#include <outlast/epoch/graph.hpp>
#include <outlast/epoch/hash_map.hpp>
#include <outlast/epoch/lockfree_hash_map.hpp>
#include <outlast/epoch/lockfree_list.hpp>
#include <outlast/epoch/lockfree_queue.hpp>
#include <outlast/epoch/ordered_map.hpp>
#include <outlast/epoch/queue.hpp>
#include <tests/powercut/kill_subjects.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::test::powercut {
namespace {

template <class Map>
definition map_called(const char* name) {
  return define_buffered<buffered_map_subject<Map>, buffered_map_checker>(
      name, Map::policy_type::domain_type::name());
}
template <class Queue, class Checker = buffered_queue_checker>
definition queue_called(const char* name) {
  return define_buffered<buffered_queue_subject<Queue>, Checker>(
      name, Queue::policy_type::domain_type::name());
}

/// A cache as a map of strings.
class cache_as_map {
  using cache = epoch::basic_cache<epoch::buffered<domain::native>>;

 public:
  using key_type = std::string;
  using mapped_type = std::string;
  using policy_type = epoch::buffered<domain::native>;

  cache_as_map(cache::pool_type& pool, const char* name) : cache_(pool, name) {}

  bool insert(const std::string& key, const std::string& value) { return cache_.add(key, value); }
  void put(const std::string& key, const std::string& value) { cache_.set(key, value); }
  bool erase(const std::string& key) { return cache_.erase(key); }
  void sync() { cache_.sync(); }

  template <class Visit>
  void for_each(Visit&& visit) {
    std::vector<std::string> keys;
    cache_.map().for_each([&](std::string_view key, std::string_view) { keys.emplace_back(key); });
    for (const std::string& key : keys) visit(key, cache_.get(key).value_or(""));
  }

 private:
  cache cache_;
};

/// A bounded cache as a map of strings. The bound is never reached.
class bounded_cache_as_map {
  using cache = epoch::basic_bounded_cache<epoch::buffered<domain::native>>;
  using change = epoch::item_change;

 public:
  using key_type = std::string;
  using mapped_type = std::string;
  using policy_type = epoch::buffered<domain::native>;

  bounded_cache_as_map(cache::pool_type& pool, const char* name) : cache_(pool, name) {}

  bool insert(const std::string& key, const std::string& value) {
    return cache_
        .modify(key, now_ms,
                [&](const epoch::item* at) {
                  change to;
                  if (at != nullptr) return to;
                  to.what = change::kind::put;
                  to.front = value;
                  return to;
                })
        .changed;
  }
  void put(const std::string& key, const std::string& value) { cache_.set(key, value, now_ms); }
  bool erase(const std::string& key) { return cache_.erase(key, now_ms); }
  void sync() { cache_.sync(); }

  template <class Visit>
  void for_each(Visit&& visit) {
    std::uint64_t at = 0;
    do {
      at = cache_.scan(at, 64, now_ms, [&](std::string_view key, const epoch::item& of) {
        visit(std::string(key), std::string(of.value));
      });
    } while (at != 0);
  }

 private:
  static constexpr std::int64_t now_ms = 1;

  cache cache_;
};

/// A graph as a map: a key is an edge, its attribute the value.
class graph_as_map {
  using graph = epoch::graph<epoch::no_attribute, std::uint64_t, domain::native>;
  static constexpr std::uint64_t sources = 64;
  static constexpr std::uint64_t targets = 256;

 public:
  using key_type = std::uint64_t;
  using mapped_type = std::uint64_t;
  using policy_type = graph::policy_type;

  graph_as_map(graph::pool_type& pool, const char* name) : graph_(pool, name) {
    for (std::uint64_t id = 0; id < sources + targets; ++id) (void)graph_.add_vertex(id);
    graph_.sync();
  }

  bool insert(std::uint64_t key, std::uint64_t value) {
    return graph_.add_edge(from(key), to(key), value);
  }
  /// Keys belong to one thread each, so no other thread changes them.
  void put(std::uint64_t key, std::uint64_t value) {
    if (!graph_.set_edge(from(key), to(key), value)) (void)insert(key, value);
  }
  bool erase(std::uint64_t key) { return graph_.remove_edge(from(key), to(key)); }
  void sync() { graph_.sync(); }

  template <class Visit>
  void for_each(Visit&& visit) {
    graph_.for_each_edge([&](std::uint64_t source, std::uint64_t target, std::uint64_t value) {
      visit((target - sources) * sources + source, value);
    });
  }

 private:
  static std::uint64_t from(std::uint64_t key) { return key % sources; }
  static std::uint64_t to(std::uint64_t key) { return sources + key / sources; }

  graph graph_;
};

}  // namespace

std::vector<definition> epoch_definitions() {
  using domain::native;
  using domain::process;
  using std::string;
  using u64 = std::uint64_t;
  return {
      map_called<epoch::hash_map<u64, u64, native>>("buffered_map"),
      map_called<epoch::hash_map<string, string, process>>("buffered_map_of_strings"),
      queue_called<epoch::queue<u64, native>>("buffered_queue"),
      queue_called<epoch::queue<string, process>>("buffered_queue_of_strings"),
      map_called<epoch::lockfree_hash_map<u64, u64, native>>("lockfree_map"),
      map_called<epoch::lockfree_hash_map<string, string, process>>("lockfree_map_of_strings"),
      map_called<epoch::ordered_map<u64, string, native>>("ordered_map"),
      queue_called<epoch::lockfree_queue<u64, native>>("lockfree_queue"),
      queue_called<epoch::stack<u64, native>, buffered_stack_checker>("buffered_stack"),
      map_called<cache_as_map>("cache"),
      map_called<bounded_cache_as_map>("bounded_cache"),
      map_called<graph_as_map>("graph"),
      queue_called<epoch::one_lock_queue<u64, native>>("one_lock_queue"),
  };
}

}  // namespace outlast::test::powercut
