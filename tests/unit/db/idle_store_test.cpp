// Goal: a store that nobody uses costs nothing: its threads sleep until something is written, and
// what is written then is durable as soon as ever.
// Method: the kernel's counts of how often the process's threads go to sleep.
#include "tests/support/wake_ups.hpp"
#include "tests/unit/db/stores.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace outlast::db::test {
namespace {

class idle_stores : public ::testing::TestWithParam<std::string> {
 protected:
  store_place place_{GetParam()};
};

TEST_P(idle_stores, wake_nobody) {
  const std::unique_ptr<DB> store = opened(place_.at("store"));
  EXPECT_TRUE(outlast::test::others_fall_asleep()) << "nothing was written";
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(store->Put({}, "key", std::to_string(i)).ToString(), "OK");
    EXPECT_TRUE(outlast::test::others_fall_asleep()) << "nothing was written since";
  }
}

INSTANTIATE_TEST_SUITE_P(everywhere, idle_stores,
                         ::testing::Values("memory", "disk", "records", "records_on_disk"),
                         [](const auto& medium) { return medium.param; });

}  // namespace
}  // namespace outlast::db::test
