// Goal: hashes never change, because pools contain them, and they spread. Method: golden values, a
// measure of how many output bits each input bit moves, and collisions over dense keys.
#include <outlast/base/hash.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <set>
#include <string>
#include <type_traits>

namespace outlast::base {
namespace {

enum class color : unsigned char { red = 1, blue = 200 };

struct two_words {
  std::uint64_t first;
  std::uint64_t second;
};

struct three_bytes {
  char bytes[3];
};

TEST(Hash, mix64_keeps_its_golden_values) {
  EXPECT_EQ(mix64(0), 0U);
  EXPECT_EQ(mix64(1), 0x4179b061e0c0e0d0U);
  EXPECT_EQ(mix64(2), 0x1c9963305febc252U);
  EXPECT_EQ(mix64(0x0123456789abcdef), 0x3efdea49c590f4ecU);
  EXPECT_EQ(mix64(~std::uint64_t{0}), 0x448e29ced4103459U);
}

TEST(Hash, hash_bytes_keeps_its_golden_values) {
  EXPECT_EQ(hash_bytes(""), 0x4e17cf67001b3979U);
  EXPECT_EQ(hash_bytes("a"), 0x2ad54cb0faa5b433U);
  EXPECT_EQ(hash_bytes("outlast"), 0x128daf415130de0eU);
}

TEST(Hash, default_hash_keeps_its_golden_values) {
  EXPECT_EQ(default_hash<int>{}(-1), 0x448e29ced4103459U);
  EXPECT_EQ(default_hash<std::uint32_t>{}(7), 0x793f9bd73383384aU);
  EXPECT_EQ(default_hash<color>{}(color::blue), 0x50d25262c8edb617U);
  EXPECT_EQ(default_hash<two_words>{}({1, 2}), 0x17a7b9a6614b72ceU);
  EXPECT_EQ(default_hash<three_bytes>{}({{'a', 'b', 'c'}}), 0xe214180fecb5e54cU);
}

TEST(Hash, is_a_constant_expression_where_names_are_hashed) {
  static_assert(hash_bytes("outlast") == 0x128daf415130de0eU);
  static_assert(mix64(1) != mix64(2));
}

TEST(Hash, every_input_bit_moves_about_half_of_the_output_bits) {
  constexpr int samples = 400;
  for (unsigned bit = 0; bit < 64; ++bit) {
    int moved = 0;
    for (std::uint64_t i = 1; i <= samples; ++i) {
      const std::uint64_t x = i * 0x9e3779b97f4a7c15U;
      moved += std::popcount(mix64(x) ^ mix64(x ^ std::uint64_t{1} << bit));
    }
    EXPECT_NEAR(static_cast<double>(moved) / samples, 32.0, 2.0) << "input bit " << bit;
  }
}

TEST(Hash, dense_keys_fill_buckets_evenly_by_their_low_bits) {
  constexpr std::size_t buckets = 256;
  constexpr std::uint64_t keys = 64 * buckets;
  unsigned fill[buckets] = {};
  for (std::uint64_t key = 0; key < keys; ++key)
    ++fill[default_hash<std::uint64_t>{}(key) % buckets];
  for (const unsigned load : fill) {
    EXPECT_GT(load, 24U);
    EXPECT_LT(load, 110U);
  }
}

TEST(Hash, short_strings_do_not_collide) {
  std::set<std::uint64_t> seen;
  std::size_t count = 0;
  for (char a = 'a'; a <= 'z'; ++a) {
    for (char b = 'a'; b <= 'z'; ++b) {
      for (const std::string& text :
           {std::string{a, b}, std::string{a, b, a}, std::string{a, '\0', b}}) {
        seen.insert(hash_bytes(text));
        ++count;
      }
    }
  }
  EXPECT_EQ(seen.size(), count);
}

TEST(Hash, trailing_zeros_and_order_matter) {
  EXPECT_NE(hash_bytes(std::string_view("a\0", 2)), hash_bytes("a"));
  EXPECT_NE(hash_bytes("ab"), hash_bytes("ba"));
  EXPECT_NE(default_hash<two_words>{}({1, 2}), default_hash<two_words>{}({2, 1}));
}

}  // namespace
}  // namespace outlast::base
