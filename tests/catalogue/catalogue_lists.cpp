#include <tests/catalogue/catalogue_lists.hpp>

namespace outlast::verify::detail {

void add_lists(list& to) {
  for_each_representative([&](auto policy) {
    using chosen = decltype(policy);
    add_list<std::uint64_t, chosen>(to, "harris_list");
    add_list<wide_value, chosen>(to, "harris_list_wide");
  });
  add_list<roots::no_value, usual_policy>(to, "harris_list_set");
  add_ends_of_list<usual_policy>(to);
  add_list<std::uint64_t, flushing_policy>(to, "harris_list");
  add_list<std::uint64_t, marking_policy>(to, "harris_list");
  using structure = list_of<std::uint64_t, usual_policy>;
  add_moving_map<structure>(to, "harris_list_moving", parts_of_list<structure>());
}

}  // namespace outlast::verify::detail
