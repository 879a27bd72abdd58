// Goal: words, numbers, times and keys in base64 are read as memcached reads them.
// Method: tables of texts; the expected values are those that a real memcached showed.
#include <src/server/memcached/base64.hpp>
#include <src/server/memcached/text.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace outlast::server::memcached {
namespace {

TEST(MemcachedNumbers, words_are_separated_by_blanks_only) {
  words line("  get a\tb   c ");
  EXPECT_EQ(line.next(), "get");
  EXPECT_EQ(line.next(), "a\tb");
  EXPECT_EQ(line.next(), "c");
  EXPECT_EQ(line.next(), "");
  EXPECT_EQ(line.next(), "");
  const arguments many("1 2 3 4 5 6 7 8 9 10");
  EXPECT_EQ(many.count, arguments::kept);
  EXPECT_EQ(many.last(), "8");
}

TEST(MemcachedNumbers, unsigned_numbers_have_a_sign_and_white_space_around_them) {
  EXPECT_EQ(unsigned_of("0"), 0U);
  EXPECT_EQ(unsigned_of("007"), 7U);
  EXPECT_EQ(unsigned_of("+7"), 7U);
  EXPECT_EQ(unsigned_of(" \t\r\n\v\f7 x"), 7U);
  EXPECT_EQ(unsigned_of("-0"), 0U);
  EXPECT_EQ(unsigned_of("18446744073709551615"), 18446744073709551615U);
  EXPECT_EQ(unsigned_of("-18446744073709551615"), 1U) << "strtoul() wraps around";
  for (const char* wrong : {"", " ", "x", "1x", "0x1", "+", "-", "--1", "+-1", "1.5", "-1",
                            "18446744073709551616", "18446744073709551615 -"}) {
    EXPECT_EQ(unsigned_of(wrong), std::nullopt) << wrong;
  }
}

TEST(MemcachedNumbers, numbers_of_32_bits_are_cut) {
  EXPECT_EQ(unsigned32_of("4294967295"), 4294967295U);
  EXPECT_EQ(unsigned32_of("4294967297"), 1U);
  EXPECT_EQ(signed32_of("2147483648"), -2147483647 - 1);
  EXPECT_EQ(signed32_of("4294967296"), 0);
  EXPECT_EQ(signed32_of("-2147483649"), 2147483647);
  EXPECT_EQ(signed32_of("9223372036854775807"), -1);
  EXPECT_EQ(signed32_of("-9223372036854775808"), 0);
  EXPECT_EQ(signed32_of("9223372036854775808"), std::nullopt);
  EXPECT_EQ(signed32_of("-9223372036854775809"), std::nullopt);
}

TEST(MemcachedNumbers, times_are_relative_or_absolute) {
  constexpr std::int64_t now = 1'700'000'000'500;
  EXPECT_EQ(expiry_of(0, now), 0);
  EXPECT_EQ(expiry_of(1, now), now + 1000);
  EXPECT_EQ(expiry_of(2'592'000, now), now + 2'592'000'000);
  EXPECT_EQ(expiry_of(2'592'001, now), 2'592'001'000);
  EXPECT_LE(expiry_of(-1, now), now);
  EXPECT_NE(expiry_of(-1, now), 0);
  EXPECT_EQ(remaining_seconds(0, now), -1);
  EXPECT_EQ(remaining_seconds(now + 30'000, now), 30);
  EXPECT_EQ(remaining_seconds(now + 29'001, now), 30);
  EXPECT_EQ(remaining_seconds(now, now), 0);
  EXPECT_EQ(remaining_seconds(1, now), 0);
}

std::optional<std::string> decoded(std::string_view text) {
  std::array<char, 300> bytes;
  const std::optional<std::size_t> size = decode_base64(text, bytes.data());
  if (!size) return std::nullopt;
  return std::string(bytes.data(), *size);
}

TEST(MemcachedNumbers, base64_returns_what_was_encoded) {
  std::string bytes;
  for (int i = 0; i < 187; ++i) {
    std::string text;
    add_base64(text, bytes);
    if (!bytes.empty()) {
      EXPECT_EQ(decoded(text), bytes);
    }
    bytes += static_cast<char>(i * 37 + 200);
  }
  std::string text;
  add_base64(text, "\xfb\xff\xfe");
  EXPECT_EQ(text, "+//+");
}

TEST(MemcachedNumbers, other_texts_are_not_base64) {
  EXPECT_EQ(decoded("YR=="), "a") << "unused bits may be set";
  for (const char* wrong :
       {"", "Y", "YQ", "YQ=", "Y===", "YQ=A", "YQ==YQ==", "YW-_", "YQ =", "\xff\xff\xff\xff"}) {
    EXPECT_EQ(decoded(wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace outlast::server::memcached
