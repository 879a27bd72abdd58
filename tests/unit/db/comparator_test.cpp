// Goal: the order by bytes, and keys that are shortened without leaving their place.
// Method: examples, and random strings of few bytes against the order itself.
#include <outlast/db/comparator.hpp>
#include <outlast/db/slice.hpp>

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace outlast::db {
namespace {

std::string separator(std::string start, const std::string& limit) {
  BytewiseComparator()->FindShortestSeparator(&start, limit);
  return start;
}

std::string successor(std::string key) {
  BytewiseComparator()->FindShortSuccessor(&key);
  return key;
}

TEST(BytewiseComparatorTest, orders_as_slices) {
  EXPECT_LT(BytewiseComparator()->Compare("a", "b"), 0);
  EXPECT_GT(BytewiseComparator()->Compare("\x80", "\x7f"), 0);
  EXPECT_EQ(BytewiseComparator()->Compare("", ""), 0);
  EXPECT_STREQ(BytewiseComparator()->Name(), "leveldb.BytewiseComparator");
  EXPECT_EQ(BytewiseComparator(), BytewiseComparator());
}

TEST(BytewiseComparatorTest, shortens_where_that_stays_between) {
  EXPECT_EQ(separator("abcdef", "abzzz"), "abd");
  EXPECT_EQ(separator("abc", "abd"), "abc");
  EXPECT_EQ(separator("ab", "abc"), "ab");
  EXPECT_EQ(separator("abc", "ab"), "abc");
  EXPECT_EQ(separator("b", "a"), "b");
  EXPECT_EQ(successor("abc"), "b");
  EXPECT_EQ(successor("\xff\xff"
                      "a1"),
            "\xff\xff"
            "b");
  EXPECT_EQ(successor("\xff\xff"), "\xff\xff");
  EXPECT_EQ(successor(""), "");
}

TEST(BytewiseComparatorTest, what_it_shortens_keeps_its_place) {
  std::mt19937_64 random(1);
  const auto text = [&] {
    std::string made(random() % 5, '\0');
    for (char& each : made) each = "\0\x01z\x7f\x80\xfe\xff"[random() % 7];
    return made;
  };
  for (int i = 0; i < 20'000; ++i) {
    const std::string a = text();
    const std::string b = text();
    const std::string between = separator(a, b);
    EXPECT_LE(between.size(), a.size());
    if (Slice(a).compare(b) < 0) {
      EXPECT_GE(Slice(between).compare(a), 0);
      EXPECT_LT(Slice(between).compare(b), 0);
    } else {
      EXPECT_EQ(between, a);
    }
    EXPECT_GE(Slice(successor(a)).compare(a), 0);
  }
}

}  // namespace
}  // namespace outlast::db
