// The structures that lose power, in tests and campaigns.
#pragma once

#include <tests/powercut/power_cuts.hpp>

#include <vector>

namespace outlast::test::powercut {

[[nodiscard]] std::vector<file_definition> disk_subjects();

/// Those of them that are stores.
[[nodiscard]] std::vector<file_definition> stores_on_disk();

}  // namespace outlast::test::powercut
