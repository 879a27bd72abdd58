#include <src/verify/catalogue_entries.hpp>

#include <outlast/lockfree/harris_list.hpp>

namespace outlast::verify::detail {
namespace {

template <class Value, class Policy>
void add_list(list& to, const std::string& name) {
  using structure =
      lockfree::harris_list<std::uint64_t, Value, Policy, std::less<std::uint64_t>, eager_epochs>;
  typename map_subject<structure>::parts how;
  how.blocks = [](structure&) { return std::size_t{1}; };  // the root block
  add_map<structure>(to, name, how);
}

}  // namespace

void add_lists(list& to) {
  for_each_policy([&](auto policy) {
    using chosen = decltype(policy);
    add_list<std::uint64_t, chosen>(to, "harris_list");
    add_list<lockfree::no_value, chosen>(to, "harris_list_set");
    add_list<wide_value, chosen>(to, "harris_list_wide");
  });
}

}  // namespace outlast::verify::detail
