#include <tests/catalogue/catalogue_trees.hpp>

namespace outlast::verify::detail {

void add_trees_of_other_policies(list& to) {
  for_each_other_policy([&](auto policy) {
    using chosen = decltype(policy);
    if constexpr (!is_one_of<chosen, marking_policy>) {
      add_tree<std::uint64_t, chosen>(to, "natarajan_tree");
    }
    add_tree<wide_value, chosen>(to, "natarajan_tree_wide");
  });
}

}  // namespace outlast::verify::detail
