// Goal: epochs, and what operations do to payloads in them, are what docs/formats/epoch.md and the
// comments say. Method: a structure that is nothing but its payloads; the clock moves by hand; what
// a crash leaves is a copy of the pool's bytes.
#include "tests/support/costs.hpp"
#include "tests/support/epochs.hpp"
#include "tests/support/memory_image.hpp"
#include "tests/support/temp_pool.hpp"
#include "tests/unit/epoch/boxes.hpp"

#include <outlast/domain.hpp>
#include <outlast/epoch/clock.hpp>
#include <outlast/epoch/hash_map.hpp>
#include <outlast/epoch/operation.hpp>
#include <outlast/epoch/payload_session.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace outlast::epoch {
namespace {

using test::clock_by_hand;
using test::cost;
using test::cost_of;
using process = domain::process;
using counted = domain::counting<domain::adr>;
using u64 = std::uint64_t;

static_assert(sizeof(payload_header) == 16 && alignof(payload_header) == 8);
static_assert(sizeof(payload<box>) == 32 && payload<box>::size_with(5) == 37);
static_assert(sizeof(detail::clock_slot) == 64 && alignof(detail::clock_slot) == 64);
static_assert(offsetof(detail::clock_slot, now) == 0);
static_assert(offsetof(detail::clock_slot, restart) == 8);
static_assert(offsetof(detail::clock_slot, kept) == 16);
static_assert(offsetof(detail::clock_slot, check) == 24);
static_assert(offsetof(detail::clock_slot, more) == 32);
static_assert(sizeof(detail::word_directory) == 256 && alignof(detail::word_directory) == 64);

u64 word_at(const void* block, std::size_t offset) {
  u64 word;
  std::memcpy(&word, static_cast<const std::byte*>(block) + offset, sizeof word);
  return word;
}

class clocks : public testing::Test {
 protected:
  test::memory_image<process> pool;
  clock<process>& time = clock_by_hand(*pool);
  boxes<process> some{*pool};
};

TEST_F(clocks, stand_still_in_epochs_that_last_longer_than_time_reaches) {
  time.configure({.epoch_length = std::chrono::microseconds::max()});
  const u64 before = time.now();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(time.now(), before);
  EXPECT_THROW(time.configure({.epoch_length = std::chrono::microseconds(-1)}), error);
}

TEST_F(clocks, label_and_retirement_lie_in_front_of_the_content) {
  const u64 made = time.now();
  payload<box>* const at = some.add(0x1234);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % 16, 0U);
  EXPECT_EQ(word_at(at, 0), made);
  EXPECT_EQ(word_at(at, 8), 0U);
  EXPECT_EQ(word_at(at, 16), 0x1234U);
  time.tick();
  some.remove(at);
  EXPECT_EQ(word_at(at, 0), made);
  EXPECT_EQ(word_at(at, 8), made + 1);
}

TEST_F(clocks, what_was_given_up_is_used_again_three_epochs_later) {
  payload<box>* const at = some.add(1);
  some.remove(at);
  EXPECT_EQ(time.waiting(), 1U);
  time.tick();
  time.tick();
  EXPECT_EQ(time.waiting(), 1U);
  EXPECT_NE(some.add(2), at);
  time.tick();
  EXPECT_EQ(time.waiting(), 0U);
  EXPECT_EQ(some.add(3), at);
}

TEST_F(clocks, workers_free_their_own_when_they_next_begin) {
  clock_by_hand(*pool, {.reclaims = reclamation::workers});
  some.remove(some.add(1));
  for (int i = 0; i < 3; ++i) time.tick();
  EXPECT_EQ(time.waiting(), 1U);
  (void)some.add(2);
  EXPECT_EQ(time.waiting(), 0U);
}

TEST_F(clocks, a_tick_takes_one_epoch_and_a_sync_two) {
  const u64 before = time.now();
  time.tick();
  EXPECT_EQ(time.now(), before + 1);
  time.sync();
  EXPECT_EQ(time.now(), before + 3);
}

TEST_F(clocks, tick_by_themselves_where_an_epoch_has_a_length) {
  clock_options quick;
  quick.epoch_length = std::chrono::microseconds(100);
  time.configure(quick);
  const u64 before = time.now();
  while (time.now() < before + 5) {
    (void)some.add(1);  // it stands while nothing changes
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  clock_by_hand(*pool);
  const u64 stopped = time.now();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(time.now(), stopped);
}

TEST_F(clocks, an_epoch_is_durable_two_ticks_later) {
  EXPECT_EQ(time.durable_epoch(), time.boundary());
  (void)some.add(1);
  const u64 mine = time.last_epoch();
  EXPECT_EQ(mine, time.now());
  time.tick();
  EXPECT_LT(time.durable_epoch(), mine);
  time.tick();
  EXPECT_EQ(time.durable_epoch(), mine);
  (void)some.add(2);
  EXPECT_GT(time.last_epoch(), mine);
  time.sync();
  EXPECT_GE(time.durable_epoch(), time.last_epoch());
}

TEST_F(clocks, an_epoch_that_was_called_durable_is_the_boundary_of_each_later_crash) {
  for (u64 i = 0; i < 10; ++i) {
    (void)some.add(i);
    time.tick();
    auto left = pool.crashed();
    EXPECT_GE(clock_by_hand(*left).boundary(), time.durable_epoch()) << i << " ticks";
  }
}

TEST_F(clocks, the_last_epoch_is_that_of_the_calling_thread) {
  (void)some.add(1);
  u64 of_another = 1;
  std::thread([&] { of_another = time.last_epoch(); }).join();
  EXPECT_EQ(of_another, 0U);
}

TEST_F(clocks, make_an_epoch_durable_early_if_they_are_hastened) {
  clock_options slow;
  slow.epoch_length = std::chrono::hours(1);
  time.configure(slow);
  for (u64 i = 0; i < 20; ++i) {
    (void)some.add(i);
    const u64 mine = time.last_epoch();
    EXPECT_LT(time.durable_epoch(), mine);
    time.hasten(mine);
    time.hasten(mine);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (time.durable_epoch() < mine && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    ASSERT_GE(time.durable_epoch(), mine);
  }
}

TEST_F(clocks, are_not_hastened_without_a_thread) {
  (void)some.add(1);
  const u64 before = time.now();
  time.hasten(time.last_epoch());
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(time.now(), before);
}

TEST_F(clocks, a_crash_keeps_what_ended_two_epochs_before_and_nothing_later) {
  (void)some.add(1);
  time.tick();
  (void)some.add(2);
  time.tick();
  (void)some.add(3);  // the present epoch is two behind the first
  auto left = pool.crashed();
  EXPECT_EQ(boxes<process>(*left).found(), (std::multiset<u64>{1}));
  time.tick();
  auto later = pool.crashed();
  EXPECT_EQ(boxes<process>(*later).found(), (std::multiset<u64>{1, 2}));
}

TEST_F(clocks, a_removal_that_is_cut_off_did_not_happen) {
  payload<box>* const kept = some.add(1);
  payload<box>* const gone = some.add(2);
  time.sync();
  some.remove(gone);
  time.sync();
  some.remove(kept);
  time.tick();
  auto left = pool.crashed();
  EXPECT_EQ(boxes<process>(*left).found(), (std::multiset<u64>{1}));
}

TEST_F(clocks, a_boundary_is_the_last_complete_epoch_and_labels_go_on_behind_all) {
  (void)some.add(1);
  time.sync();
  const u64 last = time.now();
  auto left = pool.crashed();
  auto& after = clock_by_hand(*left);
  EXPECT_EQ(after.boundary(), last - 2);
  EXPECT_GT(after.now(), last);
  // Crashes in quick succession: the boundary stays until two epochs have passed (the clock ticks
  // by itself before it is in our hand).
  const u64 restart = last + 3;
  auto again = left.crashed();
  EXPECT_EQ(clock_by_hand(*again).boundary(),
            after.now() < restart + 2 ? last - 2 : after.now() - 2);
}

TEST_F(clocks, set_changes_in_place_within_an_epoch_and_copies_across) {
  payload<box>* at = some.add(1);
  {
    operation<process> op(some.memory());
    EXPECT_EQ(op.set(at, &box::second, u64{7}), at);
    EXPECT_EQ(op.get(at, &box::second), 7U);
  }
  time.tick();
  payload<box>* copy = nullptr;
  {
    operation<process> op(some.memory());
    copy = op.set(at, &box::second, u64{8});
    EXPECT_NE(copy, at);
    EXPECT_EQ(copy->header().label<process>(), op.epoch());
    EXPECT_EQ(at->header().retired<process>(), op.epoch());
  }
  EXPECT_EQ(copy->unsafe().first, 1U);
  EXPECT_EQ(copy->unsafe().second, 8U);
  auto early = pool.crashed();
  EXPECT_EQ(boxes<process>(*early).found(), (std::multiset<u64>{})) << "nothing is two epochs old";
  time.tick();
  auto between = pool.crashed();
  const boxes<process> older(*between);
  ASSERT_EQ(older.found(), (std::multiset<u64>{1}));
  EXPECT_EQ(older.found_with(1)->unsafe().second, 7U);
  time.tick();
  auto late = pool.crashed();
  const boxes<process> newer(*late);
  ASSERT_EQ(newer.found(), (std::multiset<u64>{1}));
  EXPECT_EQ(newer.found_with(1)->unsafe().second, 8U);
}

TEST_F(clocks, a_copy_takes_its_tail_along) {
  const std::array<std::byte, 5> tail{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4},
                                      std::byte{5}};
  payload<box>* at = nullptr;
  {
    operation<process> op(some.memory());
    at = op.pnew(box{1, 2}, std::span<const std::byte>(tail));
  }
  time.tick();
  operation<process> op(some.memory());
  payload<box>* const copy = op.set(at, &box::first, u64{9}, tail.size());
  ASSERT_NE(copy, at);
  EXPECT_EQ(std::memcmp(copy->tail(), tail.data(), tail.size()), 0);
}

TEST_F(clocks, an_operation_that_sees_a_later_payload_begins_again) {
  operation<process> op(some.memory());
  EXPECT_NO_THROW(op.check_epoch());
  payload<box>* later = nullptr;
  std::thread([&] {
    time.tick();
    later = some.add(5);
  }).join();
  EXPECT_FALSE(op.is_current());
  EXPECT_THROW(op.check_epoch(), epoch_changed);
  EXPECT_THROW((void)op.get(later), old_see_new);
  EXPECT_THROW((void)op.set(later, &box::second, u64{1}), old_see_new);
  EXPECT_THROW(op.pdelete(later), old_see_new);
  EXPECT_EQ(op.get_unsafe(later, &box::first), 5U);
  EXPECT_EQ(later->header().retired<process>(), 0U);
}

TEST_F(clocks, prepared_payloads_that_nobody_adopts_are_free) {
  (void)some.add(1);
  const std::size_t before = some.arena().statistics().span_pages;
  for (u64 i = 0; i < 20'000; ++i) {
    const prepared<box, process> unused(some.memory(), box{i, i});
    ASSERT_EQ(unused.get()->header().label<process>(), 0U);
  }
  EXPECT_LE(some.arena().statistics().span_pages, before + 1);
  time.sync();
  auto left = pool.crashed();
  EXPECT_EQ(boxes<process>(*left).found(), (std::multiset<u64>{1}));
}

TEST_F(clocks, nothing_begins_inside_an_operation_of_the_same_thread) {
  {
    const operation<process> op(some.memory());
    EXPECT_EQ(reason_of([&] { (void)some.add(1); }), errc::refused);
    EXPECT_EQ(reason_of([&] { time.sync(); }), errc::refused);
    EXPECT_EQ(reason_of([&] { time.tick(); }), errc::refused);
  }
  EXPECT_NO_THROW((void)some.add(1));
  EXPECT_NO_THROW(time.sync());
}

TEST_F(clocks, say_how_much_a_crash_takes) {
  using ::testing::HasSubstr;
  EXPECT_THAT(time.guarantee(), HasSubstr("the last 2 epochs (3 while a sync() runs), whole"));
  EXPECT_THAT(time.guarantee(), HasSubstr("when tick() or sync() is called"));
  EXPECT_THAT(time.guarantee(), HasSubstr(pool->guarantee()));
  clock_options options;
  time.configure(options);
  EXPECT_THAT(time.guarantee(), HasSubstr("epochs of 10 ms, so 20 ms and"));
  options.epoch_length = std::chrono::microseconds(1'250);
  time.configure(options);
  EXPECT_THAT(time.guarantee(), HasSubstr("epochs of 1.25 ms, so 2.5 ms and"));
  options.writes = write_back::none;
  time.configure(options);
  EXPECT_THAT(time.guarantee(), HasSubstr("may lose everything"));
}

TEST(clocks_on_disks, are_a_tick_later) {
  test::temp_pool<domain::file> pool;
  EXPECT_THAT(clock_of(*pool).guarantee(),
              ::testing::HasSubstr("the last 3 epochs, whole, and nothing that sync() has covered: "
                                   "epochs of 10 ms, so 30 ms and"));
}

TEST(clocks_on_disks, call_an_epoch_durable_a_tick_later) {
  test::temp_pool<domain::file> pool;
  auto& time = clock_by_hand(*pool);
  boxes<domain::file> some(*pool);
  (void)some.add(1);
  const u64 mine = time.last_epoch();
  time.tick();
  time.tick();
  EXPECT_LT(time.durable_epoch(), mine) << "the device may lack the clock of the second tick";
  time.tick();
  EXPECT_EQ(time.durable_epoch(), mine);
  (void)some.add(2);
  time.sync();
  EXPECT_GE(time.durable_epoch(), time.last_epoch());
}

TEST(clocks_on_disks, call_nothing_durable_after_a_failure) {
  test::temp_pool<domain::file> pool;
  auto& time = clock_by_hand(*pool);
  boxes<domain::file> some(*pool);
  (void)some.add(1);
  const u64 mine = time.last_epoch();
  EXPECT_FALSE(time.has_failed());
  domain::file::fail_next_syncs(1, EIO);
  EXPECT_THROW(time.sync(), error);
  domain::file::fail_next_syncs(0, 0);
  EXPECT_TRUE(time.has_failed());
  EXPECT_LT(time.durable_epoch(), mine);
}

TEST_F(clocks, a_buffer_holds_two_at_least) {
  for (const std::size_t buffer : {0U, 1U}) {
    clock_options bad;
    bad.buffer = buffer;
    EXPECT_EQ(reason_of([&] { time.configure(bad); }), errc::bad_argument);
  }
  clock_options least;
  least.buffer = 2;
  EXPECT_NO_THROW(time.configure(least));
}

TEST_F(clocks, a_root_that_was_dropped_leaves_the_others) {
  (void)some.add(1);
  {
    boxes<process> others(*pool, "others");
    payload<box>* const gone = others.add(2);
    others.remove(gone);
    (void)others.add(3);
  }
  pool->drop_root("others");
  for (int i = 0; i < 3; ++i) time.tick();
  EXPECT_EQ(time.waiting(), 0U) << "what the root had given up is forgotten when its time comes";
  boxes<process> third(*pool, "third");
  (void)third.add(4);
  time.sync();
  auto left = pool.crashed();
  EXPECT_EQ(boxes<process>(*left).found(), (std::multiset<u64>{1}));
  EXPECT_EQ(boxes<process>(*left, "others").found(), (std::multiset<u64>{}));
  EXPECT_EQ(boxes<process>(*left, "third").found(), (std::multiset<u64>{4}));
}

TEST_F(clocks, a_root_that_was_not_attached_is_cut_off_at_its_own_crash) {
  boxes<process> others(*pool, "others");
  payload<box>* const kept = others.add(1);
  time.sync();
  (void)others.add(2);
  others.remove(kept);
  // The first crash: "others" is not attached, and the clock passes all labels in it.
  auto first = pool.crashed();
  auto& after = clock_by_hand(*first);
  boxes<process> here(*first);
  for (u64 i = 0; i < 6; ++i) {
    (void)here.add(10 + i);
    after.tick();
  }
  ASSERT_GT(after.now() - 2, time.now()) << "labels of the lost epochs look complete";
  auto second = first.crashed();
  clock_by_hand(*second);
  EXPECT_EQ(boxes<process>(*second, "others").found(), (std::multiset<u64>{1}));
  auto third = second.crashed();
  clock_by_hand(*third).sync();
  EXPECT_EQ(boxes<process>(*third, "others").found(), (std::multiset<u64>{1}));
}

TEST_F(clocks, of_two_copies_of_the_time_the_intact_one_counts) {
  (void)some.add(1);
  time.sync();
  (void)some.add(2);
  const u64 last = time.now();
  // The last tick tore the line that it wrote.
  const auto tear = [](detail::clock_slot* slots, u64 now) { slots[now % 2].kept ^= 1; };
  auto found = pool.crashed();
  auto& reopened = clock_by_hand(*found);
  auto* const slots = reopened.session().object<detail::clock_slot>();
  EXPECT_EQ(slots[reopened.now() % 2].now, reopened.now());
  EXPECT_EQ(slots[reopened.now() % 2].kept, last - 2);
  tear(slots, reopened.now());
  auto torn = found.crashed();
  const u64 older = reopened.now() - 1;
  EXPECT_EQ(clock_by_hand(*torn).boundary(), older < last + 5 ? last - 2 : older - 2);
  slots[0].check ^= 1;
  slots[1].check = 0;
  tear(slots, 0);
  auto broken = found.crashed();
  try {
    (void)clock_by_hand(*broken);
    ADD_FAILURE() << "a clock without an intact copy was accepted";
  } catch (const corruption& damage) {
    EXPECT_NE(std::string(damage.what()).find("intact"), std::string::npos) << damage.what();
  }
}

TEST_F(clocks, a_pool_whose_clock_is_gone_is_refused) {
  (void)some.add(1);
  time.sync();
  auto left = pool.crashed();
  left->drop_root("outlast.epoch.clock");
  try {
    const boxes<process> unknown(*left);
    ADD_FAILURE() << "payloads without a clock were accepted";
  } catch (const corruption& damage) {
    const std::string said = damage.what();
    EXPECT_NE(said.find("root "), std::string::npos) << said;
    EXPECT_NE(said.find("clock has no record of it"), std::string::npos) << said;
  }
}

/// A pool whose directory has a first chunk of 32 roots.
class many_roots : public testing::Test {
 protected:
  /// Adds roots of one page, until the next root has the number `first`.
  template <class Pool>
  static void fill(Pool& target, std::uint32_t first) {
    for (auto next = static_cast<std::uint32_t>(target.roots().size()); next < first; ++next) {
      const attached_root root =
          target.attach_root("root " + std::to_string(next), "page", 1, true);
      ASSERT_EQ(root.index, next);
      void* const page =
          target.pages().allocate_run(pool_format::run_kind::large, next, 1, 1, 4096);
      target.publish_root(next, page);
      target.detach_root(next, true);
    }
  }
  /// Requires: the clock of the pool is not new.
  static detail::clock_slot* slots_of(basic_pool<process>& target) {
    return clock_by_hand(target).session().object<detail::clock_slot>();
  }

  test::memory_image<process> pool{512 << 10, {.format_version = 2}};
};

TEST_F(many_roots, are_cut_off_at_the_boundary_of_their_crash) {
  ASSERT_EQ(pool->first_roots(), 32U);
  boxes<process> early(*pool, "early");
  fill(*pool, 40);
  boxes<process> late(*pool, "late");
  fill(*pool, 70);
  boxes<process> last(*pool, "last");
  auto& time = clock_by_hand(*pool);
  for (auto* each : {&early, &late, &last}) (void)each->add(1);
  time.sync();
  for (auto* each : {&early, &late, &last}) (void)each->add(2);
  // The first crash: "last" is not attached, and the clock passes all labels in it.
  auto first = pool.crashed();
  auto& after = clock_by_hand(*first);
  boxes<process> found(*first, "late");
  EXPECT_EQ(found.found(), (std::multiset<u64>{1}));
  EXPECT_EQ(boxes<process>(*first, "early").found(), (std::multiset<u64>{1}));
  for (u64 i = 0; i < 6; ++i) {
    (void)found.add(10 + i);
    after.tick();
  }
  after.sync();
  auto second = first.crashed();
  clock_by_hand(*second);
  EXPECT_EQ(boxes<process>(*second, "last").found(), (std::multiset<u64>{1}));
  EXPECT_EQ(boxes<process>(*second, "late").found().size(), 7U);
  second->drop_root("late");
  boxes<process> again(*second, "again");
  EXPECT_TRUE(again.found().empty());
  (void)again.add(3);
  clock_by_hand(*second).sync();
  auto third = second.crashed();
  EXPECT_EQ(boxes<process>(*third, "again").found(), (std::multiset<u64>{3}));
  EXPECT_EQ(boxes<process>(*third, "last").found(), (std::multiset<u64>{1}));
}

TEST_F(many_roots, whose_words_were_being_added_in_a_crash_are_free_of_them) {
  fill(*pool, 40);
  (void)clock_by_hand(*pool);
  for (const int changed : {0, 1}) {
    auto crashed = pool.crashed();
    slots_of(*crashed)[changed].more = 4711;  // the other copy of the time did not get it
    auto found = crashed.crashed();
    boxes<process> late(*found, "late");
    (void)late.add(1);
    clock_by_hand(*found).sync();
    auto again = found.crashed();
    EXPECT_EQ(boxes<process>(*again, "late").found(), (std::multiset<u64>{1}));
  }
}

TEST_F(many_roots, whose_words_have_a_damaged_name_are_refused) {
  fill(*pool, 40);
  (void)clock_by_hand(*pool);  // no thread writes the time while an image is taken
  {
    boxes<process> late(*pool, "late");
    (void)late.add(1);
  }
  auto image = pool.crashed();
  detail::clock_slot* const slots = slots_of(*image);
  const u64 name = slots[0].more;
  ASSERT_EQ(slots[1].more, name);
  const std::optional<u64> offset = detail::block_named(name);
  ASSERT_TRUE(offset.has_value());
  u64& chunk = reinterpret_cast<u64*>(image->base() + *offset)[1];
  const auto expect_refused = [&] {
    auto damaged = image.crashed();
    EXPECT_EQ(reason_of([&] { (void)clock_by_hand(*damaged); }), errc::corrupted);
  };
  for (const u64 wrong : {name ^ u64{1} << 50, name + 64, detail::name_of_block(*offset + 32),
                          detail::name_of_block(u64{1} << 40)}) {
    slots[0].more = slots[1].more = wrong;
    expect_refused();
  }
  slots[0].more = slots[1].more = name;
  const u64 words = chunk;
  for (const u64 wrong : {words ^ 2, name}) {
    chunk = wrong;
    expect_refused();
  }
  chunk = words;
  auto intact = image.crashed();
  EXPECT_NO_THROW((void)clock_by_hand(*intact));
}

TEST_F(many_roots, are_in_a_file_too) {
  test::temp_pool<process> file;
  file->close();
  std::filesystem::remove(file.path());
  file.options().format_version = 2;
  file.open();
  fill(*file, 300);
  using map_type = hash_map<u64, u64, process>;
  {
    map_type map(*file, "map");
    for (u64 i = 0; i < 100; ++i) map.put(i, i + 1);
    clock_by_hand(*file).sync();
    for (u64 i = 100; i < 110; ++i) map.put(i, i + 1);
  }
  file.abandon();
  file.open();
  {
    map_type map(*file, "map");
    EXPECT_EQ(map.get(99), 100U);
    EXPECT_EQ(map.get(100), std::nullopt);
    map.put(7, 1);
  }
  file.close();
  file.open();
  EXPECT_EQ(map_type(*file, "map").get(7), 1U);
}

class counted_clocks : public testing::Test {
 protected:
  static constexpr std::size_t buffer = 8;
  test::temp_pool<counted> pool;
  clock<counted>& time = clock_by_hand(*pool, {.buffer = buffer});
  boxes<counted> some{*pool};
};

TEST_F(counted_clocks, an_operation_waits_for_nothing_until_the_buffer_is_full) {
  (void)some.add(0);  // the arena's pages
  time.sync();
  EXPECT_EQ(cost_of([&] {
              for (u64 i = 0; i + 1 < buffer; ++i) (void)some.add(i);
            }),
            (cost{0, 0}));
  const cost full = cost_of([&] { (void)some.add(buffer); });
  EXPECT_EQ(full.fences, 1U) << "for half a buffer";
  EXPECT_LE(full.flushes, buffer / 4 + 1) << "two of them share a line";
  EXPECT_EQ(cost_of([&] { (void)some.add(buffer); }), (cost{0, 0}));
}

TEST_F(counted_clocks, a_removal_writes_back_one_line) {
  payload<box>* const gone = some.add(1);
  time.sync();
  const cost idle = cost_of([&] { time.sync(); });
  EXPECT_EQ(cost_of([&] { some.remove(gone); }), (cost{0, 0}));
  const cost after = cost_of([&] { time.sync(); });
  EXPECT_EQ(after.flushes, idle.flushes + 1);
  EXPECT_EQ(after.fences, idle.fences + 1) << "an epoch in which nothing happened has none";
}

TEST_F(counted_clocks, what_is_made_and_removed_in_one_epoch_is_written_back_once) {
  (void)some.add(0);
  time.sync();
  const cost idle = cost_of([&] { time.sync(); });
  {
    operation<counted> op(some.memory());
    payload<box>* at = op.pnew(box{1, 2});
    at = op.set(at, &box::second, u64{3});
    op.pdelete(at);
  }
  EXPECT_LE(cost_of([&] { time.sync(); }).flushes, idle.flushes + 3);
}

TEST_F(counted_clocks, each_operation_waits_once_where_that_is_asked_for) {
  (void)some.add(0);
  time.sync();
  clock_by_hand(*pool, {.writes = write_back::each_operation});
  time.sync();
  EXPECT_EQ(cost_of([&] { (void)some.add(1); }), (cost{1, 1}));
  EXPECT_EQ(cost_of([&] { (void)some.add(2); }), (cost{1, 1}));
}

TEST_F(counted_clocks, nothing_is_written_back_where_nobody_shall) {
  clock_by_hand(*pool, {.buffer = buffer, .writes = write_back::none});
  (void)some.add(0);
  const cost idle = cost_of([&] { time.sync(); });
  EXPECT_EQ(cost_of([&] {
              for (u64 i = 0; i < 10 * buffer; ++i) some.remove(some.add(i));
            }),
            (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { time.sync(); }), idle);
}

}  // namespace
}  // namespace outlast::epoch
