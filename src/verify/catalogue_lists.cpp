#include <src/verify/catalogue_entries.hpp>

#include <outlast/lockfree/harris_list.hpp>

namespace outlast::verify::detail {
namespace {

template <class Value, class Policy>
using list_of =
    lockfree::harris_list<std::uint64_t, Value, Policy, std::less<std::uint64_t>, eager_epochs>;

template <class List>
typename map_subject<List>::parts parts_of() {
  typename map_subject<List>::parts how;
  how.blocks = [](List&) { return std::size_t{1}; };  // the root block
  return how;
}

template <class Value, class Policy>
void add_list(list& to, const std::string& name) {
  using structure = list_of<Value, Policy>;
  add_map<structure>(to, name, parts_of<structure>());
}

void add_moving_list(list& to) {
  using structure = list_of<std::uint64_t, simulated_flit<durable::tag::adjacent>>;
  add_moving_map<structure>(to, "harris_list_moving", parts_of<structure>());
}

}  // namespace

void add_lists(list& to) {
  for_each_policy([&](auto policy) {
    using chosen = decltype(policy);
    add_list<std::uint64_t, chosen>(to, "harris_list");
    add_list<lockfree::no_value, chosen>(to, "harris_list_set");
    add_list<wide_value, chosen>(to, "harris_list_wide");
  });
  for_each_placement([&](auto policy) {
    using chosen = decltype(policy);
    add_list<std::uint64_t, chosen>(to, "harris_list");
    add_list<wide_value, chosen>(to, "harris_list_wide");
  });
  add_moving_list(to);
}

}  // namespace outlast::verify::detail
