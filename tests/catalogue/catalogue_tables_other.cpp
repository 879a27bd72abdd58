#include <tests/catalogue/catalogue_tables.hpp>

namespace outlast::verify::detail {

void add_tables_of_other_policies(list& to) {
  for_each_other_policy([&](auto policy) {
    using chosen = decltype(policy);
    if constexpr (!is_one_of<chosen, marking_policy>) {
      add_table<std::uint64_t, chosen>(to, "hash_table");
    }
    add_colliding<chosen>(to);
    add_growing<chosen>(to);
  });
}

}  // namespace outlast::verify::detail
