// Goal: on a disk, what was synced is there whatever the device does later, and a device that has
// failed is not written to any more; behind a log a tick costs one device sync. Method: a domain
// that remembers which pages it was told of; injected errors of the device; exact counters.
#include "tests/support/epochs.hpp"
#include "tests/support/temp_pool.hpp"
#include "tests/support/wake_ups.hpp"
#include "tests/unit/epoch/boxes.hpp"

#include <outlast/domain.hpp>
#include <outlast/epoch/lockfree_hash_map.hpp>
#include <outlast/pool/any_domain.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <thread>
#include <vector>

namespace outlast::epoch {
namespace {

using test::clock_by_hand;

/// Any address of a pool.
template <class Pool>
const void* inside(const Pool& pool) {
  return reinterpret_cast<const void*>(pool.base());
}

/// Knows which pages it was told of.
struct noting : domain::file {
  static inline std::set<std::uintptr_t> pages;
  static void pwb(const void* address, domain::site where = domain::site::current()) {
    pages.insert(reinterpret_cast<std::uintptr_t>(address) / 4096);
    domain::file::pwb(address, where);
  }
};

TEST(clocks_on_a_disk, each_page_of_a_long_payload_is_synced) {
  test::temp_pool<noting> pool;
  auto& time = clock_by_hand(*pool);
  boxes<noting> some(*pool);
  const std::vector<std::byte> tail(40'000, std::byte{7});
  noting::pages.clear();
  payload<box>* at = nullptr;
  {
    operation<noting> op(some.memory());
    at = op.pnew(box{1, 2}, std::span<const std::byte>(tail));
  }
  time.sync();
  const auto first = reinterpret_cast<std::uintptr_t>(at) / 4096;
  const auto last = (reinterpret_cast<std::uintptr_t>(at->tail() + tail.size()) - 1) / 4096;
  for (auto page = first; page <= last; ++page) EXPECT_TRUE(noting::pages.contains(page));
}

TEST(clocks_on_a_disk, a_tick_behind_a_log_is_one_batch_and_one_device_sync) {
  test::temp_pool<domain::logged_file> pool;
  auto& time = clock_by_hand(*pool);
  boxes<domain::logged_file> some(*pool);
  (void)some.add(1);  // what the allocator needs is there
  time.sync();
  const auto before = domain::logged_file::counters(inside(*pool));
  constexpr std::uint64_t ticks = 10;
  for (std::uint64_t i = 0; i < ticks; ++i) {
    (void)some.add(2 + i);
    time.tick();
  }
  const auto after = domain::logged_file::counters(inside(*pool));
  EXPECT_EQ(after.syncs - before.syncs, ticks);
  EXPECT_EQ(after.batches - before.batches, ticks);
  EXPECT_EQ(after.log_bytes - before.log_bytes, ticks * 4096);
}

/// Waits until the clock has been moved so far that what has been done is durable.
template <domain::persistence_domain D>
void await_ticks_after(clock<D>& time, std::uint64_t epoch) {
  while (time.now() < epoch + 3) std::this_thread::yield();
}

TEST(clocks_on_a_disk, stand_while_nothing_changes_and_go_on_with_what_does) {
  test::temp_pool<domain::logged_file> pool;
  boxes<domain::logged_file> some(*pool);
  lockfree_hash_map<std::uint64_t, std::uint64_t, domain::logged_file> map(*pool, "map");
  clock<domain::logged_file>& time = clock_of(*pool);
  (void)some.add(1);
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(test::others_fall_asleep());
    const auto before = domain::logged_file::counters(inside(*pool));
    const std::uint64_t epoch = time.now();
    (void)map.get(1);
    EXPECT_TRUE(test::others_fall_asleep()) << "what only reads wakes nobody";
    EXPECT_EQ(domain::logged_file::counters(inside(*pool)).syncs, before.syncs);
    EXPECT_EQ(time.now(), epoch);
    if (i % 2 == 0) {
      (void)some.add(2 + i);
    } else {
      map.put(i, i);
    }
    await_ticks_after(time, epoch);
  }
}

TEST(clocks_on_a_disk, behind_a_log_what_was_synced_survives_a_kill) {
  test::temp_pool<domain::logged_file> pool;
  {
    auto& time = clock_by_hand(*pool);
    boxes<domain::logged_file> some(*pool);
    (void)some.add(1);
    time.sync();
    (void)some.add(2);
  }
  pool.abandon();
  pool.open();
  const boxes<domain::logged_file> some(*pool);
  EXPECT_EQ(some.found(), std::multiset<std::uint64_t>{1});
}

TEST(clocks_on_a_disk, a_device_that_fails_ends_everything_but_what_was_synced) {
  test::temp_pool<domain::file> pool;
  {
    auto& time = clock_by_hand(*pool);
    boxes<domain::file> some(*pool);
    (void)some.add(1);
    time.sync();
    (void)some.add(2);
    domain::file::fail_next_syncs(1, EIO);
    EXPECT_EQ(reason_of([&] { time.sync(); }), errc::io_failure);
    domain::file::fail_next_syncs(0, 0);
    EXPECT_EQ(reason_of([&] { (void)some.add(3); }), errc::io_failure);
    EXPECT_EQ(reason_of([&] { time.sync(); }), errc::io_failure);
    EXPECT_EQ(reason_of([&] { time.tick(); }), errc::io_failure);
  }
  pool.abandon();
  pool.open();
  const boxes<domain::file> some(*pool);
  const std::multiset<std::uint64_t> found = some.found();
  EXPECT_TRUE(found.contains(1));
  EXPECT_FALSE(found.contains(3));
}

}  // namespace
}  // namespace outlast::epoch
