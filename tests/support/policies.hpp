// The one list of policies. A new policy joins every typed test by one line here.
#pragma once

#include <outlast/domain.hpp>
#include <outlast/durable/baselines/izraelevitz.hpp>
#include <outlast/durable/baselines/link_and_persist.hpp>
#include <outlast/durable/mirror.hpp>
#include <outlast/durable/policy.hpp>

#include <tuple>

namespace outlast::test {

using durable::automatic;
using durable::flit;
using durable::izraelevitz;
using durable::link_and_persist;
using durable::manual;
using durable::mirror;
using durable::mirrored_values;
using durable::nvtraverse;
using durable::transient;
namespace tag = durable::tag;

/// Each tag once, on a domain that flushes and on one that does not; each placement once; each way
/// to keep values under Mirror once.
using all_policies = std::tuple<
    flit<tag::always, automatic, domain::adr>, flit<tag::adjacent, automatic, domain::adr>,
    flit<tag::hashed<>, automatic, domain::adr>, flit<tag::line<>, automatic, domain::adr>,
    flit<tag::adjacent, automatic, domain::process>,
    flit<tag::hashed<4096>, automatic, domain::process>,
    flit<tag::adjacent, automatic, domain::native>,
    flit<tag::adjacent, automatic, domain::cache_persistent>, transient<domain::process>,
    flit<tag::hashed<4096>, nvtraverse, domain::adr>, flit<tag::adjacent, manual, domain::adr>,
    izraelevitz<domain::adr>, link_and_persist<automatic, domain::adr>, mirror<domain::adr>,
    mirror<domain::adr, mirrored_values::in_place>>;

}  // namespace outlast::test
