// What every simulated structure uses is compiled once, in the verifier.
#pragma once

#include <outlast/alloc/arena.hpp>
#include <outlast/durable/root_session.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/verify/simulated.hpp>

namespace outlast {

extern template class alloc::arena<domain::simulated>;
extern template class durable::root_session<domain::simulated>;
extern template class durable::root_sessions<domain::simulated>;

}  // namespace outlast
