// Goal: every hardware domain satisfies the concept, and reads and writes memory like the machine.
// Method: the same accesses over the list of domains; a new domain joins by one line.
#include <outlast/domain.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace outlast::domain {
namespace {

static_assert(process::current_kind() == kind::process);
static_assert(adr::current_kind() == kind::adr);
static_assert(cache_persistent::current_kind() == kind::cache_persistent);
static_assert(static_cast<unsigned>(kind::process) == 1 && static_cast<unsigned>(kind::adr) == 2 &&
                  static_cast<unsigned>(kind::cache_persistent) == 3 &&
                  static_cast<unsigned>(kind::file) == 4 &&
                  static_cast<unsigned>(kind::simulated) == 5,
              "the values are part of the format");
static_assert(adr::flushes() && !process::flushes() && !cache_persistent::flushes());

template <class D>
class DomainAccess : public testing::Test {
 protected:
  static_assert(persistence_domain<D>);
  std::atomic<std::uint64_t> word{5};
};

using domains =
    testing::Types<process, adr, cache_persistent, native, file, counting<adr>, counting<process>,
                   slow_ns<adr, 1>, counting<slow_ns<process, 1>>, without_flushes<adr>>;
TYPED_TEST_SUITE(DomainAccess, domains);

TYPED_TEST(DomainAccess, loads_what_was_stored) {
  TypeParam::store(this->word, 9, std::memory_order_release);
  EXPECT_EQ(TypeParam::load(this->word, std::memory_order_acquire), 9U);
  EXPECT_EQ(TypeParam::exchange(this->word, 11, std::memory_order_acq_rel), 9U);
  EXPECT_EQ(this->word.load(), 11U);
}

TYPED_TEST(DomainAccess, compare_exchange_succeeds_on_the_expected_value_alone) {
  for (const auto order :
       {std::memory_order_relaxed, std::memory_order_acquire, std::memory_order_release,
        std::memory_order_acq_rel, std::memory_order_seq_cst}) {
    this->word = 5;
    std::uint64_t expected = 4;
    EXPECT_FALSE(TypeParam::compare_exchange(this->word, expected, 6, order));
    EXPECT_EQ(expected, 5U) << "a failure tells what was found";
    EXPECT_TRUE(TypeParam::compare_exchange(this->word, expected, 6, order));
    EXPECT_EQ(this->word.load(), 6U);
  }
}

TYPED_TEST(DomainAccess, fetch_operations_return_the_value_before) {
  constexpr auto order = std::memory_order_acq_rel;
  EXPECT_EQ(TypeParam::fetch_add(this->word, 10, order), 5U);
  EXPECT_EQ(TypeParam::fetch_sub(this->word, 3, order), 15U);
  EXPECT_EQ(TypeParam::fetch_and(this->word, 0b1100, order), 12U);
  EXPECT_EQ(TypeParam::fetch_or(this->word, 0b0011, order), 12U);
  EXPECT_EQ(TypeParam::fetch_xor(this->word, 0b1111, order), 15U);
  EXPECT_EQ(this->word.load(), 0U);
}

TYPED_TEST(DomainAccess, copies_zeroes_and_streams_bytes_exactly) {
  const std::array<char, 13> source = {'t', 'w', 'e', 'l', 'v', 'e', ' ',
                                       'b', 'y', 't', 'e', 's', '!'};
  std::array<char, 15> target{};
  TypeParam::write(&target[1], source.data(), source.size());
  EXPECT_EQ(std::memcmp(&target[1], source.data(), source.size()), 0);
  TypeParam::zero(target.data(), target.size());
  EXPECT_EQ(target, (std::array<char, 15>{}));
  TypeParam::stream(&target[1], source.data(), source.size());
  TypeParam::psync();
  EXPECT_EQ(std::memcmp(&target[1], source.data(), source.size()), 0);
  EXPECT_EQ(target[0], 0);
  EXPECT_EQ(target[14], 0);
}

TYPED_TEST(DomainAccess, flushes_fences_and_hints_change_nothing) {
  TypeParam::pwb(&this->word);
  TypeParam::pfence();
  TypeParam::psync();
  TypeParam::schedule_point();
  TypeParam::relax();
  EXPECT_EQ(this->word.load(), 5U);
  EXPECT_FALSE(std::string_view(TypeParam::name()).empty());
}

TYPED_TEST(DomainAccess, concurrent_additions_are_all_counted) {
  constexpr std::uint64_t additions = 2000;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      for (std::uint64_t n = 0; n < additions; ++n) {
        TypeParam::fetch_add(this->word, 1, std::memory_order_relaxed);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(this->word.load(), 5 + 4 * additions);
}

}  // namespace
}  // namespace outlast::domain
