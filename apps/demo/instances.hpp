// Declares the instances that the tables of all policies share. instances.cpp compiles them once.
#pragma once

#include <outlast/alloc/arena.hpp>
#include <outlast/domain/adr.hpp>
#include <outlast/domain/counting.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/reclaim/epochs.hpp>
#include <outlast/root/root_session.hpp>

namespace outlast {

extern template class alloc::arena<domain::process>;
extern template class alloc::arena<domain::adr>;
extern template class alloc::arena<domain::counting<domain::adr>>;
extern template class reclaim::epochs<domain::process>;
extern template class reclaim::epochs<domain::adr>;
extern template class reclaim::epochs<domain::counting<domain::adr>>;
extern template class roots::root_sessions<domain::process>;
extern template class roots::root_sessions<domain::adr>;
extern template class roots::root_sessions<domain::counting<domain::adr>>;

}  // namespace outlast
