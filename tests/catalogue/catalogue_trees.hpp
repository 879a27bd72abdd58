// The entries of the search tree, for any policy.
#pragma once

#include <tests/catalogue/catalogue_entries.hpp>

#include <outlast/lockfree/natarajan_tree.hpp>

#include <algorithm>

namespace outlast::verify::detail {

template <class Value, class Policy>
using tree_of =
    lockfree::natarajan_tree<std::uint64_t, Value, Policy, std::less<std::uint64_t>, eager_epochs>;

template <class Tree>
typename map_subject<Tree>::parts parts_of_tree() {
  typename map_subject<Tree>::parts how;
  how.blocks = [](Tree& of) {  // the root block, and an internal node per key but one
    return std::max(of.size_estimate(), std::size_t{1});
  };
  return how;
}

template <class Value, class Policy>
void add_tree(list& to, const std::string& name) {
  using structure = tree_of<Value, Policy>;
  add_map<structure>(to, name, parts_of_tree<structure>());
}

}  // namespace outlast::verify::detail
