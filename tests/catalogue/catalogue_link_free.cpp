// The entries of link-free sets.
#include <tests/catalogue/set_entries.hpp>

namespace outlast::verify::detail {

void add_link_free(list& to) { add_scheme<sets::link_free<simulated>>(to, "link_free"); }

}  // namespace outlast::verify::detail
