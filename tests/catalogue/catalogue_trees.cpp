#include <tests/catalogue/catalogue_trees.hpp>

#include <optional>

namespace outlast::verify::detail {
namespace {

/// Answers what it is asked by walking ranges and by looking at both ends. The least key of a
/// scenario is 1.
template <class Policy>
class tree_by_ranges : public tree_of<std::uint64_t, Policy> {
  using tree = tree_of<std::uint64_t, Policy>;

 public:
  using tree::tree;

  [[nodiscard]] bool contains(std::uint64_t key) const {
    const auto least = tree::min();
    if (key == 1 || (least && least->first == key)) return least && least->first == key;
    const auto greatest = tree::max();
    if (greatest && greatest->first == key) return true;
    return get(key).has_value();
  }

  [[nodiscard]] std::optional<std::uint64_t> get(std::uint64_t key) const {
    std::optional<std::uint64_t> found;
    tree::for_each_in(key, key + 1, [&](std::uint64_t, std::uint64_t value) { found = value; });
    return found;
  }
};

template <class Policy>
void add_tree_by_ranges(list& to) {
  add_map<tree_by_ranges<Policy>>(to, "natarajan_tree_ranges",
                                  parts_of_tree<tree_by_ranges<Policy>>());
  to.back().type = name_in_functions<tree_of<std::uint64_t, Policy>>();
}

}  // namespace

void add_trees(list& to) {
  for_each_representative([&](auto policy) {
    using chosen = decltype(policy);
    add_tree<std::uint64_t, chosen>(to, "natarajan_tree");
    add_tree<wide_value, chosen>(to, "natarajan_tree_wide");
  });
  add_tree<std::uint64_t, marking_policy>(to, "natarajan_tree");
  add_tree<roots::no_value, usual_policy>(to, "natarajan_tree_set");
  add_tree_by_ranges<simulated_flit<durable::tag::always, durable::manual>>(to);
  using structure = tree_of<std::uint64_t, usual_policy>;
  add_moving_map<structure>(to, "natarajan_tree_moving", parts_of_tree<structure>());
}

}  // namespace outlast::verify::detail
