// The walks of a sorted map's handle: over all keys, and over a range of keys.
#pragma once

#include <outlast/algorithm/tree_probes.hpp>
#include <outlast/root/map_operations.hpp>

#include <utility>

namespace outlast::algorithm {

/// The operations of a sorted map. `Map` is as for roots::map_operations and has a member
/// walk(range, visit) that calls `visit` for the keys of a whole_tree or a tree_range, in order.
template <class Map, class Key, class Value, class Compare>
class sorted_map_operations : public roots::map_operations<Map, Key, Value> {
 public:
  /// Calls `visit(key, value)` in key order for each key that is present during the whole walk. A
  /// key that is inserted or erased meanwhile may be visited or not. No key is visited twice.
  ///
  /// Lock-free. The visited keys are durable at return. No retired node of the pool is freed while
  /// the walk runs. A tree needs volatile memory in proportion to its depth, and throws
  /// std::bad_alloc, possibly between two visits. Throws what `visit` throws.
  template <class Visit>
  void for_each(Visit&& visit) const {
    roots::handle_access::walk(this->self(), whole_tree<Compare>(), visit);
  }

  /// Calls `visit(key, value)` as for_each() does, for the keys that are not less than `from` and
  /// less than `to`. Visits no key if `to` is not greater than `from`. A skip list or a tree takes
  /// time in proportion to its depth and to the number of these keys; a list takes time in
  /// proportion to the keys less than `to`.
  template <class Visit>
  void for_each_in(const Key& from, const Key& to, Visit&& visit) const {
    roots::handle_access::walk(this->self(), tree_range<Key, Compare>(from, to), visit);
  }
};

}  // namespace outlast::algorithm
