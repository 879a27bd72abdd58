#include <tests/catalogue/catalogue_skiplists.hpp>

namespace outlast::verify::detail {

void add_skiplists_of_other_policies(list& to) {
  for_each_representative([&](auto policy) {
    using chosen = decltype(policy);
    if constexpr (!is_one_of<chosen, usual_policy>) {
      add_skiplist<wide_value, chosen>(to, "skiplist_wide");
    }
  });
  for_each_other_policy([&](auto policy) {
    using chosen = decltype(policy);
    add_skiplist<std::uint64_t, chosen>(to, "skiplist");
    add_skiplist<wide_value, chosen>(to, "skiplist_wide");
  });
}

}  // namespace outlast::verify::detail
