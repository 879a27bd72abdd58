// The entries of the skip list, for any policy.
#pragma once

#include <tests/catalogue/by_its_ends.hpp>
#include <tests/catalogue/catalogue_entries.hpp>

#include <outlast/lockfree/skiplist.hpp>
#include <outlast/verify/machine/poisoning_epochs.hpp>

namespace outlast::verify::detail {

template <class Value, class Policy>
using skiplist_of =
    lockfree::skiplist<std::uint64_t, Value, Policy, std::less<std::uint64_t>, poisoning_epochs>;

/// Towers of at most two links: half of the nodes have one, or all have both.
template <class List>
typename map_subject<List>::parts parts_of_skiplist(unsigned branching) {
  typename map_subject<List>::parts how;
  how.make = [branching](auto& pool) {
    return std::make_unique<List>(pool, "subject",
                                  lockfree::skiplist_options{.highest = 3, .branching = branching});
  };
  how.blocks = [](List&) { return std::size_t{1}; };  // the root block
  return how;
}

template <class Value, class Policy>
void add_skiplist(list& to, const std::string& name, unsigned branching = 2) {
  using structure = skiplist_of<Value, Policy>;
  add_map<structure>(to, name, parts_of_skiplist<structure>(branching));
}

/// Two keys that come and go while all nodes are high: an insertion that still links its tower
/// meets the erasure of its node, and the block is used again.
template <class Policy>
void add_towers(list& to) {
  using enum map_operation;
  using structure = skiplist_of<std::uint64_t, Policy>;
  auto how = parts_of_skiplist<structure>(1);
  how.operations = {insert, insert, erase, erase, contains};
  add_map<structure>(to, "skiplist_towers", how,
                     {.threads = 2, .operations = 4, .keys = 2, .prefill = 1});
}

template <class Policy>
void add_ends(list& to) {
  using enum map_operation;
  using structure = by_its_ends<skiplist_of<std::uint64_t, Policy>>;
  auto how = parts_of_skiplist<structure>(2);
  how.operations = {insert, insert, erase, erase, contains, contains, get, get};
  add_map<structure>(to, "skiplist_ends", how);
  to.back().type = name_in_functions<skiplist_of<std::uint64_t, Policy>>();
}

}  // namespace outlast::verify::detail
