// Pools of the domains that programs choose at compile time, compiled once.
#include <outlast/pool/any_domain.hpp>

namespace outlast {

template class basic_pool<domain::process>;
template class basic_pool<domain::adr>;
template class basic_pool<domain::counting<domain::adr>>;

}  // namespace outlast
