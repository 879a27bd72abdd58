// Goal: an operation of a buffered structure without ordinary memory has no effect, one that
// returns has its whole effect, and no block is lost. Method: see operation_table.hpp.
#include "tests/oom/map_operations.hpp"
#include "tests/oom/sequence_operations.hpp"

#include <outlast/domain.hpp>
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

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace outlast::test {
namespace {

using u64 = std::uint64_t;
using flushing = domain::adr;
using plain = domain::process;

/// No thread ticks.
template <class Structure>
std::unique_ptr<Structure> attach(typename Structure::pool_type& pool) {
  epoch::clock_of(pool).configure({.epoch_length = std::chrono::microseconds(0)});
  return std::make_unique<Structure>(pool, "tested");
}

template <class Structure, class Model>
void add_sync(tested_family<Structure, Model>& to) {
  to.operations.push_back({"sync",
                           [](Structure& s) {
                             s.sync();
                             return yes(true);
                           },
                           [](Model&) { return yes(true); }});
}

template <class Map>
void expect_of_maps(const std::string& name, std::set<std::string> need_no_memory = {}) {
  auto family = family_of_maps<Map>(name, attach<Map>);
  family.need_no_memory = std::move(need_no_memory);
  add_sync(family);
  expect_all_or_nothing(family);
}
template <class Sequence>
void expect_of_sequences(const std::string& name, bool is_a_stack,
                         std::set<std::string> need_no_memory = {}) {
  auto family = family_of_sequences<Sequence>(name, attach<Sequence>, is_a_stack);
  family.need_no_memory = std::move(need_no_memory);
  add_sync(family);
  expect_all_or_nothing(family);
}

TEST(EpochOperationsOom, hash_map) {
  expect_of_maps<epoch::hash_map<u64, u64, flushing>>("epoch::hash_map",
                                                      {"get", "contains, absent", "for_each"});
  expect_of_maps<epoch::hash_map<std::string, std::string, plain>>(
      "epoch::hash_map of strings", {"contains, absent", "for_each"});
}

TEST(EpochOperationsOom, nonblocking_maps) {
  expect_of_maps<epoch::ordered_map<u64, u64, flushing>>("epoch::ordered_map");
  expect_of_maps<epoch::lockfree_hash_map<u64, u64, flushing>>("epoch::lockfree_hash_map");
  expect_of_maps<epoch::lockfree_list<u64, u64, flushing>>("epoch::lockfree_list");
}

TEST(EpochOperationsOom, sequences) {
  expect_of_sequences<epoch::queue<u64, flushing>>("epoch::queue", false, {"empty", "for_each"});
  expect_of_sequences<epoch::stack<std::string, flushing>>("epoch::stack of strings", true,
                                                           {"empty", "for_each"});
  expect_of_sequences<epoch::lockfree_queue<u64, flushing>>("epoch::lockfree_queue", false);
}

TEST(EpochOperationsOom, cache) {
  using cache = epoch::basic_cache<epoch::buffered<flushing>>;
  using content = std::map<std::string, std::string>;
  tested_family<cache, content> family;
  family.name = "epoch::cache";
  family.attach = attach<cache>;
  static const std::string there(40, 't');
  static const std::string elsewhere(40, 'e');
  static const std::string value(50, 'v');
  family.fill = [](cache& in) {
    in.set(there, "1234");
    for (int i = 0; i < 10; ++i) in.set(std::to_string(i), value);
  };
  family.content = [](cache& of) {
    content found;
    of.map().for_each([&](std::string_view key, std::string_view stored) {
      found.emplace(key, stored.substr(24));
    });
    return found;
  };
  family.need_no_memory = {"add, present"};
  auto& rows = family.operations;
  rows.push_back({"set",
                  [](cache& c) {
                    c.set(elsewhere, value);
                    return yes(true);
                  },
                  [](content& m) { return yes(m.insert_or_assign(elsewhere, value).second); }});
  rows.push_back({"add, present", [](cache& c) { return yes(c.add(there, value)); },
                  [](content&) { return yes(false); }});
  rows.push_back({"replace", [](cache& c) { return yes(c.replace(there, value)); },
                  [](content& m) {
                    m[there] = value;
                    return yes(true);
                  }});
  rows.push_back({"append", [](cache& c) { return yes(c.append(there, "56")); },
                  [](content& m) {
                    m[there] = "123456";
                    return yes(true);
                  }});
  rows.push_back({"incr", [](cache& c) { return yes(c.incr(there) == 1235U); },
                  [](content& m) {
                    m[there] = "1235";
                    return yes(true);
                  }});
  rows.push_back({"erase", [](cache& c) { return yes(c.erase(there)); },
                  [](content& m) { return yes(m.erase(there) != 0); }});
  rows.push_back({"get", [](cache& c) { return yes(c.get("3").has_value()); },
                  [](content&) { return yes(true); }});
  rows.push_back({"touch", [](cache& c) { return yes(c.touch(there, std::chrono::hours(24))); },
                  [](content&) { return yes(true); }});
  expect_all_or_nothing(family);
}

TEST(EpochOperationsOom, bounded_cache) {
  using cache = epoch::basic_bounded_cache<epoch::buffered<flushing>>;
  using content = std::map<std::string, std::string>;
  tested_family<cache, content> family;
  family.name = "epoch::bounded_cache";
  family.attach = attach<cache>;
  static const std::string there(40, 't');
  static const std::string elsewhere(40, 'e');
  static const std::string value(50, 'v');
  family.fill = [](cache& in) {
    in.set(there, "1234", 1);
    for (int i = 0; i < 10; ++i) in.set(std::to_string(i), value, 1, i % 2 == 0 ? 5 : 0);
  };
  family.content = [](cache& of) {
    content found;
    for (u64 at = 0;;) {
      at = of.scan(at, 1, 1, [&](std::string_view key, const epoch::item& each) {
        found.emplace(key, each.value);
      });
      if (at == 0) return found;
    }
  };
  auto& rows = family.operations;
  rows.push_back({"set", [](cache& c) { return yes(c.set(elsewhere, value, 1).changed); },
                  [](content& m) { return yes(m.insert_or_assign(elsewhere, value).second); }});
  rows.push_back({"set, present", [](cache& c) { return yes(c.set(there, value, 1).changed); },
                  [](content& m) {
                    m[there] = value;
                    return yes(true);
                  }});
  rows.push_back({"erase", [](cache& c) { return yes(c.erase(there, 1)); },
                  [](content& m) { return yes(m.erase(there) != 0); }});
  rows.push_back({"get", [](cache& c) { return yes(c.get("3", 1).has_value()); },
                  [](content&) { return yes(true); }});
  rows.push_back({"erase_all",
                  [](cache& c) {
                    c.erase_all();
                    return yes(true);
                  },
                  [](content& m) {
                    m.clear();
                    return yes(true);
                  }});
  rows.push_back({"together",
                  [](cache& c) {
                    c.together([&] { (void)c.erase(there, 1); });
                    return yes(true);
                  },
                  [](content& m) {
                    m.erase(there);
                    return yes(true);
                  }});
  expect_all_or_nothing(family);
}

TEST(EpochOperationsOom, graph) {
  using graph = epoch::graph<u64, u64, flushing>;
  struct content {
    std::map<u64, u64> vertices;
    std::map<std::pair<u64, u64>, u64> edges;
    bool counts_are_right = true;
    bool operator==(const content&) const = default;
  };
  tested_family<graph, content> family;
  family.name = "epoch::graph";
  family.attach = attach<graph>;
  family.fill = [](graph& in) {
    for (u64 n = 0; n < 12; ++n) (void)in.add_vertex(n, n);
    for (u64 n = 0; n < 11; ++n) (void)in.add_edge(n, n + 1, n);
    for (u64 n = 2; n < 6; ++n) (void)in.add_edge(1, n, n);
  };
  family.content = [](graph& of) {
    content found;
    of.for_each_vertex([&](u64 id, u64 attribute) { found.vertices.emplace(id, attribute); });
    of.for_each_edge([&](u64 from, u64 to, u64 attribute) {
      found.edges.emplace(std::pair(from, to), attribute);
    });
    found.counts_are_right =
        of.vertex_count() == found.vertices.size() && of.edge_count() == found.edges.size();
    return found;
  };
  auto& rows = family.operations;
  rows.push_back({"add_vertex", [](graph& g) { return yes(g.add_vertex(100, 5)); },
                  [](content& m) { return yes(m.vertices.emplace(100, 5).second); }});
  rows.push_back({"add_edge", [](graph& g) { return yes(g.add_edge(1, 9, 5)); },
                  [](content& m) { return yes(m.edges.emplace(std::pair(1, 9), 5).second); }});
  rows.push_back({"remove_edge", [](graph& g) { return yes(g.remove_edge(1, 2)); },
                  [](content& m) { return yes(m.edges.erase({1, 2}) != 0); }});
  rows.push_back({"remove_vertex", [](graph& g) { return yes(g.remove_vertex(1)); },
                  [](content& m) {
                    std::erase_if(m.edges, [](const auto& each) {
                      return each.first.first == 1 || each.first.second == 1;
                    });
                    return yes(m.vertices.erase(1) != 0);
                  }});
  rows.push_back({"set_vertex", [](graph& g) { return yes(g.set_vertex(1, 50)); },
                  [](content& m) {
                    m.vertices[1] = 50;
                    return yes(true);
                  }});
  rows.push_back({"set_edge", [](graph& g) { return yes(g.set_edge(1, 2, 50)); },
                  [](content& m) {
                    m.edges[{1, 2}] = 50;
                    return yes(true);
                  }});
  expect_all_or_nothing(family);
}

}  // namespace
}  // namespace outlast::test
