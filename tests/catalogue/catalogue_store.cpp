// The store's core, as small as it may be.
#include <tests/catalogue/catalogue_entries.hpp>
#include <tests/catalogue/store_in_pool.hpp>

#include <memory>

namespace outlast::verify::detail {

void add_store(list& to) {
  using store = store_in_pool<domain::simulated>;
  to.push_back(
      {"store",
       store::policy_type::name(),
       [] { return std::make_unique<store_subject<store>>("store", structure_parts<store>()); },
       {.threads = 2, .operations = 2, .keys = 3, .prefill = 3}});
}

}  // namespace outlast::verify::detail
