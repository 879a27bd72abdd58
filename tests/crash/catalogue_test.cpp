// Goal: every structure survives every crash under every policy.
// Method: the whole catalogue, each entry on the portable machine, some on the others; a bounded
// slice of the executions that `outlast verify` can run for hours. OUTLAST_CRASH_SECONDS widens
// it.
#include <outlast/verify/explorer/explorer.hpp>
#include <tests/catalogue/catalogue.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <string>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define OUTLAST_FINDS_LEAKS
#endif
#endif

namespace outlast::test {
namespace {

/// During its lifetime, memory that is never freed is no leak.
#ifdef OUTLAST_FINDS_LEAKS
using leaks_are_expected = __lsan::ScopedDisabler;
#else
struct leaks_are_expected {
  ~leaks_are_expected() {}  // a guard: its variable is not unused
};
#endif

/// How long each exploration takes, unless it is one of the short ones.
double seconds_asked_for() {
  const char* const text = std::getenv("OUTLAST_CRASH_SECONDS");
  return text == nullptr ? 0.3 : std::strtod(text, nullptr);
}

class Catalogue : public testing::TestWithParam<std::size_t> {
 protected:
  static verify::report explore(const verify::memory_model& model, verify::strategy_kind strategy,
                                double share, unsigned parked_one_in) {
    const verify::catalogue_entry& entry = verify::catalogue()[GetParam()];
    const auto tested = entry.make();
    verify::options how;
    how.within = entry.within;
    how.model = model;
    how.strategy = strategy;
    how.seconds = share * seconds_asked_for();
    how.parked_one_in = parked_one_in;
    if (strategy == verify::strategy_kind::exhaustive) {
      how.within.keys = 2;
      how.eviction_cap = 4096;
      how.seed = GetParam() % 16;  // entries begin at different scenarios
    }
    return verify::explorer(*tested, how).run();
  }

  /// The pool's control plane takes a mutex: its entries have one thread, which has no
  /// interleavings, and without which no other thread continues.
  static bool has_one_thread() { return verify::catalogue()[GetParam()].within.threads == 1; }

  static bool blocks() { return verify::catalogue()[GetParam()].blocks; }

  static void expect_sound(const verify::memory_model& model,
                           verify::strategy_kind strategy = verify::strategy_kind::pct,
                           double share = 1, unsigned parked_one_in = 0) {
    const verify::report done = explore(model, strategy, share, parked_one_in);
    std::puts(to_text(done).c_str());
    EXPECT_FALSE(done.found) << to_text(*done.found);
    EXPECT_GT(done.images_checked, 10U);
  }
};

TEST_P(Catalogue, survives_every_crash_on_a_portable_machine) { expect_sound({}); }

TEST_P(Catalogue, survives_every_crash_on_x86_interleaved_at_random) {
  expect_sound({.rmw_fences = true}, verify::strategy_kind::random);
}

TEST_P(Catalogue, survives_every_crash_where_one_line_persists_out_of_order) {
  expect_sound({.weak_same_line = true});
}

// Shorter: what buffers add shows within a few hundred executions, if it shows.

TEST_P(Catalogue, survives_every_crash_on_x86_with_store_buffers) {
  expect_sound({.rmw_fences = true, .store_buffers = true}, verify::strategy_kind::pct, 0.5);
}

TEST_P(Catalogue, survives_all_interleavings_of_two_operations) {
  if (has_one_thread() || blocks()) GTEST_SKIP();
  expect_sound({}, verify::strategy_kind::exhaustive, 0.5);
}

TEST_P(Catalogue, goes_on_when_a_thread_stops_for_good) {
  if (has_one_thread() || blocks()) GTEST_SKIP();
  const leaks_are_expected nobody_unwinds_a_thread_that_stopped;
  expect_sound({}, verify::strategy_kind::pct, 0.5, 2);
}

TEST_P(Catalogue, survives_every_crash_where_caches_persist_and_store_buffers_do_not) {
  expect_sound({.cache_persistent = true}, verify::strategy_kind::pct, 0.5);
}

std::string name_of(const testing::TestParamInfo<std::size_t>& at) {
  const verify::catalogue_entry& entry = verify::catalogue()[at.param];
  std::string name = entry.structure + "_" + entry.policy;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(all, Catalogue, testing::Range<std::size_t>(0, verify::catalogue().size()),
                         name_of);

}  // namespace
}  // namespace outlast::test
