// Goal: pointer and marks never disturb each other. Method: every mark of one and of three bits.
#include <outlast/base/marked_ptr.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <type_traits>

namespace outlast::base {
namespace {

struct alignas(8) node {
  int value = 0;
};

TEST(MarkedPtr, fits_a_lock_free_word) {
  static_assert(sizeof(marked_ptr<node>) == 8);
  static_assert(std::is_trivially_copyable_v<marked_ptr<node>>);
  static_assert(std::atomic<marked_ptr<node>>::is_always_lock_free);
}

TEST(MarkedPtr, is_null_by_default) {
  const marked_ptr<node> empty;
  EXPECT_EQ(empty.get(), nullptr);
  EXPECT_EQ(empty.marks(), 0U);
  EXPECT_FALSE(empty);
}

TEST(MarkedPtr, carries_every_combination_of_its_marks) {
  node target;
  for (std::uintptr_t marks = 0; marks < 8; ++marks) {
    const marked_ptr<node, 3> pointer(&target, marks);
    EXPECT_EQ(pointer.get(), &target);
    EXPECT_EQ(pointer.marks(), marks);
    EXPECT_EQ((marked_ptr<node, 3>::raw(pointer.word())), pointer);
  }
}

TEST(MarkedPtr, with_and_without_change_one_mark_and_nothing_else) {
  node target;
  const marked_ptr<node, 2> pointer(&target, 1);
  EXPECT_EQ(pointer.with(2).marks(), 3U);
  EXPECT_EQ(pointer.with(2).without(1).marks(), 2U);
  EXPECT_EQ(pointer.with(2).get(), &target);
  EXPECT_EQ(pointer.marks(), 1U) << "the original is a value";
}

TEST(MarkedPtr, has_asks_for_any_of_the_marks) {
  const marked_ptr<node, 2> pointer(nullptr, 2);
  EXPECT_TRUE(pointer.has(2));
  EXPECT_TRUE(pointer.has(3));
  EXPECT_FALSE(pointer.has(1));
}

TEST(MarkedPtr, a_marked_null_is_false_and_yet_not_the_unmarked_null) {
  const marked_ptr<node> marked(nullptr, 1);
  EXPECT_FALSE(marked);
  EXPECT_NE(marked, marked_ptr<node>());
  EXPECT_EQ(marked.without(1), marked_ptr<node>());
}

TEST(MarkedPtr, reaches_through_its_marks) {
  node target;
  const marked_ptr<node> pointer(&target, 1);
  pointer->value = 3;
  EXPECT_EQ((*pointer).value, 3);
}

}  // namespace
}  // namespace outlast::base
