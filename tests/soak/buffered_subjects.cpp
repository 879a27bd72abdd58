// Buffered structures.
#include <outlast/epoch/buffered_stack.hpp>
#include <outlast/epoch/cache.hpp>
#include <outlast/epoch/graph.hpp>
#include <outlast/epoch/hash_map.hpp>
#include <outlast/epoch/lockfree_hash_map.hpp>
#include <outlast/epoch/lockfree_queue.hpp>
#include <outlast/epoch/ordered_map.hpp>
#include <outlast/epoch/queue.hpp>
#include <tests/soak/families.hpp>
#include <tests/soak/map_subject.hpp>
#include <tests/soak/sequence_subject.hpp>

#include <array>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace outlast::test::soak {
namespace {

/// A cache with the names of a map.
template <class D>
class cache_map {
 public:
  using key_type = std::string;
  using mapped_type = std::string;

  cache_map(basic_pool<D>& pool, const std::string& name) : in_(pool, name) {}
  void put(const std::string& key, const std::string& value) { in_.set(key, value); }
  bool insert(const std::string& key, const std::string& value) { return in_.add(key, value); }
  bool erase(const std::string& key) { return in_.erase(key); }
  [[nodiscard]] auto get(const std::string& key) const { return in_.get(key); }
  [[nodiscard]] std::size_t size_estimate() const { return in_.size_estimate(); }
  template <class Visit>
  void for_each(Visit&& visit) {
    in_.map().for_each(visit);
  }

 private:
  epoch::basic_cache<epoch::buffered<D>> in_;
};

/// The vertices of a role, and edges between them.
template <class D>
class graph_subject final : public subject {
  using graph = epoch::graph<u64, u64, D>;

 public:
  graph_subject(basic_pool<D>& pool, u64 operations)
      : in_(std::make_unique<graph>(pool, "graph")), operations_(operations) {}

  void grow(turn& of) override {
    const u64 count = of.amount(operations_);
    for (u64 i = 0; i < count; ++i) {
      const u64 from = vertex(of);
      const u64 to = vertex(of);
      add(of.role, from);
      add(of.role, to);
      require(in_->add_edge(from, to, from ^ to) == edges(of).emplace(from, to).second);
      if (i % 8 == 0) remove(of, vertex(of));
    }
  }
  void look(turn& of) override {
    for (const u64 each : vertices(of)) require(in_->vertex(each) == mixed(each));
    for (const auto& [from, to] : edges(of)) require(in_->edge(from, to) == (from ^ to));
  }
  void shrink(turn& of) override {
    while (vertices(of).size() > 4) remove(of, *vertices(of).rbegin());
  }
  void check() override {
    std::size_t points = 0;
    std::size_t lines = 0;
    for (unsigned role = 0; role < roles; ++role) {
      points += vertices_.at(role).size();
      lines += edges_.at(role).size();
    }
    std::size_t shown = 0;
    in_->for_each_edge([&](u64, u64, u64) { ++shown; });
    require(in_->vertex_count() == points && in_->edge_count() == lines && shown == lines);
  }
  void let_go() override { in_.reset(); }

 private:
  static constexpr u64 places = 300;  // numbers that a graph has met stay in memory

  static void require(bool true_of_it) {
    if (!true_of_it) throw lost_content("graph", "a vertex or an edge is lost, or came back");
  }
  static u64 vertex(turn& of) { return of.role * places + of.random() % places; }
  std::set<u64>& vertices(const turn& of) { return vertices_.at(of.role); }
  std::set<std::pair<u64, u64>>& edges(const turn& of) { return edges_.at(of.role); }
  void add(unsigned role, u64 id) {
    require(in_->add_vertex(id, mixed(id)) == vertices_.at(role).insert(id).second);
  }
  void remove(turn& of, u64 id) {
    require(in_->remove_vertex(id) == (vertices(of).erase(id) == 1));
    std::erase_if(edges(of), [id](const auto& e) { return e.first == id || e.second == id; });
  }

  std::unique_ptr<graph> in_;
  u64 operations_;
  std::array<std::set<u64>, roles> vertices_;
  std::array<std::set<std::pair<u64, u64>>, roles> edges_;
};

}  // namespace

template <domain::persistence_domain D>
void add_buffered(subjects& to, basic_pool<D>& pool, const amounts& how) {
  const scale many{.operations = how.quick};
  const scale large{.operations = how.quick, .large = true};
  add_map<epoch::hash_map<u64, std::string, D>>(to, pool, "buffered map", large);
  add_map<epoch::ordered_map<std::string, u64, D>>(to, pool, "buffered ordered map", many);
  add_map<epoch::lockfree_hash_map<u64, std::string, D>>(to, pool, "buffered lockfree map", large);
  add_sequence<epoch::queue<std::string, D>, true>(to, pool, "buffered queue", large);
  add_sequence<epoch::stack<u64, D>, false>(to, pool, "buffered stack", many);
  add_sequence<epoch::lockfree_queue<u64, D>, true>(to, pool, "buffered lockfree queue", many);
  add_map<cache_map<D>>(to, pool, "cache", large);
  to.push_back(std::make_unique<graph_subject<D>>(pool, how.quick / 4));
}

template void add_buffered(subjects&, pool&, const amounts&);
template void add_buffered(subjects&, basic_pool<domain::logged_file>&, const amounts&);

}  // namespace outlast::test::soak
