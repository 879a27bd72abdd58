// The contracts of maps, for sets whose links do not survive.
#include "tests/support/keys.hpp"
#include "tests/typed/concurrent_contract.hpp"
#include "tests/typed/map_contract.hpp"

#include <outlast/domain.hpp>
#include <outlast/sets/baselines/soft_in_place.hpp>
#include <outlast/sets/link_free_hash.hpp>
#include <outlast/sets/link_free_list.hpp>
#include <outlast/sets/link_free_skiplist.hpp>
#include <outlast/sets/link_free_tree.hpp>
#include <outlast/sets/soft_hash.hpp>
#include <outlast/sets/soft_list.hpp>
#include <outlast/sets/soft_skiplist.hpp>
#include <outlast/sets/soft_tree.hpp>

#include <cstdint>
#include <functional>

namespace outlast::test {

/// A value of 12 bytes that knows whether it is whole.
struct odd_value {
  std::uint32_t words[3];

  explicit odd_value(std::uint64_t n = 0)
      : words{static_cast<std::uint32_t>(n), ~static_cast<std::uint32_t>(n), 5} {}
  [[nodiscard]] bool whole() const { return words[1] == ~words[0] && words[2] == 5; }
  friend bool operator==(const odd_value&, const odd_value&) = default;
};

using domain::process;
using u64 = std::uint64_t;
using link_free_types = ::testing::Types<
    sets::link_free_list<u64, u64, process>,
    sets::link_free_list<odd_key, odd_value, process, std::greater<odd_key>>,
    sets::link_free_hash<u64, u64, process>, sets::link_free_hash<odd_key, odd_value, process>,
    sets::link_free_hash<u64, u64, process, poor_hash>,
    sets::link_free_hash<std::uint32_t, u64, domain::adr>, sets::link_free_tree<u64, u64, process>,
    sets::link_free_tree<odd_key, odd_value, process, std::greater<odd_key>>>;
INSTANTIATE_TYPED_TEST_SUITE_P(link_free, map_fixture, link_free_types);
INSTANTIATE_TYPED_TEST_SUITE_P(link_free, concurrent_fixture, link_free_types);

using soft_types = ::testing::Types<
    sets::soft_skiplist<u64, u64, process>, sets::link_free_list<odd_key, wide_value, domain::adr>,
    sets::soft_hash<odd_key, wide_value, process>,

    sets::link_free_skiplist<odd_key, odd_value, domain::adr, std::greater<odd_key>>,
    sets::soft_list<odd_key, odd_value, process, std::greater<odd_key>>,
    sets::soft_hash<u64, u64, process>, sets::soft_hash<odd_key, odd_value, domain::adr>,
    sets::basic_list<sets::soft_in_place<domain::adr>, u64, u64>,
    sets::basic_hash<sets::soft_in_place<process>, u64, u64, poor_hash>,
    sets::soft_tree<odd_key, odd_value, process, std::greater<odd_key>>,
    sets::soft_tree<u64, u64, domain::adr>,
    sets::basic_tree<sets::soft_in_place<process>, u64, u64>>;
INSTANTIATE_TYPED_TEST_SUITE_P(soft, map_fixture, soft_types);
INSTANTIATE_TYPED_TEST_SUITE_P(soft, concurrent_fixture, soft_types);

}  // namespace outlast::test
