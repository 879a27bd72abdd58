// The entries of the list, for any policy.
#pragma once

#include <src/verify/catalogue_entries.hpp>

#include <outlast/lockfree/harris_list.hpp>

namespace outlast::verify::detail {

template <class Value, class Policy>
using list_of =
    lockfree::harris_list<std::uint64_t, Value, Policy, std::less<std::uint64_t>, eager_epochs>;

template <class List>
typename map_subject<List>::parts parts_of_list() {
  typename map_subject<List>::parts how;
  how.blocks = [](List&) { return std::size_t{1}; };  // the root block
  return how;
}

template <class Value, class Policy>
void add_list(list& to, const std::string& name) {
  using structure = list_of<Value, Policy>;
  add_map<structure>(to, name, parts_of_list<structure>());
}

}  // namespace outlast::verify::detail
