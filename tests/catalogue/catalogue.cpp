#include <tests/catalogue/catalogue.hpp>

#include <tests/catalogue/catalogue_entries.hpp>

namespace outlast::verify {

const std::vector<catalogue_entry>& catalogue() {
  static const std::vector<catalogue_entry> entries = [] {
    detail::list all;
    detail::add_lists(all);
    detail::add_tables(all);
    detail::add_trees(all);
    detail::add_skiplists(all);
    detail::add_sequences(all);
    detail::add_roots(all);
    detail::add_regions(all);
    detail::add_growth(all);
    detail::add_scanned(all);
    detail::add_mirrored(all);
    detail::add_link_free(all);
    detail::add_soft(all);
    detail::add_epoch(all);
    detail::add_transactions(all);
    detail::add_scanned_pairs(all);
    if constexpr (OUTLAST_WHOLE_CATALOGUE != 0) {
      detail::add_lists_of_other_policies(all);
      detail::add_tables_of_other_policies(all);
      detail::add_trees_of_other_policies(all);
      detail::add_skiplists_of_other_policies(all);
      detail::add_sequences_of_other_policies(all);
      detail::add_other_mirrored(all);
    }
    // The newest last: the others keep their seeds.
    detail::add_transactions_of_strings(all);
    detail::add_snapshots(all);
    detail::add_wait_free_transactions(all);
    detail::add_timed_transactions(all);
    detail::add_one_lock_queue(all);
    detail::add_store(all);
    detail::add_several_roots(all);
    detail::add_outside(all);
    detail::add_late_root(all);
    detail::add_cleaned_store(all);
    detail::add_store_transactions(all);
    detail::add_full_store(all);
    detail::add_marked_store(all);
    detail::add_kept_store(all);
    detail::add_bounded_cache(all);
    detail::add_moved_store(all);
    if constexpr (OUTLAST_SERVED_CATALOGUE != 0) detail::add_served_engines(all);
    return all;
  }();
  return entries;
}

site_coverage coverage_of(const catalogue_entry& entry, const std::vector<program_site>& all) {
  std::vector<std::string> types;
  for (const catalogue_entry& each : catalogue()) types.push_back(each.type);
  return {all, entry.type, types};
}

}  // namespace outlast::verify
