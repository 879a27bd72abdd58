// The entries of the list, for any policy.
#pragma once

#include <tests/catalogue/by_its_ends.hpp>
#include <tests/catalogue/catalogue_entries.hpp>

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

template <class Policy>
void add_ends_of_list(list& to) {
  using enum map_operation;
  using structure = by_its_ends<list_of<std::uint64_t, Policy>>;
  auto how = parts_of_list<structure>();
  how.operations = {insert, insert, erase, erase, contains, contains, get, get};
  add_map<structure>(to, "harris_list_ends", how);
  to.back().type = name_in_functions<list_of<std::uint64_t, Policy>>();
}

}  // namespace outlast::verify::detail
