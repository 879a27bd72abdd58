// The structures that are killed, in tests and campaigns.
#pragma once

#include <tests/powercut/harness.hpp>

#include <vector>

namespace outlast::test::powercut {

[[nodiscard]] std::vector<definition> list_definitions();
[[nodiscard]] std::vector<definition> tree_definitions();
[[nodiscard]] std::vector<definition> skiplist_definitions();
[[nodiscard]] std::vector<definition> sequence_definitions();
[[nodiscard]] std::vector<definition> set_definitions();
[[nodiscard]] std::vector<definition> epoch_definitions();
[[nodiscard]] std::vector<definition> transaction_definitions();
[[nodiscard]] std::vector<definition> store_definitions();
/// Those on `adr` need a CPU that can flush: see flushes_reach_memory().
[[nodiscard]] std::vector<definition> table_definitions();
[[nodiscard]] bool flushes_reach_memory();

}  // namespace outlast::test::powercut
