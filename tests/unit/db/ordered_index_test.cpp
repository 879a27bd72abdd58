// The index of the record engine, beside a set, with words that are addresses of strings.
#include <outlast/db/detail/key_order.hpp>
#include <outlast/domain/process.hpp>
#include <src/db/records/ordered_index.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace outlast::store_detail::records {
namespace {

using domain_type = domain::process;

struct tiny_shape : usual_shape {
  static constexpr unsigned leaf_slots = 4;
  static constexpr unsigned page_keys = 3;
  static constexpr bool large_pages = false;
};

/// A word is the address of a string.
struct key_at_address {
  std::string_view operator()(std::uint64_t word) const {
    return *reinterpret_cast<const std::string*>(static_cast<std::uintptr_t>(word));
  }
};

/// Keys that are never freed.
class strings {
 public:
  std::uint64_t word_of(const std::string& key) {
    const std::lock_guard lock(mutex_);
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&all_.emplace_back(key)));
  }

 private:
  std::mutex mutex_;
  std::deque<std::string> all_;
};

std::string random_key(std::mt19937_64& random) {
  static const std::string prefixes[] = {"", "a",
                                         "user/00000000000000000000000000000000000000000000/",
                                         std::string("\0\0", 2), "\xff\xff"};
  std::string key = prefixes[random() % std::size(prefixes)];
  const std::size_t more = random() % 12;
  for (std::size_t i = 0; i < more; ++i)
    key += static_cast<char>(random() % 3 == 0 ? random() : 'a');
  return key;
}

template <class Shape>
class indexes : public testing::Test {
 protected:
  using index_type = ordered_index<domain_type, Shape, key_at_address>;
  using side = typename index_type::side;

  void put(index_type& index, const std::string& key) { put(index, key, index.find(key)); }
  void put(index_type& index, const std::string& key, typename index_type::place at) {
    const std::uint64_t word = words_.word_of(key);
    EXPECT_TRUE(index.update(key, at, [&](std::uint64_t) { return word; }));
  }
  static std::vector<std::string> ascending(const index_type& index) {
    std::vector<std::string> all;
    typename index_type::leaf_content leaf;
    std::optional<std::string> next;
    for (bool is_first = true; is_first || next; is_first = false) {
      const auto from = next ? std::optional<std::string_view>(*next) : std::nullopt;
      index.copy_leaf(from, side::at_or_after, leaf);
      for (unsigned i = 0; i < leaf.count; ++i) all.emplace_back(key_at_address()(leaf.words[i]));
      next = leaf.high;
    }
    return all;
  }
  static std::vector<std::string> descending(const index_type& index) {
    std::vector<std::string> all;
    typename index_type::leaf_content leaf;
    std::optional<std::string> next;
    for (bool is_first = true; is_first || next; is_first = false) {
      const auto from = next ? std::optional<std::string_view>(*next) : std::nullopt;
      index.copy_leaf(from, side::before, leaf);
      for (unsigned i = leaf.count; i-- > 0;) all.emplace_back(key_at_address()(leaf.words[i]));
      next = leaf.low;
    }
    return all;
  }
  void compare(const index_type& index, const std::vector<std::string>& expected) {
    EXPECT_EQ(index.check(), "");
    EXPECT_EQ(ascending(index), expected);
    std::vector<std::string> reversed = descending(index);
    std::reverse(reversed.begin(), reversed.end());
    EXPECT_EQ(reversed, expected);
  }

  strings words_;
};

using shapes = testing::Types<tiny_shape, usual_shape>;
TYPED_TEST_SUITE(indexes, shapes);

TYPED_TEST(indexes, hold_what_a_map_holds) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    std::mt19937_64 random(seed);
    typename TestFixture::index_type index{key_order(), key_at_address()};
    std::map<std::string, std::uint64_t> model;
    for (int i = 0; i < 1500; ++i) {
      const std::string key = random_key(random);
      auto at = index.find(key);
      const auto known = model.find(key);
      ASSERT_EQ(at.word, known == model.end() ? 0 : known->second);
      if (random() % 4 == 0) {
        index.remove(key, at, at.word);
        model.erase(key);
      } else {
        const std::uint64_t word = this->words_.word_of(key);
        const std::uint64_t found = at.word;
        std::uint64_t before = 1;
        ASSERT_TRUE(index.update(key, at, [&](std::uint64_t there) {
          before = there;
          return word;
        }));
        ASSERT_EQ(before, found);
        ASSERT_EQ(at.word, word);
        model[key] = word;
      }
    }
    std::vector<std::string> expected;
    for (const auto& [key, word] : model) expected.push_back(key);
    this->compare(index, expected);
    for (const auto& [key, word] : model) ASSERT_EQ(index.find(key).word, word);
  }
}

/// Pages are split, joined and removed after a place was found.
TYPED_TEST(indexes, find_keys_near_places_that_are_outdated) {
  using index_type = typename TestFixture::index_type;
  using place = typename index_type::place;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    std::mt19937_64 random(seed);
    index_type index{key_order(), key_at_address()};
    std::map<std::string, std::uint64_t> model;
    std::map<std::string, place> places;
    std::vector<std::function<void()>> retired;  // the places may refer to them
    const auto retire = [&](auto* gone) {
      retired.emplace_back([&index, gone] { index.destroy_retired(gone); });
    };
    for (int i = 0; i < 6000; ++i) {
      const std::string key = "k" + std::to_string(random() % 600);
      place& at = places[key];
      const auto known = model.find(key);
      const std::uint64_t expected = known == model.end() ? 0 : known->second;
      if (random() % 4 == 0) at = index.approach(key);
      place near = at;
      ASSERT_EQ(index.has_word(key, near, [&](std::uint64_t word) { return word == expected; }),
                expected != 0);
      at = index.find(key, random() % 2 == 0 ? at : near);
      ASSERT_EQ(at.word, expected);
      const bool shrinks = i / 1500 % 2 == 1;
      if (random() % 4 < (shrinks ? 3 : 1)) {
        if (index.remove(key, at, at.word)) index.join_towards(key, retire);
        model.erase(key);
      } else {
        const std::uint64_t word = this->words_.word_of(key);
        static_cast<void>(index.update(key, at, [&](std::uint64_t) { return word; }));
        ASSERT_EQ(at.word, word);
        ASSERT_TRUE(index.is_current(at));
        model[key] = word;
      }
    }
    EXPECT_EQ(index.check(), "");
    EXPECT_GT(retired.size(), 0U);
    for (const auto& free : retired) free();
  }
}

TYPED_TEST(indexes, are_filled_in_ascending_and_descending_order) {
  for (const bool ascends : {true, false}) {
    typename TestFixture::index_type index{key_order(), key_at_address()};
    std::vector<std::string> expected;
    for (int i = 0; i < 2000; ++i) {
      const std::string number = std::to_string(100000 + (ascends ? i : 2000 - i));
      this->put(index, "key/" + number);
      expected.push_back("key/" + number);
    }
    std::sort(expected.begin(), expected.end());
    this->compare(index, expected);
  }
}

int compare_without_case(const void*, std::string_view a, std::string_view b) {
  const auto lower = [](std::string_view text) {
    std::string all(text);
    for (char& each : all) each = static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
    return all;
  };
  return lower(a).compare(lower(b));
}

TYPED_TEST(indexes, follow_an_order_of_the_program) {
  const key_order order(nullptr, &compare_without_case);
  typename TestFixture::index_type index{order, key_at_address()};
  std::mt19937_64 random(7);
  std::map<std::string, std::string> model;
  for (int i = 0; i < 3000; ++i) {
    std::string key = std::to_string(random() % 800) + (random() % 2 == 0 ? "x" : "X");
    std::string folded = key;
    std::transform(folded.begin(), folded.end(), folded.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    this->put(index, key);
    model[folded] = key;
  }
  std::vector<std::string> expected;
  for (const auto& [folded, key] : model) expected.push_back(key);
  this->compare(index, expected);
}

TYPED_TEST(indexes, are_built_of_parts) {
  for (const std::size_t count : {0U, 1U, 2U, 3U, 5U, 41U, 160U, 5000U}) {
    for (const std::size_t parts : {1U, 3U}) {
      typename TestFixture::index_type index{key_order(), key_at_address()};
      std::vector<std::string> keys;
      for (std::size_t i = 0; i < count; ++i) keys.push_back(std::to_string(1000000 + 7 * i));
      std::vector<std::vector<typename TestFixture::index_type::built_page>> made(parts);
      for (std::size_t p = 0; p < parts; ++p) {
        const std::size_t begin = p * count / parts;
        const std::size_t end = (p + 1) * count / parts;
        std::vector<std::uint64_t> words;
        for (std::size_t i = begin; i < end; ++i) words.push_back(this->words_.word_of(keys[i]));
        index.make_leaves(words.size(), [&](std::size_t i) { return words[i]; }, made[p]);
      }
      index.build(made);
      this->compare(index, keys);
      this->put(index, "0");
      this->put(index, "1000003");
      this->put(index, "9");
      keys.insert(keys.end(), {"0", "1000003", "9"});
      std::sort(keys.begin(), keys.end());
      this->compare(index, keys);
    }
  }
}

TYPED_TEST(indexes, join_their_pages_when_keys_go) {
  typename TestFixture::index_type index{key_order(), key_at_address()};
  std::mt19937_64 random(8);
  std::set<std::string> present;
  const std::size_t least = index.bytes();
  const auto retire = [&](auto* gone) { index.destroy_retired(gone); };
  const auto remove = [&](const std::string& key) {
    const auto at = index.find(key);
    if (index.remove(key, at, at.word)) index.join_towards(key, retire);
    present.erase(key);
  };
  for (int round = 0; round < 4; ++round) {
    while (present.size() < 3000) {
      const std::string key = random_key(random);
      this->put(index, key);
      present.insert(key);
    }
    const std::size_t most = index.bytes();
    // From the front, from the back, in any order.
    while (present.size() > 40) {
      const auto which = round == 0   ? present.begin()
                         : round == 1 ? std::prev(present.end())
                                      : present.lower_bound(random_key(random));
      if (which != present.end()) remove(std::string(*which));
    }
    EXPECT_LT(index.bytes() - least, (most - least) / 8);
    this->compare(index, {present.begin(), present.end()});
  }
  while (!present.empty()) remove(std::string(*present.begin()));
  EXPECT_LE(index.bytes(), 2 * least);
  this->compare(index, {});
}

TYPED_TEST(indexes, serve_several_threads) {
  typename TestFixture::index_type index{key_order(), key_at_address()};
  constexpr int threads = 4;
  constexpr int keys = 3000;
  std::atomic<bool> has_failed{false};
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      std::mt19937_64 random(static_cast<std::uint64_t>(t));
      std::vector<int> own;
      for (int i = 0; i < keys; ++i) own.push_back(i * threads + t);
      std::shuffle(own.begin(), own.end(), random);
      for (std::size_t i = 0; i < own.size(); ++i) {
        const std::string key = std::to_string(own[i]);
        const auto near = index.approach(key);
        if (i % 4 == 0) std::this_thread::yield();
        this->put(index, key, index.find(key, near));
        const int earlier = own[random() % (i + 1)];
        const std::uint64_t word = index.find(std::to_string(earlier)).word;
        if (word == 0 || key_at_address()(word) != std::to_string(earlier)) has_failed = true;
      }
    });
  }
  for (std::thread& each : all) each.join();
  EXPECT_FALSE(has_failed);
  std::vector<std::string> expected;
  for (int i = 0; i < threads * keys; ++i) expected.push_back(std::to_string(i));
  std::sort(expected.begin(), expected.end());
  this->compare(index, expected);
}

/// A leaf that was locked and not changed has the version again that a reader has seen.
TYPED_TEST(indexes, find_words_while_leaves_are_locked) {
  typename TestFixture::index_type index{key_order(), key_at_address()};
  for (int i = 0; i < 100; ++i) this->put(index, std::to_string(1000 + i));
  std::atomic<bool> ends{false};
  std::vector<std::thread> all;
  for (int t = 0; t < 3; ++t) {
    all.emplace_back([&] {
      while (!ends) {
        const auto unchanged = [](std::uint64_t word) { return word; };
        auto at = index.find("1050");
        static_cast<void>(index.update("1050", at, unchanged));
      }
    });
  }
  int missed = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    auto near = index.approach("1050");
    if (!index.has_word("1050", near, [](std::uint64_t word) { return word != 0; })) ++missed;
  }
  ends = true;
  for (std::thread& each : all) each.join();
  EXPECT_EQ(missed, 0);
}

}  // namespace
}  // namespace outlast::store_detail::records
