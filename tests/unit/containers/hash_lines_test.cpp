// Goal: a hash map in transactions is a map for all keys, values and hashes. It grows neither too
// early nor too late, by a few lines at a time, and frees the lines that it does not need. Method:
// random operations against std::map, with checks of invariants; keys that all collide in one line;
// lines counted while keys are added and removed.
#include <outlast/containers/hash_map.hpp>
#include <outlast/tx/heap.hpp>
#include <outlast/tx/transient.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>

namespace outlast::containers {
namespace {

using namespace tx;

using number = std::uint64_t;

struct wide {
  std::array<number, 5> of;
  friend auto operator<=>(const wide&, const wide&) = default;
};
struct odd {
  std::array<char, 3> of;
  friend auto operator<=>(const odd&, const odd&) = default;
};

template <class T>
T made_of(number n);
template <>
number made_of<number>(number n) {
  return n;
}
template <>
std::uint16_t made_of<std::uint16_t>(number n) {
  return static_cast<std::uint16_t>(n);
}
template <>
wide made_of<wide>(number n) {
  return {{n, n + 1, n + 2, n + 3, n + 4}};
}
template <>
odd made_of<odd>(number n) {
  return {{static_cast<char>(n), static_cast<char>(n >> 8), static_cast<char>(n >> 16)}};
}
template <>
std::string made_of<std::string>(number n) {
  return std::string(n % 40, 's') + std::to_string(n);
}

struct weak_hash {
  std::uint64_t operator()(number key) const noexcept { return key << 32; }
};
struct no_hash {
  std::uint64_t operator()(number) const noexcept { return 42; }
};

/// A map in a manager of its own.
template <class Map>
class HashLines : public testing::Test {
 protected:
  using model = std::map<typename Map::key_type, typename Map::mapped_type>;

  template <class F>
  auto update(F f) {
    return manager_.update(map_, f);
  }
  template <class F>
  auto read(F f) {
    return manager_.read(map_, f);
  }
  std::size_t blocks_in_use() {
    return manager_.read([](const_view) { return heap(running()).blocks_in_use(); });
  }
  void expect_content(const model& expected) {
    model found;
    read([&](const Map& m) {
      m.for_each([&](const auto& key, const auto& value) {
        ASSERT_TRUE(
            found.emplace(typename Map::key_type(key), typename Map::mapped_type(value)).second);
      });
      ASSERT_EQ(m.size(), expected.size());
      ASSERT_EQ(m.check(), "");
    });
    ASSERT_EQ(found, expected);
  }

  transient manager_{{.replica_bytes = std::size_t{16} << 20}};
  root<Map> map_ = manager_.template root<Map>("map");
};

using kinds = testing::Types<hash_map<number, number>, hash_map<std::uint16_t, std::uint16_t>,
                             hash_map<wide, odd>, hash_map<odd, number>,
                             hash_map<std::string, std::string>, hash_map<number, std::string>,
                             hash_map<number, number, weak_hash>, hash_map<number, wide, no_hash>>;
TYPED_TEST_SUITE(HashLines, kinds);

TYPED_TEST(HashLines, is_a_map_while_it_grows) {
  using map = TypeParam;
  using key_type = typename map::key_type;
  using mapped_type = typename map::mapped_type;
  std::map<key_type, mapped_type> held;
  std::mt19937_64 random(3);
  for (number step = 0; step < 6000; ++step) {
    const auto key = made_of<key_type>(random() % (step < 3000 ? 20 + step / 4 : 800));
    const auto value = made_of<mapped_type>(step);
    switch (random() % 5) {
      case 0:
        ASSERT_EQ(this->update([&](map& m) { return m.insert(key, value); }),
                  held.emplace(key, value).second);
        break;
      case 1:
        ASSERT_EQ(this->update([&](map& m) { return m.put(key, value); }),
                  held.insert_or_assign(key, value).second);
        break;
      case 2:
        ASSERT_EQ(this->update([&](map& m) { return m.update(key, value); }), held.count(key) != 0);
        if (held.count(key) != 0) held[key] = value;
        break;
      case 3:
        ASSERT_EQ(this->update([&](map& m) { return m.erase(key); }), held.erase(key) != 0);
        break;
      default:
        ASSERT_EQ(this->read([&](const map& m) { return m.contains(key); }), held.count(key) != 0);
    }
    if (step % 500 == 0) this->expect_content(held);
  }
  this->expect_content(held);
}

TYPED_TEST(HashLines, gives_back_all_but_its_first_lines) {
  using map = TypeParam;
  using key_type = typename map::key_type;
  using mapped_type = typename map::mapped_type;
  const auto fill = [this] {
    for (number n = 0; n < 500; ++n) {
      this->update([n](map& m) { m.insert(made_of<key_type>(n), made_of<mapped_type>(n)); });
    }
  };
  const auto empty = [this] {
    for (number n = 0; n < 500; ++n) {
      ASSERT_TRUE(this->update([n](map& m) { return m.erase(made_of<key_type>(n)); }));
    }
  };
  fill();
  empty();
  const std::size_t blocks = this->blocks_in_use();
  const std::size_t lines = this->read([](const map& m) { return m.lines(); });
  fill();
  empty();
  if (this->read([](const map& m) { return m.lines(); }) == lines) {
    EXPECT_EQ(this->blocks_in_use(), blocks);
  }
  this->expect_content({});
}

using numbers = hash_map<number, number>;

/// How full lines are.
class HashGrowth : public HashLines<numbers> {
 protected:
  double keys_per_line(number keys) {
    return static_cast<double>(keys) /
           static_cast<double>(read([](const numbers& m) { return m.lines(); }));
  }
};

TEST_F(HashGrowth, keeps_between_one_and_two_and_a_half_keys_in_a_line) {
  for (number n = 0; n < 100'000; ++n) {
    const std::size_t before = read([](const numbers& m) { return m.lines(); });
    update([n](numbers& m) { m.insert(n, n); });
    const std::size_t after = read([](const numbers& m) { return m.lines(); });
    ASSERT_LE(after - before, 64U) << "a pause";
    if (n < 100) continue;
    ASSERT_GE(keys_per_line(n + 1), 1.0) << n;
    ASSERT_LE(keys_per_line(n + 1), 2.7) << n;
  }
  EXPECT_EQ(read([](const numbers& m) { return m.check().empty(); }), true);
}

TEST_F(HashGrowth, stays_as_it_is_while_keys_come_and_go) {
  constexpr number keys = 30'000;
  for (number n = 0; n < keys; ++n) update([n](numbers& m) { m.insert(n, n); });
  const double before = keys_per_line(keys);
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    const number key = random() % keys;
    update([key](numbers& m) { m.erase(key); });
    update([key](numbers& m) { m.insert(key, key); });
  }
  EXPECT_GE(keys_per_line(keys), 0.9 * before);
  EXPECT_EQ(read([](const numbers& m) { return m.size(); }), keys);
}

TEST_F(HashGrowth, takes_views_of_what_it_holds_itself) {
  using strings = hash_map<std::string, std::string>;
  const auto map = manager_.root<strings>("strings");
  const std::string first(20, 'x');
  manager_.update(map, [&](strings& m) {
    m.insert("0", first);
    for (number n = 1; n < 200; ++n) m.insert(std::to_string(n), *m.get(std::to_string(n - 1)));
  });
  EXPECT_EQ(manager_.read(map, [&](const strings& m) { return *m.get("199") == first; }), true);
}

}  // namespace
}  // namespace outlast::containers
