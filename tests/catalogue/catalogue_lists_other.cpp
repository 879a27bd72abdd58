#include <tests/catalogue/catalogue_lists.hpp>

namespace outlast::verify::detail {

void add_lists_of_other_policies(list& to) {
  for_each_other_policy([&](auto policy) {
    using chosen = decltype(policy);
    if constexpr (!is_one_of<chosen, flushing_policy, marking_policy>) {
      add_list<std::uint64_t, chosen>(to, "harris_list");
    }
    add_list<wide_value, chosen>(to, "harris_list_wide");
  });
}

}  // namespace outlast::verify::detail
