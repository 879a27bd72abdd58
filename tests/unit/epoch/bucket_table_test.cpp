// Goal: a bucket of any length has what was added and not removed, wherever in its lines that lies.
// Method: random changes against a model; small numbers, so that lines come and go all the time.
#include <outlast/domain/process.hpp>
#include <outlast/epoch/detail/bucket_table.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <random>
#include <set>
#include <vector>

namespace {
bool no_memory = false;  // for further lines of buckets
}  // namespace

// Lines are aligned; nothing else here is.
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t align) {
  void* const made =
      no_memory ? nullptr : std::aligned_alloc(static_cast<std::size_t>(align), bytes);
  if (made == nullptr) throw std::bad_alloc();
  return made;
}
[[gnu::noinline]] void operator delete(void* made, std::align_val_t) noexcept { std::free(made); }
[[gnu::noinline]] void operator delete(void* made, std::size_t, std::align_val_t) noexcept {
  std::free(made);
}

namespace outlast::epoch::detail {
namespace {

struct item {
  std::uint64_t hash;
};

class buckets : public testing::Test {
 protected:
  ~buckets() override { tested.drop_further_lines(); }

  void add(item& one) { tested.add(one.hash, &one); }
  [[nodiscard]] auto find(const item& one) {
    return tested.find(one.hash, [&](const item& each) { return &each == &one; });
  }
  [[nodiscard]] std::multiset<const item*> content() const {
    std::multiset<const item*> seen;
    tested.for_each([&](const item& each) { seen.insert(&each); });
    return seen;
  }

  bucket<item, domain::process> tested;
  std::array<item, 24> items{};  // four lines
};

TEST_F(buckets, a_line_whose_own_last_item_goes_goes_with_it) {
  for (std::size_t i = 0; i < 7; ++i) add(items[i]);
  tested.remove(find(items[6]));  // alone in the second line
  for (std::size_t i = 0; i < 6; ++i) tested.remove(find(items[i]));
  EXPECT_TRUE(content().empty());
}

TEST_F(buckets, room_that_nobody_used_harms_nobody) {
  for (std::size_t i = 0; i < 6; ++i) add(items[i]);
  (void)tested.make_room();
  tested.remove(find(items[2]));
  EXPECT_EQ(content().size(), 5U);
  EXPECT_FALSE(find(items[2]));
  for (std::size_t i = 6; i < 10; ++i) add(items[i]);
  EXPECT_EQ(content().size(), 9U);
}

TEST_F(buckets, have_what_was_added_and_not_removed) {
  std::mt19937_64 random(1);
  for (item& each : items) each.hash = random();
  std::multiset<const item*> model;
  for (int i = 0; i < 20'000; ++i) {
    item& one = items[random() % items.size()];
    if (i % 7 == 0) (void)tested.make_room();
    if (const auto at = find(one)) {
      ASSERT_EQ(model.erase(&one), 1U);
      tested.remove(at);
    } else if (model.size() < 3 + random() % items.size()) {
      add(one);
      model.insert(&one);
    }
    ASSERT_EQ(content(), model);
  }
}

struct same_hash {
  std::uint64_t operator()(const item& one) const { return one.hash; }
};

TEST(bucket_table, without_memory_is_used_where_it_is_and_grows_later) {
  constexpr std::size_t count = 600;
  bucket_table<item, same_hash, domain::process> table(1, 1);
  std::vector<item> items(count);
  for (std::size_t i = 0; i < count; ++i) items[i].hash = i % 7 << 3;  // they meet in few buckets
  const auto find = [&](const item& one) {
    return table.with(one.hash, [&](auto& here) {
      return static_cast<bool>(
          here.find(one.hash, [&](const item& each) { return &each == &one; }));
    });
  };
  std::size_t added = 0;
  std::vector<const item*> there;
  for (std::size_t i = 0; i < count; ++i) {
    no_memory = i % 3 != 0;
    try {
      table.with(items[i].hash, [&](auto& here) { here.add(items[i].hash, &items[i]); });
      there.push_back(&items[i]);
      ++added;
    } catch (const std::bad_alloc&) {
      EXPECT_TRUE(no_memory);
    }
    no_memory = true;
    table.grow_if_full(added);
    for (const item* each : there) ASSERT_TRUE(find(*each)) << "after " << i;
  }
  no_memory = false;
  for (std::size_t i = 0; i < 4 * count; ++i) table.grow_if_full(added);
  EXPECT_GE(table.size(), added);
  std::size_t seen = 0;
  table.for_each([&](item&) { ++seen; });
  EXPECT_EQ(seen, added);
  EXPECT_GT(added, count / 3);
  table.for_each([](item&) {});
}

}  // namespace
}  // namespace outlast::epoch::detail
