// The contracts of maps, for non-blocking buffered maps. The clock ticks during the tests.
#include "tests/support/keys.hpp"
#include "tests/typed/concurrent_contract.hpp"
#include "tests/typed/map_contract.hpp"

#include <outlast/domain.hpp>
#include <outlast/epoch/lockfree_hash_map.hpp>
#include <outlast/epoch/lockfree_list.hpp>
#include <outlast/epoch/ordered_map.hpp>

#include <cstdint>
#include <functional>

namespace outlast::test {

using domain::process;
using u64 = std::uint64_t;
using nonblocking_types =
    ::testing::Types<epoch::lockfree_list<odd_key, u64, process, std::greater<odd_key>>,
                     epoch::lockfree_hash_map<u64, u64, process>,
                     epoch::lockfree_hash_map<odd_key, wide_value, domain::adr>,
                     epoch::ordered_map<u64, u64, domain::adr>,
                     epoch::ordered_map<odd_key, wide_value, process, std::greater<odd_key>>>;
INSTANTIATE_TYPED_TEST_SUITE_P(nonblocking, map_fixture, nonblocking_types);
INSTANTIATE_TYPED_TEST_SUITE_P(nonblocking, concurrent_fixture, nonblocking_types);

}  // namespace outlast::test
