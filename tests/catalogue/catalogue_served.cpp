// The engine of a server: requests of clients over a cache and over stores.
#include <tests/catalogue/catalogue_entries.hpp>
#include <tests/catalogue/served_cache.hpp>
#include <tests/catalogue/served_store.hpp>

#include <memory>
#include <string>

namespace outlast::verify::detail {
namespace {

using domain::simulated;

constexpr scope of_requests{.threads = 2, .operations = 2, .keys = 3, .prefill = 3};

template <class Subject, class Structure>
void add_served(list& to, const std::string& name) {
  to.push_back({name,
                Structure::policy_type::name(),
                [name] { return std::make_unique<Subject>(name); },
                of_requests,
                {},
                true});
}

}  // namespace

void add_served_engines(list& to) {
  using enum served_durability;
  using records = small_record_engine<simulated, false, false>;
  using records_on_disk = small_record_engine<simulated, false, false, small_marked_shape>;
  using cache = served_cache<epoch::buffered<simulated>>;
  using store = served_store<simulated, records, by_store>;
  using synced = served_store<simulated, records_on_disk, by_space>;
  using window = served_store<simulated, records_on_disk, later>;
  add_served<served_cache_subject<cache>, cache>(to, "server_over_cache");
  add_served<served_store_subject<store>, store>(to, "server_over_store");
  add_served<served_store_subject<synced>, synced>(to, "server_over_store_synced");
  add_served<served_window_subject<window>, window>(to, "server_over_store_window");
}

}  // namespace outlast::verify::detail
