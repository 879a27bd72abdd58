// Goal: slices show any bytes of any number, in the order of unsigned bytes.
// Method: examples, zero bytes and bytes above 127 among them.
#include <outlast/db/slice.hpp>

#include <gtest/gtest.h>

#include <string>

namespace outlast::db {
namespace {

TEST(SliceTest, has_any_bytes) {
  const std::string bytes("a\0b", 3);
  const Slice all(bytes);
  EXPECT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1], '\0');
  EXPECT_EQ(all.ToString(), bytes);
  EXPECT_EQ(Slice("a\0b").size(), 1U);
  EXPECT_TRUE(Slice().empty());
  EXPECT_EQ(Slice(), Slice(""));
}

TEST(SliceTest, is_ordered_by_unsigned_bytes) {
  EXPECT_LT(Slice("a").compare("b"), 0);
  EXPECT_LT(Slice("a").compare("ab"), 0);
  EXPECT_GT(Slice("\xff").compare("a"), 0);
  EXPECT_EQ(Slice("ab").compare("ab"), 0);
  EXPECT_TRUE(Slice("a") != Slice("b"));
  EXPECT_TRUE(Slice("abc").starts_with("ab"));
  EXPECT_TRUE(Slice("abc").starts_with(""));
  EXPECT_FALSE(Slice("ab").starts_with("abc"));
}

TEST(SliceTest, loses_what_it_begins_with) {
  Slice rest("abc");
  rest.remove_prefix(2);
  EXPECT_EQ(rest, Slice("c"));
  rest.clear();
  EXPECT_TRUE(rest.empty());
  EXPECT_NE(rest.data(), nullptr);
}

}  // namespace
}  // namespace outlast::db
