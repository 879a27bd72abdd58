// Instantiates the code that the tables of all policies share.
#include <apps/demo/instances.hpp>

namespace outlast {

template class alloc::arena<domain::process>;
template class alloc::arena<domain::adr>;
template class alloc::arena<domain::counting<domain::adr>>;
template class reclaim::epochs<domain::process>;
template class reclaim::epochs<domain::adr>;
template class reclaim::epochs<domain::counting<domain::adr>>;
template class roots::root_sessions<domain::process>;
template class roots::root_sessions<domain::adr>;
template class roots::root_sessions<domain::counting<domain::adr>>;

}  // namespace outlast
