#include <tests/powercut/kill_subjects.hpp>

#include <outlast/domain/native.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/durable/mirror.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/lockfree/natarajan_tree.hpp>
#include <tests/powercut/map_subject.hpp>

#include <cstdint>

namespace outlast::test::powercut {
namespace {

using adjacent = durable::flit<durable::tag::adjacent, durable::automatic, domain::process>;
using line = durable::flit<durable::tag::line<>, durable::automatic, domain::process>;
using mirror = durable::mirror<domain::native>;

constexpr std::uint64_t keys = 50;

template <class Value, class Policy>
using tree = lockfree::natarajan_tree<std::uint64_t, Value, Policy>;

}  // namespace

std::vector<definition> tree_definitions() {
  return {
      define_map<tree<std::uint64_t, adjacent>>("natarajan_tree", keys),
      define_map<tree<roots::no_value, line>>("natarajan_tree_set", keys),
      define_map<tree<std::uint64_t, mirror>>("natarajan_tree_mirror", keys),
  };
}

}  // namespace outlast::test::powercut
