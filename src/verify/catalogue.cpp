#include <outlast/verify/catalogue.hpp>

#include <src/verify/catalogue_entries.hpp>

namespace outlast::verify {

const std::vector<catalogue_entry>& catalogue() {
  static const std::vector<catalogue_entry> entries = [] {
    detail::list all;
    detail::add_lists(all);
    detail::add_tables(all);
    detail::add_roots(all);
    detail::add_regions(all);
    return all;
  }();
  return entries;
}

}  // namespace outlast::verify
