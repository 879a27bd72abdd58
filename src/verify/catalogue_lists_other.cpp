#include <src/verify/catalogue_lists.hpp>

#include <type_traits>

namespace outlast::verify::detail {

void add_lists_of_other_policies(list& to) {
  using in_the_tests = simulated_flit<durable::tag::always, durable::automatic>;
  for_each_other_policy([&](auto policy) {
    using chosen = decltype(policy);
    if constexpr (!std::is_same_v<chosen, in_the_tests>) {
      add_list<std::uint64_t, chosen>(to, "harris_list");
    }
    add_list<wide_value, chosen>(to, "harris_list_wide");
  });
}

}  // namespace outlast::verify::detail
