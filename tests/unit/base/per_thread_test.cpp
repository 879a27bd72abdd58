// Goal: each slot has one object per owner, which only the thread that inherits the slot finds
// again. Method: more owners than the thread caches, more threads than the first segments, counted
// constructions and destructions.
#include <outlast/base/per_thread.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <set>
#include <thread>
#include <vector>

namespace outlast::base {
namespace {

struct counted {
  static inline std::atomic<int> alive{0};
  explicit counted(std::uint32_t made_for) : slot(made_for) { ++alive; }
  ~counted() { --alive; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;

  std::uint32_t slot;
  std::uint64_t uses = 0;
};

per_thread<counted>::factory make_counted() {
  return [](std::uint32_t slot) { return std::make_unique<counted>(slot); };
}

TEST(PerThread, makes_one_object_on_first_use_and_finds_it_again) {
  per_thread<counted> table(make_counted());
  EXPECT_EQ(counted::alive, 0);
  counted& mine = table.local();
  EXPECT_EQ(mine.slot, this_thread().slot);
  EXPECT_EQ(&table.local(), &mine);
  EXPECT_EQ(counted::alive, 1);
}

TEST(PerThread, objects_die_with_the_table) {
  {
    per_thread<counted> table(make_counted());
    (void)table.local();
    std::thread([&] { (void)table.local(); }).join();
    EXPECT_EQ(counted::alive, 2) << "an exited thread leaves its object to its heir";
  }
  EXPECT_EQ(counted::alive, 0);
}

TEST(PerThread, an_heir_inherits_the_object_of_its_slot) {
  per_thread<counted> table(make_counted());
  (void)table.local();
  counted* first = nullptr;
  counted* second = nullptr;
  std::thread([&] { first = &table.local(); }).join();
  std::thread([&] { second = &table.local(); }).join();
  EXPECT_EQ(first, second);
}

TEST(PerThread, tables_do_not_mix_even_when_they_share_a_cache_entry) {
  std::vector<std::unique_ptr<per_thread<counted>>> tables;
  std::set<counted*> objects;
  for (std::size_t i = 0; i < 3 * thread_context::cached_locals; ++i) {
    tables.push_back(std::make_unique<per_thread<counted>>(make_counted()));
  }
  for (int round = 0; round < 3; ++round) {
    for (const auto& table : tables) {
      objects.insert(&table->local());
      ++table->local().uses;
    }
  }
  EXPECT_EQ(objects.size(), tables.size());
  for (const counted* object : objects) EXPECT_EQ(object->uses, 3U);
}

TEST(PerThread, a_new_table_at_an_old_address_does_not_see_the_old_objects) {
  alignas(per_thread<counted>) std::byte storage[sizeof(per_thread<counted>)];
  for (int i = 0; i < 2; ++i) {
    auto* const table = new (storage) per_thread<counted>(make_counted());
    EXPECT_EQ(table->local().uses, 0U);
    table->local().uses = 1;
    table->~per_thread();
  }
}

TEST(PerThread, many_threads_use_their_own_objects) {
  constexpr std::size_t threads = 100;
  constexpr std::uint64_t uses = 1000;
  per_thread<counted> table(make_counted());
  std::barrier all_registered(static_cast<std::ptrdiff_t>(threads));
  std::vector<std::thread> crowd;
  for (std::size_t i = 0; i < threads; ++i) {
    crowd.emplace_back([&] {
      (void)table.local();
      all_registered.arrive_and_wait();
      for (std::uint64_t use = 0; use < uses; ++use) ++table.local().uses;
    });
  }
  for (std::thread& thread : crowd) thread.join();
  std::set<std::uint32_t> slots;
  table.for_each([&](const counted& object) {
    EXPECT_EQ(object.uses, uses);
    slots.insert(object.slot);
  });
  EXPECT_EQ(slots.size(), threads);
}

TEST(PerThread, of_slot_finds_what_exists_and_makes_nothing) {
  per_thread<counted> table(make_counted());
  EXPECT_EQ(table.of_slot(this_thread().slot), nullptr);
  counted& mine = table.local();
  EXPECT_EQ(table.of_slot(this_thread().slot), &mine);
  EXPECT_EQ(table.of_slot(1'000'000), nullptr);
  EXPECT_EQ(counted::alive, 1);
}

TEST(PerThread, follows_a_played_context) {
  per_thread<counted> table(make_counted());
  thread_context far;
  far.slot = 5000;
  counted& mine = table.local();
  {
    const scoped_thread_context scope(far);
    EXPECT_EQ(table.local().slot, 5000U);
    EXPECT_NE(&table.local(), &mine);
  }
  EXPECT_EQ(&table.local(), &mine);
}

TEST(PerThread, a_factory_that_throws_leaves_nothing_behind) {
  bool fail = true;
  per_thread<counted> table([&](std::uint32_t slot) {
    if (fail) throw std::bad_alloc();
    return std::make_unique<counted>(slot);
  });
  EXPECT_THROW((void)table.local(), std::bad_alloc);
  fail = false;
  EXPECT_EQ(table.local().slot, this_thread().slot);
}

TEST(PerThread, once_forbidden_refuses_even_threads_that_had_their_object) {
  per_thread<counted> table(make_counted());
  (void)table.local();
  table.forbid();
  try {
    (void)table.local();
    FAIL() << "local() must throw";
  } catch (const error& failure) {
    EXPECT_EQ(failure.reason(), errc::forked);
  }
}

TEST(PerThread, owner_ids_are_never_zero_and_never_repeat) {
  const std::uint64_t first = next_owner_id();
  EXPECT_NE(first, 0U);
  EXPECT_GT(next_owner_id(), first);
}

}  // namespace
}  // namespace outlast::base
