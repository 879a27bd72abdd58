// Goal: `native` does what the most demanding open pool needs, and no more. Method: open and close
// in every order.
#include <outlast/domain.hpp>
#include <outlast/domain/group_commit.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace outlast::domain {
namespace {

static_assert(std::is_same_v<group_commit<native>, base::group_commit>);

TEST(Native, without_a_pool_nothing_is_flushed) {
  EXPECT_EQ(native::current_kind(), kind::process);
  EXPECT_FALSE(native::flushes());
}

TEST(Native, flushes_while_one_open_pool_needs_it) {
  native::pool_opened(kind::process);
  EXPECT_FALSE(native::flushes());
  native::pool_opened(kind::adr);
  EXPECT_TRUE(native::flushes());
  native::pool_closed(kind::process);
  EXPECT_TRUE(native::flushes());
  native::pool_closed(kind::adr);
  EXPECT_FALSE(native::flushes());
}

TEST(Native, remembers_a_store_beside_which_another_pool_was_opened) {
  base::this_thread().flush_pending = false;
  native::pool_opened(kind::cache_persistent);
  ASSERT_FALSE(native::flushes());
  native::pool_opened(kind::adr);  // between the caller's look and its store
  note_store<native>();
  EXPECT_TRUE(base::this_thread().flush_pending);
  complete<native>();
  EXPECT_FALSE(base::this_thread().flush_pending);
  native::pool_closed(kind::adr);
  native::pool_closed(kind::cache_persistent);
}

TEST(Native, two_pools_of_a_kind_are_counted) {
  native::pool_opened(kind::adr);
  native::pool_opened(kind::adr);
  native::pool_closed(kind::adr);
  EXPECT_TRUE(native::flushes());
  native::pool_closed(kind::adr);
  EXPECT_FALSE(native::flushes());
}

TEST(Native, the_strongest_need_wins) {
  native::pool_opened(kind::cache_persistent);
  EXPECT_EQ(native::current_kind(), kind::cache_persistent);
  EXPECT_FALSE(native::flushes());
  native::pool_opened(kind::adr);
  EXPECT_EQ(native::current_kind(), kind::adr);
  native::pool_closed(kind::adr);
  EXPECT_EQ(native::current_kind(), kind::cache_persistent);
  native::pool_closed(kind::cache_persistent);
  EXPECT_EQ(native::current_kind(), kind::process);
}

}  // namespace
}  // namespace outlast::domain
