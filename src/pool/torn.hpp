// Pools that a crash of the machine may have torn.
#pragma once

#include <outlast/pool/format.hpp>

namespace outlast::pool_detail {

/// The pool was left open, survives kills alone, and this is another run of the machine: it is
/// opened with pool_options::salvage only.
[[nodiscard]] bool torn_by_machine_crash(const pool_format::parsed_header& header);

}  // namespace outlast::pool_detail
