// The entries of SOFT sets, with copies in volatile memory and without.
#include <outlast/sets/baselines/soft_in_place.hpp>
#include <tests/catalogue/set_entries.hpp>

namespace outlast::verify::detail {

void add_soft(list& to) {
  add_scheme<sets::soft<simulated>>(to, "soft");
  using in_place = sets::soft_in_place<simulated>;
  using in_place_list = set_list<in_place, std::uint64_t>;
  add_map<in_place_list>(to, "soft_in_place_list", parts_of<in_place_list>(at_once));
  add_updates<in_place_list>(to, "soft_in_place_list_updates", at_once);
  using in_place_hash = set_hash<in_place, std::uint64_t>;
  add_by<by_walks<in_place_hash>, in_place_hash>(to, "soft_in_place_hash_walks", table_of(4),
                                                 one_key);
  using in_place_tree = set_tree<in_place, std::uint64_t>;
  add_map<in_place_tree>(to, "soft_in_place_tree", parts_of<in_place_tree>(at_once));
  add_updates<in_place_tree>(to, "soft_in_place_tree_updates", at_once);
}

}  // namespace outlast::verify::detail
