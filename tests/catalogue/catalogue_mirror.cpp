#include <tests/catalogue/catalogue_lists.hpp>
#include <tests/catalogue/catalogue_sequences.hpp>
#include <tests/catalogue/catalogue_skiplists.hpp>
#include <tests/catalogue/catalogue_tables.hpp>
#include <tests/catalogue/catalogue_trees.hpp>

#include <outlast/durable/mirror.hpp>

namespace outlast::verify::detail {
namespace {

using mirror = durable::mirror<domain::simulated>;
using mirror_in_place = durable::mirror<domain::simulated, durable::mirrored_values::in_place>;

}  // namespace

void add_mirrored(list& to) {
  add_list<std::uint64_t, mirror>(to, "harris_list");
  add_list<std::uint64_t, mirror_in_place>(to, "harris_list");
  add_table<std::uint64_t, mirror>(to, "hash_table");
  add_growing<mirror>(to);
  add_tree<std::uint64_t, mirror>(to, "natarajan_tree");
  add_skiplist<std::uint64_t, mirror>(to, "skiplist");
  add_queue<std::uint64_t, mirror>(to, "michael_scott_queue");
  add_queue<std::uint64_t, mirror>(to, "michael_scott_queue_three", three_threads);
  add_stack<std::uint64_t, mirror>(to, "stack");
  using structure = list_of<std::uint64_t, mirror>;
  add_moving_map<structure>(to, "harris_list_moving", parts_of_list<structure>());
}

}  // namespace outlast::verify::detail
