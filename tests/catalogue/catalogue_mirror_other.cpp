#include <tests/catalogue/catalogue_lists.hpp>
#include <tests/catalogue/catalogue_sequences.hpp>
#include <tests/catalogue/catalogue_skiplists.hpp>
#include <tests/catalogue/catalogue_tables.hpp>
#include <tests/catalogue/catalogue_trees.hpp>

#include <outlast/durable/mirror.hpp>

namespace outlast::verify::detail {

/// Sets, wide values, walks by order, and what else lists, tables and trees have under others.
void add_other_mirrored(list& to) {
  using mirror = durable::mirror<domain::simulated>;
  using in_place = durable::mirror<domain::simulated, durable::mirrored_values::in_place>;
  add_list<roots::no_value, mirror>(to, "harris_list_set");
  add_list<wide_value, mirror>(to, "harris_list_wide");
  add_ends_of_list<mirror>(to);
  add_table<roots::no_value, mirror>(to, "hash_table_set");
  add_table<wide_value, mirror>(to, "hash_table_wide");
  add_table<std::uint64_t, in_place>(to, "hash_table");
  add_colliding<mirror>(to);
  add_tree<roots::no_value, mirror>(to, "natarajan_tree_set");
  add_tree<std::uint64_t, in_place>(to, "natarajan_tree");
  add_skiplist<roots::no_value, mirror>(to, "skiplist_set");
  add_skiplist<std::uint64_t, in_place>(to, "skiplist");
  add_towers<mirror>(to);
  add_ends<mirror>(to);
  add_stack<std::uint64_t, mirror>(to, "stack_three", three_threads);
}

}  // namespace outlast::verify::detail
