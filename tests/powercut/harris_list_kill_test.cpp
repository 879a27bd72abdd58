// Goal: the list loses nothing when its process is killed.
// Method: see harness.hpp.
#include <outlast/domain/process.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/lockfree/harris_list.hpp>
#include <tests/powercut/map_subject.hpp>

#include <gtest/gtest.h>

#include <memory>

namespace outlast::test::powercut {
namespace {

using adjacent = durable::flit<durable::tag::adjacent, durable::automatic, domain::process>;
using line = durable::flit<durable::tag::line<>, durable::automatic, domain::process>;

constexpr std::uint64_t keys = 50;

template <class Value, class Policy>
definition list(const char* name) {
  using structure = lockfree::harris_list<std::uint64_t, Value, Policy>;
  return {name, [](const std::filesystem::path& folder) {
            return std::make_unique<map_subject<structure, Policy>>(folder, keys);
          }};
}

void expect_nothing_lost(const char* name) {
  const result outcome = kill_again_and_again(name);
  EXPECT_EQ(outcome.complaint, "");
  EXPECT_GT(outcome.operations, 0U) << "no child came to do anything";
}

}  // namespace

std::vector<definition> definitions() {
  return {
      list<std::uint64_t, adjacent>("map"),
      list<lockfree::no_value, line>("set"),
  };
}

namespace {

TEST(HarrisListKill, a_map_loses_nothing) { expect_nothing_lost("map"); }
TEST(HarrisListKill, a_set_loses_nothing) { expect_nothing_lost("set"); }

}  // namespace
}  // namespace outlast::test::powercut
