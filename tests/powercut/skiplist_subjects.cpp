#include <tests/powercut/kill_subjects.hpp>

#include <outlast/domain/native.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/durable/mirror.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/lockfree/skiplist.hpp>
#include <tests/powercut/map_subject.hpp>
#include <tests/powercut/wide_value.hpp>

#include <cstdint>

namespace outlast::test::powercut {
namespace {

using adjacent = durable::flit<durable::tag::adjacent, durable::automatic, domain::process>;
using mirror = durable::mirror<domain::native, durable::mirrored_values::in_place>;

constexpr std::uint64_t keys = 50;
constexpr lockfree::skiplist_options tall_towers{.highest = 4, .branching = 2};

template <class Value, class Policy>
using list = lockfree::skiplist<std::uint64_t, Value, Policy>;

}  // namespace

std::vector<definition> skiplist_definitions() {
  return {
      define_map<list<std::uint64_t, adjacent>>("skiplist", keys, tall_towers),
      define_map<list<wide, adjacent>>("skiplist_wide", keys, tall_towers),
      define_map<list<std::uint64_t, mirror>>("skiplist_mirror", keys, tall_towers),
  };
}

}  // namespace outlast::test::powercut
