#include <tests/powercut/kill_subjects.hpp>

#include <outlast/domain/native.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/durable/mirror.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/lockfree/harris_list.hpp>
#include <tests/powercut/map_subject.hpp>

#include <cstdint>

namespace outlast::test::powercut {
namespace {

using adjacent = durable::flit<durable::tag::adjacent, durable::automatic, domain::process>;
using line = durable::flit<durable::tag::line<>, durable::automatic, domain::process>;
using mirror = durable::mirror<domain::native, durable::mirrored_values::in_place>;

constexpr std::uint64_t keys = 50;

template <class Value, class Policy>
using list = lockfree::harris_list<std::uint64_t, Value, Policy>;

}  // namespace

std::vector<definition> list_definitions() {
  return {
      define_map<list<std::uint64_t, adjacent>>("harris_list", keys),
      define_map<list<roots::no_value, line>>("harris_list_set", keys),
      define_map<list<std::uint64_t, mirror>>("harris_list_mirror", keys),
  };
}

}  // namespace outlast::test::powercut
