#include <tests/powercut/kill_subjects.hpp>

#include <outlast/domain/process.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/lockfree/skiplist.hpp>
#include <tests/powercut/map_subject.hpp>
#include <tests/powercut/wide_value.hpp>

#include <cstdint>

namespace outlast::test::powercut {
namespace {

using adjacent = durable::flit<durable::tag::adjacent, durable::automatic, domain::process>;

constexpr std::uint64_t keys = 50;
constexpr lockfree::skiplist_options tall_towers{.highest = 4, .branching = 2};

template <class Value>
using list = lockfree::skiplist<std::uint64_t, Value, adjacent>;

}  // namespace

std::vector<definition> skiplist_definitions() {
  return {
      define_map<list<std::uint64_t>>("skiplist", keys, tall_towers),
      define_map<list<wide>>("skiplist_wide", keys, tall_towers),
  };
}

}  // namespace outlast::test::powercut
