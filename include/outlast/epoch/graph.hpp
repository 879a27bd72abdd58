// A buffered directed graph: vertices and edges with attributes, which come and go.
//
//   outlast::epoch::graph<person, since> friends(pool, "friends");
//   friends.add_vertex(7, {...});
//   friends.add_edge(7, 9, {2019});
//   friends.remove_vertex(9);        // and all its edges
//
// A payload for each vertex and each edge. An edge names its ends, not the other way round, so that
// no change passes chains of payloads. The neighbours of a vertex are only in ordinary memory, and
// are found again, by several threads, when the graph is attached. [Wen21, 6.3]
//
// When not to use: as for epoch::hash_map.
//
// Memory: 40 bytes in the pool per vertex and 40 per edge, in addition to the attributes. Outside,
// 24 bytes per edge and 128 per vertex that ever existed in this process.
#pragma once

#include <outlast/base/hash.hpp>
#include <outlast/base/parallel.hpp>
#include <outlast/base/sharded_count.hpp>
#include <outlast/base/stored_name.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/domain/spin_lock.hpp>
#include <outlast/epoch/detail/bucket_table.hpp>
#include <outlast/epoch/payload_session.hpp>
#include <outlast/epoch/policies.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/root/attached.hpp>
#include <outlast/root/map_operations.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::epoch {

/// The attribute of vertices or edges that have none.
struct no_attribute {
  friend bool operator==(no_attribute, no_attribute) = default;
};

/// A graph whose vertices have numbers that the caller chooses. At most one edge leads from one
/// vertex to another, or to itself.
///
/// Thread-safety: all members may be called concurrently; visitors must not use the graph.
/// Progress: blocking, one lock per vertex, taken in the order of their numbers. remove_vertex()
/// begins again if the vertex's edges have changed before it has the locks of its neighbours.
/// Durability: as epoch::hash_map.
template <class Policy, payload_content Vertex, payload_content Edge>
class basic_graph : public roots::structure_operations<basic_graph<Policy, Vertex, Edge>> {
  using D = typename Policy::domain_type;
  using operation = typename Policy::operation;
  class session;
  friend struct roots::handle_access;

 public:
  using policy_type = Policy;
  using pool_type = basic_pool<D>;
  using vertex_id = std::uint64_t;

  /// Attaches the graph `name` in `pool`. Creates it if there is none. Durable at return. Throws
  /// error{root_type_mismatch}, corruption, out_of_space, std::bad_alloc.
  basic_graph(pool_type& pool, std::string_view name)
      : clock_(clock_of(pool)), session_(pool, name, type(), clock_) {}

  /// Adds a vertex. Returns false if it is present. Throws out_of_space, std::bad_alloc without
  /// effect.
  bool add_vertex(vertex_id id, const Vertex& attribute = {}) {
    node& at = session_->node_of(id);
    const std::lock_guard lock(at.lock);
    if (at.vertex != nullptr) return false;
    operation op(session_->memory());
    at.vertex = op.pnew(vertex_content{vertex_kind, id, attribute});
    session_->vertices().add(1);
    return true;
  }

  /// Removes the vertex and all edges from and to it, atomically. Returns false if it is absent.
  bool remove_vertex(vertex_id id) {
    node* const known = session_->find(id);
    if (known == nullptr) return false;
    node& at = *known;
    std::vector<node*> involved;
    for (;;) {
      if (!collect(at, involved)) return false;
      const locks held(involved);
      if (at.vertex == nullptr) return false;
      if (!is_complete(at, involved)) continue;
      operation op(session_->memory());
      drop_edges(op, at);
      op.pdelete(std::exchange(at.vertex, nullptr));
      session_->vertices().add(-1);
      return true;
    }
  }

  /// Adds an edge. Returns false if it is present, or if one of its ends is absent. Throws as
  /// add_vertex().
  bool add_edge(vertex_id from, vertex_id to, const Edge& attribute = {}) {
    node* const first = session_->find(from);
    node* const last = session_->find(to);
    if (first == nullptr || last == nullptr) return false;
    node& source = *first;
    node& target = *last;
    const locks held(source, target);
    if (source.vertex == nullptr || target.vertex == nullptr) return false;
    const auto out = source.place_out(to);
    if (out != source.out.end() && out->to == &target) return false;
    const auto in = target.place_in(from);
    const auto out_index = out - source.out.begin();
    const auto in_index = in - target.in.begin();
    source.reserve_one_more();
    target.reserve_one_more();
    operation op(session_->memory());
    edge_payload* const made = op.pnew(edge_content{edge_kind, from, to, attribute});
    source.out.insert(source.out.begin() + out_index, {&target, made});
    target.in.insert(target.in.begin() + in_index, &source);
    session_->edges().add(1);
    return true;
  }

  /// Removes an edge. Returns false if it is absent.
  bool remove_edge(vertex_id from, vertex_id to) {
    node* const source = session_->find(from);
    node* const target = session_->find(to);
    if (source == nullptr || target == nullptr) return false;
    const locks held(*source, *target);
    const auto out = source->place_out(to);
    if (out == source->out.end() || out->to != target) return false;
    operation op(session_->memory());
    edge_payload* const gone = out->edge;
    source->out.erase(out);
    target->in.erase(target->place_in(from));
    op.pdelete(gone);
    session_->edges().add(-1);
    return true;
  }

  /// Changes the attribute. Returns false if the vertex or the edge is absent. Throws out_of_space
  /// without effect.
  bool set_vertex(vertex_id id, const Vertex& attribute) {
    node* const at = session_->find(id);
    if (at == nullptr) return false;
    const std::lock_guard lock(at->lock);
    if (at->vertex == nullptr) return false;
    operation op(session_->memory());
    at->vertex = op.set(at->vertex, &vertex_content::attribute, attribute);
    return true;
  }
  bool set_edge(vertex_id from, vertex_id to, const Edge& attribute) {
    node* const source = session_->find(from);
    if (source == nullptr) return false;
    const std::lock_guard lock(source->lock);
    const auto out = source->place_out(to);
    if (out == source->out.end() || out->to->id != to) return false;
    operation op(session_->memory());
    out->edge = op.set(out->edge, &edge_content::attribute, attribute);
    return true;
  }

  [[nodiscard]] std::optional<Vertex> vertex(vertex_id id) const {
    node* const at = session_->find(id);
    if (at == nullptr) return std::nullopt;
    const std::lock_guard lock(at->lock);
    if (at->vertex == nullptr) return std::nullopt;
    return at->vertex->unsafe().attribute;
  }
  [[nodiscard]] std::optional<Edge> edge(vertex_id from, vertex_id to) const {
    node* const source = session_->find(from);
    if (source == nullptr) return std::nullopt;
    const std::lock_guard lock(source->lock);
    const auto out = source->place_out(to);
    if (out == source->out.end() || out->to->id != to) return std::nullopt;
    return out->edge->unsafe().attribute;
  }
  [[nodiscard]] bool has_vertex(vertex_id id) const { return vertex(id).has_value(); }
  [[nodiscard]] bool has_edge(vertex_id from, vertex_id to) const {
    return edge(from, to).has_value();
  }

  /// Calls `visit(to, edge's attribute)` for each edge from `id`, by ascending number, under the
  /// lock of the vertex. Returns false if the vertex is absent.
  template <class Visit>
  bool for_each_edge_from(vertex_id id, Visit&& visit) const {
    node* const at = session_->find(id);
    if (at == nullptr) return false;
    const std::lock_guard lock(at->lock);
    if (at->vertex == nullptr) return false;
    for (const leading_out& each : at->out) visit(each.to->id, each.edge->unsafe().attribute);
    return true;
  }
  /// Calls `visit(id, attribute)` for each vertex, in no specified order, under its lock.
  template <class Visit>
  void for_each_vertex(Visit&& visit) const {
    session_->for_each([&](node& at) {
      const std::lock_guard lock(at.lock);
      if (at.vertex != nullptr) visit(at.id, at.vertex->unsafe().attribute);
    });
  }
  /// Calls `visit(from, to, attribute)` for each edge, in no specified order, under the lock of its
  /// first end.
  template <class Visit>
  void for_each_edge(Visit&& visit) const {
    session_->for_each([&](node& at) {
      const std::lock_guard lock(at.lock);
      for (const leading_out& each : at.out) {
        visit(at.id, each.to->id, each.edge->unsafe().attribute);
      }
    });
  }

  /// Blocks until every operation that has returned is durable. As clock::sync().
  void sync() { clock_.sync(); }

  /// Returns the number of vertices; exact while no operation runs.
  [[nodiscard]] std::size_t vertex_count() const { return count(session_->vertices()); }
  [[nodiscard]] std::size_t edge_count() const { return count(session_->edges()); }
  [[nodiscard]] epoch::clock<D>& pool_clock() noexcept { return clock_; }

 private:
  // On media: docs/formats/epoch.md.
  static constexpr std::uint64_t vertex_kind = 0x76657274;  // "vert"
  static constexpr std::uint64_t edge_kind = 0x65646765;    // "edge"
  struct vertex_content {
    std::uint64_t kind;
    std::uint64_t id;
    [[no_unique_address]] Vertex attribute;
  };
  struct edge_content {
    std::uint64_t kind;
    std::uint64_t from;
    std::uint64_t to;
    [[no_unique_address]] Edge attribute;
  };
  using vertex_payload = payload<vertex_content>;
  using edge_payload = payload<edge_content>;

  struct node;
  struct leading_out {
    node* to;
    edge_payload* edge;
  };
  /// The volatile state of a number that some vertex has or had. It stays until the graph is
  /// closed.
  struct node {
    explicit node(vertex_id its_id) : id(its_id) {}

    [[nodiscard]] auto place_out(vertex_id to) {
      return std::lower_bound(out.begin(), out.end(), to,
                              [](const leading_out& a, vertex_id b) { return a.to->id < b; });
    }
    [[nodiscard]] auto place_in(vertex_id from) {
      return std::lower_bound(in.begin(), in.end(), from,
                              [](const node* a, vertex_id b) { return a->id < b; });
    }
    void reserve_one_more() {
      if (out.size() == out.capacity()) out.reserve(2 * out.size() + 2);
      if (in.size() == in.capacity()) in.reserve(2 * in.size() + 2);
    }

    vertex_id id;
    domain::spin_lock<D> lock;
    vertex_payload* vertex = nullptr;  // null: it is not there
    std::vector<leading_out> out;      // by their ends' numbers
    std::vector<node*> in;
  };

  /// The locks of several nodes, taken in the order of their numbers.
  class locks {
   public:
    /// Locks the nodes `of`, which must be sorted.
    explicit locks(const std::vector<node*>& of) : held_(of.data(), of.data() + of.size()) {
      for (node* const each : held_) each->lock.lock();
    }
    locks(node& one, node& other) : two_{&one, &other} {
      if (two_[0]->id > two_[1]->id) std::swap(two_[0], two_[1]);
      held_ = {two_, two_[0] == two_[1] ? 1U : 2U};
      for (node* const each : held_) each->lock.lock();
    }
    ~locks() {
      for (node* const each : held_) each->lock.unlock();
    }
    locks(const locks&) = delete;
    locks& operator=(const locks&) = delete;

   private:
    node* two_[2] = {};
    std::span<node* const> held_;
  };

  static roots::root_type type() {
    const std::string full = std::string("epoch::graph,") + base::stored_name<Vertex>() + "," +
                             base::stored_name<Edge>() + ",1";
    return {
        "epoch::graph<" + std::to_string(sizeof(Vertex)) + "," + std::to_string(sizeof(Edge)) + ">",
        base::hash_bytes(full), true, false};
  }

  static std::size_t count(const base::sharded_count& of) {
    return static_cast<std::size_t>(std::max<std::int64_t>(of.sum(), 0));
  }

  /// Collects the vertex and its present neighbours. Returns false if the vertex is absent.
  static bool collect(node& at, std::vector<node*>& involved) {
    involved.clear();
    const std::lock_guard lock(at.lock);
    if (at.vertex == nullptr) return false;
    involved.push_back(&at);
    for (const leading_out& each : at.out) involved.push_back(each.to);
    involved.insert(involved.end(), at.in.begin(), at.in.end());
    std::sort(involved.begin(), involved.end(), by_id);
    involved.erase(std::unique(involved.begin(), involved.end()), involved.end());
    return true;
  }
  static bool by_id(const node* a, const node* b) noexcept { return a->id < b->id; }
  static bool is_complete(const node& at, const std::vector<node*>& involved) {
    const auto has = [&](node* each) {
      return std::binary_search(involved.begin(), involved.end(), each, by_id);
    };
    return std::all_of(at.out.begin(), at.out.end(),
                       [&](const auto& each) { return has(each.to); }) &&
           std::all_of(at.in.begin(), at.in.end(), has);
  }

  /// Removes all edges of `at`. Requires: the caller holds the locks of `at` and of all its
  /// neighbours.
  void drop_edges(operation& op, node& at) {
    std::int64_t dropped = 0;
    for (const leading_out& each : at.out) {
      if (each.to != &at) each.to->in.erase(each.to->place_in(at.id));
      op.pdelete(each.edge);
      ++dropped;
    }
    for (node* const each : at.in) {
      if (each == &at) continue;  // an edge to itself is gone already
      const auto edge = each->place_out(at.id);
      op.pdelete(edge->edge);
      each->out.erase(edge);
      ++dropped;
    }
    at.out.clear();
    at.in.clear();
    session_->edges().add(-dropped);
  }

  /// The volatile state of the graph.
  class session final : public payload_session<D> {
    struct hash_of_node {
      std::uint64_t operator()(const node& at) const { return base::mix64(at.id); }
    };
    using table_type = detail::bucket_table<node, hash_of_node, D>;
    using bucket = typename table_type::bucket_type;

   public:
    session(pool_type& in, const attached_root& root, epoch::clock<D>& clock)
        : payload_session<D>(in, root, clock) {
      const std::vector<std::vector<payload_header*>> found = this->recovered();
      std::size_t payloads = 0;
      for (const auto& part : found) payloads += part.size();
      table_.emplace(std::bit_ceil(std::max<std::size_t>(payloads / 8, 16)), 4);
      const auto in_parallel = [&](auto&& work) {
        base::in_parallel(static_cast<unsigned>(found.size()), [&](unsigned part) {
          for (payload_header* each : found[part]) work(each);
        });
      };
      in_parallel([&](payload_header* each) { link_vertex(each); });
      in_parallel([&](payload_header* each) { link_edge(each); });
      std::vector<node*> nodes;
      nodes.reserve(count(nodes_));
      table_->for_each([&](node& each) { nodes.push_back(&each); });
      base::for_each_in_parallel(this->threads(), nodes.size(),
                                 [&](std::size_t i) { put_in_order(*nodes[i]); });
    }
    ~session() override {
      if (table_) table_->for_each([](node& each) { delete &each; });
    }

    /// Returns the node of that number, and makes it if there is none.
    [[nodiscard]] node& node_of(vertex_id id) {
      this->require_here();
      const std::uint64_t hash = base::mix64(id);
      bool may_be_full = false;
      node& found = table_->with(hash, [&](bucket& here) -> node& {
        const auto at = here.find(hash, [&](const node& each) { return each.id == id; });
        if (at) return *at.item();
        here.make_room();
        auto made = std::make_unique<node>(id);
        here.add(hash, made.get());
        nodes_.add(1);
        may_be_full = table_->may_be_full(here);
        return *made.release();
      });
      if (may_be_full) table_->grow_if_full(count(nodes_));
      return found;
    }
    [[nodiscard]] node* find(vertex_id id) {
      this->require_here();
      const std::uint64_t hash = base::mix64(id);
      return table_->with(hash, [&](bucket& here) -> node* {
        const auto at = here.find(hash, [&](const node& each) { return each.id == id; });
        return at ? at.item() : nullptr;
      });
    }
    template <class Visit>
    void for_each(Visit&& visit) {
      this->require_here();
      table_->for_each(visit);
    }
    [[nodiscard]] base::sharded_count& vertices() noexcept { return vertices_; }
    [[nodiscard]] base::sharded_count& edges() noexcept { return edges_; }

   private:
    /// Returns the payload if it is of that kind, or nullptr.
    template <class Payload>
    Payload* as(payload_header* each, std::uint64_t kind) {
      const std::size_t room = this->room_of(each);
      auto* const at = reinterpret_cast<Payload*>(each);
      if (room < sizeof(payload_header) + sizeof kind) report_length();
      std::uint64_t its_kind = 0;
      std::memcpy(&its_kind, at->bytes(), sizeof its_kind);
      if (its_kind != kind) return nullptr;
      if (room < sizeof(Payload)) report_length();
      return at;
    }
    [[noreturn]] void report_length() {
      this->report_damage("has a payload that is longer than its block");
    }

    void link_vertex(payload_header* each) {
      auto* const at = as<vertex_payload>(each, vertex_kind);
      if (at == nullptr) return;
      node& its_node = node_of(at->unsafe().id);
      const std::lock_guard lock(its_node.lock);
      if (its_node.vertex != nullptr) this->report_damage("has a vertex twice");
      its_node.vertex = at;
      vertices_.add(1);
    }

    void link_edge(payload_header* each) {
      if (as<vertex_payload>(each, vertex_kind) != nullptr) return;
      auto* const at = as<edge_payload>(each, edge_kind);
      if (at == nullptr) this->report_damage("has a payload that is neither vertex nor edge");
      node& source = node_of(at->unsafe().from);
      node& target = node_of(at->unsafe().to);
      const locks held(source, target);
      if (source.vertex == nullptr || target.vertex == nullptr) {
        this->report_damage("has an edge without one of its ends");
      }
      source.out.push_back({&target, at});
      target.in.push_back(&source);
      edges_.add(1);
    }

    void put_in_order(node& at) {
      std::sort(at.out.begin(), at.out.end(),
                [](const leading_out& a, const leading_out& b) { return a.to->id < b.to->id; });
      std::sort(at.in.begin(), at.in.end(), by_id);
      if (std::adjacent_find(at.in.begin(), at.in.end()) != at.in.end()) {
        this->report_damage("has an edge twice");
      }
    }

    std::optional<table_type> table_;
    base::sharded_count nodes_;
    base::sharded_count vertices_;
    base::sharded_count edges_;
  };

  epoch::clock<D>& clock_;
  roots::attached<session> session_;
};

/// The buffered graph.
template <payload_content Vertex = no_attribute, payload_content Edge = no_attribute,
          domain::persistence_domain D = domain::native>
using graph = basic_graph<buffered<D>, Vertex, Edge>;

}  // namespace outlast::epoch
