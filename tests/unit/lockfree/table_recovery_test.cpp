// Goal: a table is recovered piece by piece, by several threads, to what it was, however little the
// directory still says. Method: kills, what a crash may have lost taken out of the pool by hand.
#include "tests/support/temp_pool.hpp"

#include <outlast/base/error.hpp>
#include <outlast/domain.hpp>
#include <outlast/durable/mirror.hpp>
#include <outlast/lockfree/hash_table.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <random>
#include <set>
#include <span>
#include <string>

namespace outlast::lockfree {
namespace {

using algorithm::node_bits;
using algorithm::ready_bit;
using u64 = std::uint64_t;

template <class Policy>
class table_recovery : public ::testing::Test {
 protected:
  using table = hash_table<u64, u64, Policy>;
  static constexpr u64 keys = 30'000;

  /// A table that was killed after keys came and went; `spoil` has had its pool since.
  void kill_a_table(const std::function<void(std::span<u64>)>& corrupt_bytes) {
    {
      table before(*pool_, "table", {.buckets = 1 << 14});
      for (u64 k = 0; k < keys; ++k) ASSERT_TRUE(before.insert(k, k * k));
      for (u64 k = 0; k < keys; k += 3) ASSERT_TRUE(before.erase(k));
    }
    pool_.abandon();
    pool_.open();
    auto* const words = reinterpret_cast<u64*>(pool_->base());
    const std::size_t bytes = std::size_t{pool_->pages().limit()} * pool_format::page_bytes;
    corrupt_bytes(std::span(words, bytes / sizeof(u64)));
  }
  void expect_all() {
    table after(*pool_, "table");
    EXPECT_TRUE(after.was_recovered());
    EXPECT_EQ(after.size_estimate(), keys - keys / 3);
    for (u64 k = 0; k < keys; ++k) ASSERT_EQ(after.contains(k), k % 3 != 0) << k;
    std::set<u64> seen;
    after.for_each([&](u64 key, u64 value) {
      EXPECT_EQ(value, key * key);
      EXPECT_TRUE(seen.insert(key).second);
    });
    EXPECT_EQ(seen.size(), keys - keys / 3);
    EXPECT_TRUE(after.insert(0, 0));
  }

  /// Is it what a linked sentinel says of itself, one of the first 2^12 that there ever are?
  static bool is_ready_place(u64 word) {
    const u64 order = word & ~node_bits;
    return (word & node_bits) == ready_bit && order != 0 && order << 12 == 0;
  }

  test::temp_pool<typename Policy::domain_type> pool_{std::size_t{64} << 20};
};
using policies =
    ::testing::Types<durable::flit<durable::tag::adjacent, durable::automatic, domain::process>,
                     durable::mirror<domain::process>, durable::mirror<domain::adr>>;
TYPED_TEST_SUITE(table_recovery, policies);

TYPED_TEST(table_recovery, finds_every_key) {
  this->kill_a_table([](std::span<u64>) {});
  this->expect_all();
}

TYPED_TEST(table_recovery, does_without_what_sentinels_say) {
  for (const unsigned one_in : {1U, 2U, 5U}) {
    this->pool_.close();
    std::filesystem::remove(this->pool_.path());
    this->pool_.open();
    std::mt19937 random(one_in);
    std::size_t forgotten = 0;
    this->kill_a_table([&](std::span<u64> words) {
      for (u64& word : words) {
        if (!this->is_ready_place(word) || random() % one_in != 0) continue;
        word &= ~ready_bit;
        ++forgotten;
      }
    });
    EXPECT_GT(forgotten, 500U);
    this->expect_all();
  }
}

TYPED_TEST(table_recovery, says_so_where_the_chain_ends_too_soon) {
  bool is_cut = false;
  this->kill_a_table([&](std::span<u64> words) {
    for (std::size_t i = 1; i < words.size() && !is_cut; ++i) {
      if (words[i] != (u64{1} << 62 | ready_bit)) continue;
      // The link of the sentinel of the second quarter.
      constexpr std::size_t words_of_cell = sizeof(typename TypeParam::template cell<u64*>) / 8;
      words[i - words_of_cell] = 0;
      is_cut = true;
    }
  });
  ASSERT_TRUE(is_cut);
  try {
    typename TestFixture::table after(*this->pool_, "table");
    FAIL() << "attached a table that has lost most of its keys";
  } catch (const corruption& error) {
    EXPECT_NE(std::string(error.what()).find("ends before its last bucket"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace outlast::lockfree
