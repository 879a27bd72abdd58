// Checks and opens directed graphs whose vertices and edges have numbers as attributes.
#pragma once

#include <outlast/verify/checkers/oracle.hpp>
#include <outlast/verify/explorer/structure_subject.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace outlast::verify {

/// Operations of graphs. The key of a call is edge_key() of its edge. For a vertex, both arguments
/// of edge_key() are the vertex.
enum class graph_operation : std::uint8_t {
  add_vertex,     ///< ok if the vertex was absent
  remove_vertex,  ///< removes the vertex and its edges; ok if the vertex was present
  set_vertex,     ///< ok if the vertex was present
  add_edge,       ///< ok if the edge was absent and both vertices are present
  remove_edge,    ///< ok if the edge was present
  set_edge,       ///< ok if the edge was present
  edge,           ///< ok and the attribute if the edge is present
};

/// The specification of graphs of up to `within.keys` vertices. A state is a map from vertex_key()
/// and edge_key() to attributes. Thread-safety: immutable, any number of threads.
class graph_oracle final : public stepwise_oracle {
 public:
  static constexpr std::uint64_t max_vertices = 16;
  [[nodiscard]] static constexpr std::uint64_t edge_key(std::uint64_t from, std::uint64_t to) {
    return from * max_vertices + to;
  }
  [[nodiscard]] static constexpr std::uint64_t from_of(std::uint64_t key) {
    return key / max_vertices;
  }
  [[nodiscard]] static constexpr std::uint64_t to_of(std::uint64_t key) {
    return key % max_vertices;
  }
  /// Returns the key of a vertex in a state.
  [[nodiscard]] static constexpr std::uint64_t vertex_key(std::uint64_t id) {
    return max_vertices * max_vertices + id;
  }

  [[nodiscard]] std::optional<abstract_state> step(const abstract_state& before,
                                                   const event& e) const override;
  [[nodiscard]] bool changes(const call& what) const override;
  [[nodiscard]] call draw(random& source, const scope& within, std::uint64_t serial) const override;
  [[nodiscard]] std::string describe(const call& what) const override;
  [[nodiscard]] std::string describe(const abstract_state& state) const override;
};

/// One opened graph in its pool.
template <class Graph>
class graph_world : public structure_world<Graph> {
 protected:
  using structure_world<Graph>::structure_;

 public:
  using structure_world<Graph>::structure_world;

  outcome apply(const call& what) override {
    const std::uint64_t from = graph_oracle::from_of(what.key);
    const std::uint64_t to = graph_oracle::to_of(what.key);
    switch (static_cast<graph_operation>(what.kind)) {
      case graph_operation::add_vertex: return {structure_->add_vertex(from, what.argument)};
      case graph_operation::remove_vertex: return {structure_->remove_vertex(from)};
      case graph_operation::set_vertex: return {structure_->set_vertex(from, what.argument)};
      case graph_operation::add_edge: return {structure_->add_edge(from, to, what.argument)};
      case graph_operation::remove_edge: return {structure_->remove_edge(from, to)};
      case graph_operation::set_edge: return {structure_->set_edge(from, to, what.argument)};
      case graph_operation::edge: break;
    }
    const std::optional<std::uint64_t> found = structure_->edge(from, to);
    return found ? outcome{true, *found} : outcome{};
  }

  abstract_state observe() override {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> entries;
    structure_->for_each_edge([&](std::uint64_t from, std::uint64_t to, std::uint64_t attribute) {
      entries.emplace_back(graph_oracle::edge_key(from, to), attribute);
    });
    structure_->for_each_vertex([&](std::uint64_t id, std::uint64_t attribute) {
      entries.emplace_back(graph_oracle::vertex_key(id), attribute);
    });
    std::sort(entries.begin(), entries.end());
    abstract_state state;
    for (const auto& [key, attribute] : entries) state.insert(state.end(), {key, attribute});
    return state;
  }
};

}  // namespace outlast::verify
