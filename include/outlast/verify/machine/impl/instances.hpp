// Templates that every simulated structure uses. They are compiled once, in the verifier.
#pragma once

#include <outlast/alloc/arena.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/root/root_session.hpp>
#include <outlast/verify/machine/simulated.hpp>

namespace outlast {

extern template class alloc::arena<domain::simulated>;
extern template class roots::root_session<domain::simulated>;
extern template class roots::root_sessions<domain::simulated>;

}  // namespace outlast
