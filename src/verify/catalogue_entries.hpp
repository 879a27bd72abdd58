// The entries of one structure under all policies; each structure is a source of its own, because
// these are the largest instantiations of the library.
#pragma once

#include <outlast/durable/policy.hpp>
#include <outlast/verify/catalogue.hpp>
#include <outlast/verify/eager_epochs.hpp>
#include <outlast/verify/map_subject.hpp>
#include <outlast/verify/moving_subject.hpp>

namespace outlast::verify::detail {

using list = std::vector<catalogue_entry>;

template <class Tag>
using simulated_flit = durable::flit<Tag, durable::automatic, domain::simulated>;

/// Calls `add(policy)` with each policy under which structures are verified. Tables are as small as
/// they may be: rare things are made frequent.
template <class Add>
void for_each_policy(Add&& add) {
  add(simulated_flit<durable::tag::adjacent>{});
  add(simulated_flit<durable::tag::always>{});
  add(simulated_flit<durable::tag::hashed<durable::smallest_tag_table_bytes>>{});
  add(simulated_flit<durable::tag::line<durable::smallest_tag_table_bytes>>{});
}

/// The same with each placement but `automatic`: where loads look at tags, and where they flush.
template <class Add>
void for_each_placement(Add&& add) {
  using domain::simulated;
  using hashed = durable::tag::hashed<durable::smallest_tag_table_bytes>;
  add(durable::flit<hashed, durable::nvtraverse, simulated>{});
  add(durable::flit<durable::tag::always, durable::nvtraverse, simulated>{});
  add(durable::flit<durable::tag::adjacent, durable::manual, simulated>{});
  add(durable::flit<durable::tag::always, durable::manual, simulated>{});
  add(durable::izraelevitz<simulated>{});
}

template <class Structure>
void add_map(list& to, const std::string& name, typename map_subject<Structure>::parts how,
             scope within = {}) {
  to.push_back({name, Structure::policy_type::name(),
                [name, how] { return std::make_unique<map_subject<Structure>>(name, how); }, within,
                name_in_functions<Structure>()});
}

/// The structure in a pool that lies elsewhere whenever it is opened.
template <class Structure>
void add_moving_map(list& to, const std::string& name, typename map_subject<Structure>::parts how) {
  how.memory_bytes = std::size_t{128} << 10;  // it is copied at each opening
  const auto make = [name, how] {
    return std::make_unique<moving_subject>(name,
                                            std::make_unique<map_subject<Structure>>(name, how));
  };
  to.push_back({name, Structure::policy_type::name(), make, {}, name_in_functions<Structure>()});
}

void add_lists(list& to);
void add_tables(list& to);
void add_roots(list& to);
void add_regions(list& to);

}  // namespace outlast::verify::detail
