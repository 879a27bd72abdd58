// What the sources of the catalogue share. Each structure has two: one under the policies that
// every run of the tests explores, one under all others. These are the largest instantiations of
// the library.
#pragma once

#include <outlast/durable/baselines/izraelevitz.hpp>
#include <outlast/durable/baselines/link_and_persist.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/verify/explorer/map_subject.hpp>
#include <outlast/verify/explorer/moving_subject.hpp>
#include <outlast/verify/machine/eager_epochs.hpp>
#include <tests/catalogue/catalogue.hpp>

#include <type_traits>

namespace outlast::verify::detail {

using list = std::vector<catalogue_entry>;

/// The domain of every policy here. Tables are as small as they may be: rare things are made
/// frequent.
template <class Tag, class Placement>
using simulated_flit = durable::flit<Tag, Placement, domain::simulated>;
using smallest_hashed = durable::tag::hashed<durable::smallest_tag_table_bytes>;
using smallest_line = durable::tag::line<durable::smallest_tag_table_bytes>;

/// The policy that users get who name none.
using usual_policy = simulated_flit<durable::tag::adjacent, durable::automatic>;

/// Each load flushes: what mutants and replays began with.
using flushing_policy = simulated_flit<durable::tag::always, durable::automatic>;

/// The mark in the word itself; values that fill theirs go with their node.
using marking_policy = durable::link_and_persist<durable::automatic, domain::simulated>;

/// Calls `add(policy)` with the policies that differ most, which every run of the tests explores:
/// each placement once, a counter in the pool, a table of counters, and none.
template <class Add>
void for_each_representative(Add&& add) {
  add(usual_policy{});
  add(simulated_flit<smallest_hashed, durable::nvtraverse>{});
  add(simulated_flit<durable::tag::always, durable::manual>{});
}

/// Calls `add(policy)` with all others: the rest of tags times placements, link-and-persist, and
/// the original transformation. Compiled where OUTLAST_WHOLE_CATALOGUE is on.
template <class Add>
void for_each_other_policy(Add&& add) {
  using namespace durable;
  add(simulated_flit<tag::always, automatic>{});
  add(simulated_flit<smallest_hashed, automatic>{});
  add(simulated_flit<smallest_line, automatic>{});
  add(simulated_flit<tag::adjacent, nvtraverse>{});
  add(simulated_flit<tag::always, nvtraverse>{});
  add(simulated_flit<smallest_line, nvtraverse>{});
  add(simulated_flit<tag::adjacent, manual>{});
  add(simulated_flit<smallest_hashed, manual>{});
  add(simulated_flit<smallest_line, manual>{});
  add(marking_policy{});
  add(link_and_persist<nvtraverse, domain::simulated>{});
  add(link_and_persist<manual, domain::simulated>{});
  add(izraelevitz<domain::simulated>{});
}

/// One of `Policies`.
template <class Policy, class... Policies>
inline constexpr bool is_one_of = (std::is_same_v<Policy, Policies> || ...);

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
void add_trees(list& to);
void add_sequences(list& to);
void add_roots(list& to);
void add_skiplists(list& to);
void add_regions(list& to);
void add_growth(list& to);
void add_mirrored(list& to);
void add_scanned(list& to);
void add_scanned_pairs(list& to);
void add_link_free(list& to);
void add_soft(list& to);
void add_epoch(list& to);
void add_transactions(list& to);
void add_transactions_of_strings(list& to);
void add_snapshots(list& to);
void add_wait_free_transactions(list& to);
void add_timed_transactions(list& to);
void add_one_lock_queue(list& to);
void add_bounded_cache(list& to);
void add_late_root(list& to);
void add_store(list& to);
void add_cleaned_store(list& to);
void add_store_transactions(list& to);
void add_full_store(list& to);
void add_marked_store(list& to);
void add_kept_store(list& to);
void add_moved_store(list& to);
void add_served_engines(list& to);
void add_several_roots(list& to);
void add_outside(list& to);
void add_lists_of_other_policies(list& to);
void add_tables_of_other_policies(list& to);
void add_trees_of_other_policies(list& to);
void add_skiplists_of_other_policies(list& to);
void add_sequences_of_other_policies(list& to);
void add_other_mirrored(list& to);

}  // namespace outlast::verify::detail
