// Templates that every simulated structure uses, compiled once.
#include <outlast/pool/any_domain.hpp>
#include <outlast/verify/machine/impl/instances.hpp>

namespace outlast {

template class basic_pool<domain::simulated>;
template class alloc::arena<domain::simulated>;
template class roots::root_session<domain::simulated>;
template class roots::root_sessions<domain::simulated>;

}  // namespace outlast
