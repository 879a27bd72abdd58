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
  using unwatched = store_in_pool<domain::simulated, small_record_engine<domain::simulated, false>>;
  to.push_back({"store_of_records_unwatched",
                unwatched::policy_type::name(),
                [] {
                  return std::make_unique<store_subject<unwatched>>("store_of_records_unwatched",
                                                                    structure_parts<unwatched>());
                },
                {.threads = 2, .operations = 2, .keys = 3, .prefill = 3}});
  using records = store_in_pool<domain::simulated, small_record_engine<domain::simulated>>;
  to.push_back({"store_of_records",
                records::policy_type::name(),
                [] {
                  return std::make_unique<store_subject<records>>("store_of_records",
                                                                  structure_parts<records>());
                },
                {.threads = 2, .operations = 2, .keys = 3, .prefill = 3}});
}

}  // namespace outlast::verify::detail
