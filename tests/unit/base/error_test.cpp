// Goal: an error has its code, its file and a full sentence. Method: construct and read errors.
#include <outlast/base/error.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <type_traits>

namespace outlast {
namespace {

constexpr int first_code = static_cast<int>(errc::not_a_pool);
constexpr int last_code = static_cast<int>(errc::torn_by_copying);

TEST(Error, names_the_file_before_the_sentence) {
  const error failure(errc::truncated, "/data/a.pool", "the file ends at 4096 bytes");
  EXPECT_EQ(std::string(failure.what()).find("/data/a.pool: the file ends at 4096 bytes"), 0U);
  EXPECT_EQ(failure.path(), "/data/a.pool");
  EXPECT_EQ(failure.reason(), errc::truncated);
}

TEST(Error, without_a_file_is_the_sentence_alone) {
  const error failure(errc::refused, "", "no such instruction");
  EXPECT_EQ(std::string(failure.what()).find("no such instruction"), 0U);
  EXPECT_TRUE(failure.path().empty());
}

TEST(Error, compares_with_its_code_as_standard_error_codes_do) {
  const std::error_code code = errc::pool_full;
  EXPECT_EQ(code, errc::pool_full);
  EXPECT_NE(code, errc::no_space);
  EXPECT_EQ(&code.category(), &error_category());
  EXPECT_STREQ(error_category().name(), "outlast");
}

TEST(Error, every_code_has_a_text_of_its_own) {
  std::set<std::string> texts;
  for (int code = first_code; code <= last_code; ++code) {
    texts.insert(error_category().message(code));
  }
  EXPECT_EQ(texts.size(), static_cast<std::size_t>(last_code - first_code + 1));
  EXPECT_FALSE(texts.contains("unknown error"));
}

TEST(Error, a_code_from_elsewhere_is_unknown_and_not_a_crash) {
  EXPECT_EQ(error_category().message(0), "unknown error");
  EXPECT_EQ(error_category().message(last_code + 1), "unknown error");
}

TEST(Error, corruption_is_caught_as_an_error_with_its_own_code) {
  try {
    throw corruption("/data/b.pool", "two roots share a page");
  } catch (const error& failure) {
    EXPECT_EQ(failure.reason(), errc::corrupted);
    EXPECT_EQ(failure.path(), "/data/b.pool");
  }
}

TEST(OutOfSpace, is_a_bad_alloc_that_keeps_its_sentence) {
  static_assert(std::is_base_of_v<std::bad_alloc, out_of_space>);
  try {
    throw out_of_space("the pool has no page left");
  } catch (const std::bad_alloc& failure) {
    EXPECT_STREQ(failure.what(), "the pool has no page left");
  }
}

}  // namespace
}  // namespace outlast
