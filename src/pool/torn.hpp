// Pools that a crash of the machine may have torn.
#pragma once

#include <outlast/pool/format.hpp>

namespace outlast::pool_detail {

/// Returns whether the pool was left open, its domain survives only kills, and the machine has
/// booted since: it is opened only with pool_options::salvage.
[[nodiscard]] bool torn_by_machine_crash(const pool_format::parsed_header& header);

}  // namespace outlast::pool_detail
