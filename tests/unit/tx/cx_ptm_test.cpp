// Goal: operations of cx_ptm run once in each replica, although other threads have stopped.
// Method: threads that stop inside an operation; operations whose effect differs from run to run.
#include <outlast/domain/process.hpp>
#include <outlast/tx/baselines/cx_ptm.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace outlast::tx {
namespace {

using D = domain::process;
using manager = cx_ptm<D>;
using pool_file = test::temp_pool<D>;

constexpr options small{.replica_bytes = std::size_t{1} << 20};

struct counters {
  std::array<field<std::uint64_t>, 2> of;
};

TEST(CxPtm, finishes_the_operation_of_a_thread_that_stops_in_it) {
  pool_file pool;
  manager all(*pool, "all", {.replica_bytes = std::size_t{1} << 20, .replicas = 6});
  const auto here = all.root<counters>("counters");
  std::atomic<bool> has_stopped = false;
  std::atomic<bool> goes_on = false;
  std::uint64_t answer = 0;
  std::jthread stopped([&] {
    const auto mine = std::this_thread::get_id();
    answer = all.update(here, [=, &has_stopped, &goes_on](counters& at) {
      at.of[0] += 1;
      if (std::this_thread::get_id() == mine) {
        has_stopped = true;
        while (!goes_on) std::this_thread::yield();
      }
      return at.of[0].get();
    });
  });
  while (!has_stopped) std::this_thread::yield();
  for (unsigned i = 0; i < 3000; ++i) all.update(here, [](counters& at) { at.of[1] += 1; });
  EXPECT_EQ(all.read(here, [](const counters& at) { return at.of[0].get(); }), 1U);
  goes_on = true;
  stopped.join();
  EXPECT_EQ(answer, 1U);
  EXPECT_EQ(all.read(here, [](const counters& at) { return at.of[0] + at.of[1]; }), 3001U);
}

TEST(CxPtm, decides_once_whether_an_operation_fails) {
  pool_file pool;
  manager all(*pool, "all", {.replica_bytes = std::size_t{1} << 20, .replicas = 4});
  const auto here = all.root<counters>("counters");
  // Its first run fails, others would not; and the other way round.
  for (const bool first_fails : {true, false}) {
    const auto runs = std::make_shared<std::atomic<int>>(0);
    const auto once = [=](counters& at) {
      at.of[0] += 10;
      if ((runs->fetch_add(1) == 0) == first_fails) throw std::runtime_error("now and then");
    };
    if (first_fails) {
      EXPECT_THROW(all.update(here, once), std::runtime_error);
    } else {
      all.update(here, once);
    }
    for (unsigned i = 0; i < 8; ++i) {
      all.update(here, [](counters& at) { at.of[1] += 1; });
      const std::uint64_t held = all.read(here, [](const counters& at) { return at.of[0].get(); });
      EXPECT_EQ(held, first_fails ? 0U : 10U);
    }
  }
  EXPECT_EQ(all.read(here, [](const counters& at) { return at.of[1].get(); }), 16U);
}

TEST(CxPtm, runs_an_operation_when_its_caller_has_returned) {
  pool_file pool;
  manager all(*pool, "all", {.replica_bytes = std::size_t{1} << 20, .replicas = 4});
  const auto here = all.root<counters>("counters");
  const auto runs = std::make_shared<std::atomic<int>>(0);
  {
    const std::string argument(1000, 'x');
    all.update(here, [=](counters& at) {
      ++*runs;
      at.of[0] += argument.size();
    });
  }
  const int before = *runs;
  for (unsigned i = 0; i < 4; ++i) all.update(here, [](counters& at) { at.of[1] += 1; });
  EXPECT_GT(*runs, before) << "another replica has to see it";
  EXPECT_EQ(all.read(here, [](const counters& at) { return at.of[0].get(); }), 1000U);
}

TEST(CxPtm, copies_a_replica_that_has_missed_too_much) {
  pool_file pool;
  manager all(*pool, "all", {.replica_bytes = std::size_t{1} << 20, .replicas = 3});
  const auto here = all.root<counters>("counters");
  std::atomic<bool> has_come = false;
  std::atomic<bool> goes_on = false;
  std::jthread reader([&] {
    all.read(here, [&](const counters&) {
      has_come = true;
      while (!goes_on) std::this_thread::yield();
    });
  });
  while (!has_come) std::this_thread::yield();
  for (unsigned i = 0; i < 3000; ++i) all.update(here, [](counters& at) { at.of[0] += 1; });
  goes_on = true;
  reader.join();
  for (unsigned i = 0; i < 10; ++i) {
    std::jthread slow([&] { all.update(here, [](counters& at) { at.of[0] += 1; }); });
    all.update(here, [](counters& at) { at.of[0] += 1; });
  }
  EXPECT_EQ(all.read(here, [](const counters& at) { return at.of[0].get(); }), 3020U);
}

TEST(CxPtm, is_opened_as_itself_after_a_crash) {
  pool_file pool;
  {
    manager all(*pool, "all", small);
    const auto here = all.root<counters>("counters");
    for (unsigned i = 0; i < 5; ++i) all.update(here, [](counters& at) { at.of[0] += 1; });
  }
  pool.abandon();
  pool.open();
  manager all(*pool, "all");
  const auto here = all.root<counters>("counters");
  EXPECT_EQ(all.read(here, [](const counters& at) { return at.of[0].get(); }), 5U);
  for (unsigned i = 0; i < 5; ++i) all.update(here, [](counters& at) { at.of[0] += 1; });
  EXPECT_EQ(all.read(here, [](const counters& at) { return at.of[0].get(); }), 10U);
}

}  // namespace
}  // namespace outlast::tx
