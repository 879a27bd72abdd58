// Goal: a bucket of any length has what was added and not removed, wherever in its lines that lies.
// Method: random changes against a model; small numbers, so that lines come and go all the time.
#include <outlast/domain/process.hpp>
#include <outlast/epoch/detail/bucket_table.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>

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

}  // namespace
}  // namespace outlast::epoch::detail
