#include <tests/catalogue/catalogue_tables.hpp>

namespace outlast::verify::detail {

void add_tables(list& to) {
  for_each_representative([&](auto policy) {
    using chosen = decltype(policy);
    add_table<std::uint64_t, chosen>(to, "hash_table");
    add_growing<chosen>(to);
  });
  add_table<roots::no_value, usual_policy>(to, "hash_table_set");
  add_table<wide_value, usual_policy>(to, "hash_table_wide");
  add_colliding<usual_policy>(to);
  add_table<std::uint64_t, marking_policy>(to, "hash_table");
  using structure = table_of<std::uint64_t, usual_policy>;
  add_moving_map<structure>(to, "hash_table_moving", parts_of_table<structure>(4));
}

}  // namespace outlast::verify::detail
