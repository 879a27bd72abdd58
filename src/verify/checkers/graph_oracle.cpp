// The specification of directed graphs.
#include <outlast/verify/explorer/graph_subject.hpp>

#include <array>
#include <string_view>

namespace outlast::verify {
namespace {

constexpr std::array<std::string_view, 7> names = {
    "add_vertex", "remove_vertex", "set_vertex", "add_edge", "remove_edge", "set_edge", "edge"};

graph_operation kind_of(const call& what) { return static_cast<graph_operation>(what.kind); }

bool is_about_edge(const call& what) { return kind_of(what) >= graph_operation::add_edge; }

/// Returns the state without the vertex and its edges.
abstract_state without_vertex(abstract_state graph, std::uint64_t id) {
  using oracle = graph_oracle;
  graph = bound(std::move(graph), oracle::vertex_key(id), std::nullopt);
  for (std::uint64_t other = 0; other < oracle::max_vertices; ++other) {
    graph = bound(std::move(graph), oracle::edge_key(id, other), std::nullopt);
    graph = bound(std::move(graph), oracle::edge_key(other, id), std::nullopt);
  }
  return graph;
}

/// Returns the state after an operation, and the result of the operation.
std::pair<abstract_state, outcome> effect_of(const call& what, const abstract_state& before) {
  using oracle = graph_oracle;
  const auto key = is_about_edge(what) ? what.key : oracle::vertex_key(oracle::from_of(what.key));
  const std::optional<std::uint64_t> now = value_of(before, key);
  const auto has = [&](std::uint64_t id) {
    return value_of(before, oracle::vertex_key(id)).has_value();
  };
  const bool there = now.has_value();
  switch (kind_of(what)) {
    case graph_operation::add_vertex:
      return {there ? before : bound(before, key, what.argument), {!there}};
    case graph_operation::remove_vertex:
      return {there ? without_vertex(before, oracle::from_of(what.key)) : before, {there}};
    case graph_operation::set_vertex:
    case graph_operation::set_edge:
      return {there ? bound(before, key, what.argument) : before, {there}};
    case graph_operation::add_edge: {
      const bool adds = !there && has(oracle::from_of(key)) && has(oracle::to_of(key));
      return {adds ? bound(before, key, what.argument) : before, {adds}};
    }
    case graph_operation::remove_edge: return {bound(before, key, std::nullopt), {there}};
    case graph_operation::edge: return {before, {there, now.value_or(0)}};
  }
  return {before, {}};
}

}  // namespace

std::optional<abstract_state> graph_oracle::step(const abstract_state& before,
                                                 const event& e) const {
  auto [next, result] = effect_of(e.what, before);
  if (!e.pending() && !(result == e.result)) return std::nullopt;
  return std::move(next);
}

bool graph_oracle::changes(const call& what) const {
  return kind_of(what) != graph_operation::edge;
}

call graph_oracle::draw(random& source, const scope& within, std::uint64_t serial) const {
  using enum graph_operation;
  // Additions are more frequent than removals.
  static constexpr std::array kinds = {add_vertex, add_vertex,  remove_vertex, set_vertex, add_edge,
                                       add_edge,   remove_edge, set_edge,      edge};
  const graph_operation kind = kinds[source.below(kinds.size())];
  const std::uint64_t from = source.below(within.keys);
  const std::uint64_t to = source.below(within.keys);
  const bool has_attribute =
      kind == add_vertex || kind == set_vertex || kind == add_edge || kind == set_edge;
  const call drawn{static_cast<std::uint8_t>(kind), edge_key(from, from),
                   has_attribute ? serial : 0};
  return is_about_edge(drawn) ? call{drawn.kind, edge_key(from, to), drawn.argument} : drawn;
}

std::string graph_oracle::describe(const call& what) const {
  std::string text(names.at(what.kind));
  text += '(' + std::to_string(from_of(what.key));
  if (is_about_edge(what)) text += ", " + std::to_string(to_of(what.key));
  if (what.argument != 0) text += ": " + std::to_string(what.argument);
  return text + ')';
}

std::string graph_oracle::describe(const abstract_state& state) const {
  std::string text = "{";
  for (std::size_t i = 0; i + 1 < state.size(); i += 2) {
    if (i != 0) text += ", ";
    const std::uint64_t key = state[i];
    text += key >= vertex_key(0) ? std::to_string(key - vertex_key(0))
                                 : std::to_string(from_of(key)) + "->" + std::to_string(to_of(key));
    text += ": " + std::to_string(state[i + 1]);
  }
  return text + '}';
}

}  // namespace outlast::verify
