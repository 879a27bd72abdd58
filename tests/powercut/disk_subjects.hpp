// The structures that lose power, in tests and campaigns.
#pragma once

#include <tests/powercut/power_cuts.hpp>

#include <vector>

namespace outlast::test::powercut {

[[nodiscard]] std::vector<file_definition> disk_subjects();

}  // namespace outlast::test::powercut
