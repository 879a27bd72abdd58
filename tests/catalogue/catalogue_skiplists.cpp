#include <tests/catalogue/catalogue_skiplists.hpp>

namespace outlast::verify::detail {

void add_skiplists(list& to) {
  for_each_representative([&](auto policy) {
    using chosen = decltype(policy);
    add_skiplist<std::uint64_t, chosen>(to, "skiplist");
  });
  add_skiplist<wide_value, usual_policy>(to, "skiplist_wide");
  add_towers<usual_policy>(to);
  add_ends<usual_policy>(to);
  using structure = skiplist_of<std::uint64_t, usual_policy>;
  add_moving_map<structure>(to, "skiplist_moving", parts_of_skiplist<structure>(2));
}

}  // namespace outlast::verify::detail
