// Sets and maps whose links do not survive.
#include <outlast/sets/link_free_hash.hpp>
#include <outlast/sets/link_free_list.hpp>
#include <outlast/sets/link_free_tree.hpp>
#include <outlast/sets/soft_hash.hpp>
#include <outlast/sets/soft_skiplist.hpp>
#include <tests/soak/families.hpp>
#include <tests/soak/map_subject.hpp>

#include <string>

namespace outlast::test::soak {

template <domain::persistence_domain D>
void add_sets(subjects& to, basic_pool<D>& pool, const amounts& how) {
  const scale some{.operations = how.waiting};
  const scale large{.operations = how.waiting, .large = true};
  const scale few{.operations = how.tiny};
  add_map<sets::link_free_hash<u64, std::string, D>>(to, pool, "link-free table", large);
  add_map<sets::link_free_tree<u64, u64, D>>(to, pool, "link-free tree", some);
  add_map<sets::link_free_list<u64, u64, D>>(to, pool, "link-free list", few);
  add_map<sets::soft_hash<u64, u64, D>>(to, pool, "soft table", some);
  add_map<sets::soft_skiplist<std::string, std::string, D>>(to, pool, "soft skip list", some);
}

template void add_sets(subjects&, pool&, const amounts&);
template void add_sets(subjects&, basic_pool<domain::logged_file>&, const amounts&);

}  // namespace outlast::test::soak
