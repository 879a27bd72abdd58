// The table of strides, checked for every size.
#include <outlast/alloc/size_classes.hpp>

#include <gtest/gtest.h>

#include <cstddef>

namespace outlast::alloc {
namespace {

TEST(SizeClasses, hold_what_is_asked_for_in_the_smallest_stride) {
  for (std::size_t bytes = 0; bytes <= largest_small; ++bytes) {
    const class_index index = class_of(bytes);
    ASSERT_GE(index, 1);
    ASSERT_LE(index, class_count);
    ASSERT_GE(stride_of(index), bytes);
    ASSERT_TRUE(index == 1 || stride_of(static_cast<class_index>(index - 1)) < bytes) << bytes;
  }
}

TEST(SizeClasses, waste_at_most_an_eighth_above_64_bytes) {
  for (std::size_t bytes = 65; bytes <= largest_small; ++bytes) {
    ASSERT_LE((stride_of(class_of(bytes)) - bytes) * 8, bytes) << bytes;
  }
}

TEST(SizeClasses, keep_alignments_that_the_size_has) {
  for (std::size_t align = 8; align <= pool_format::page_size; align *= 2) {
    for (std::size_t bytes = align; bytes <= largest_small; bytes += align) {
      ASSERT_EQ(stride_of(class_of(bytes)) % align, 0U) << bytes << " at " << align;
    }
  }
}

TEST(SizeClasses, are_found_by_their_stride_and_nothing_else_is) {
  for (std::size_t stride = 0; stride <= largest_small + 16; ++stride) {
    const class_index index = class_with_stride(stride);
    ASSERT_TRUE(index == 0 || stride_of(index) == stride) << stride;
  }
  for (std::size_t i = 1; i <= class_count; ++i) {
    const auto index = static_cast<class_index>(i);
    EXPECT_EQ(class_with_stride(stride_of(index)), index);
  }
}

TEST(SizeClasses, come_in_spans_that_fit_a_word_of_the_bitmap_and_waste_little) {
  for (std::size_t i = 1; i <= class_count; ++i) {
    const auto index = static_cast<class_index>(i);
    const std::size_t bytes = span_pages_of(index) * pool_format::page_size;
    EXPECT_LE(span_pages_of(index), 64U);
    EXPECT_LE(bytes / stride_of(index), max_blocks);
    EXPECT_LE(bytes % stride_of(index) * 10, bytes) << stride_of(index);
    EXPECT_TRUE(stride_of(index) > 4096 || bytes / stride_of(index) >= 56) << stride_of(index);
  }
}

}  // namespace
}  // namespace outlast::alloc
