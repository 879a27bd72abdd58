// Goal: explorations of a store whose index outlives its process use that index, after kills of
// several threads at any point.
#include <outlast/verify/explorer/explorer.hpp>
#include <outlast/verify/machine/simulated.hpp>
#include <tests/catalogue/store_with_index.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>

namespace outlast::test {
namespace {

using engine = verify::detail::small_record_engine<domain::simulated, false, true>;
using store = verify::detail::store_in_pool<domain::simulated, engine>;

TEST(kept_index, is_used_after_kills_and_not_after_power_cuts) {
  verify::detail::kept_store_subject<store> tested("store");
  verify::options how;
  how.within = {.threads = 2, .operations = 2, .keys = 3, .prefill = 3};
  how.max_executions = 20;
  how.seconds = 300;
  how.eviction_cap = 1;
  how.eviction_samples = 0;
  how.killed_one_in = 1;
  const verify::report done = verify::explorer(tested, how).run();
  std::puts(to_text(done).c_str());
  EXPECT_FALSE(done.found) << to_text(*done.found);
  EXPECT_GT(done.kills_checked, 300U);
  // Each execution opens the store once. A kill while a segment is made or ends needs a new index.
  const std::uint64_t after_kills = tested.reopened() - done.executions;
  EXPECT_GT(after_kills * 10, done.kills_checked * 5);
  EXPECT_LE(after_kills, done.kills_checked);
  EXPECT_GT(tested.openings(), done.images_checked + done.kills_checked);
}

}  // namespace
}  // namespace outlast::test
