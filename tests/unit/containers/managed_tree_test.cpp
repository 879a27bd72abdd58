// Goal: snapshots and iterators read one version, despite concurrent writes. Any number of
// snapshots can be open. Their blocks are freed after they end, also after the death of their
// process. Method: small trees in pool files; threads that write while others read; pools that are
// abandoned.
#include <outlast/containers/bplus_tree.hpp>
#include <outlast/containers/managed_tree.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/tx/baselines/cx_ptm.hpp>
#include <outlast/tx/left_right.hpp>
#include <outlast/tx/redo_opt.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace outlast::containers {
namespace {

using namespace tx;

using number = std::uint64_t;
using D = domain::process;
using pool_file = test::temp_pool<D>;
template <class Key, class Value>
using small_tree = containers::bplus_tree<Key, Value, roots::default_order<Key>, 6>;
using numbers = managed_tree<left_right<D>, small_tree<number, number>>;
using strings = managed_tree<left_right<D>, small_tree<std::string, std::string>>;

constexpr options space{.replica_bytes = std::size_t{8} << 20};

template <class Tree>
std::size_t bytes_in_use(Tree& of) {
  return of.manager().read([](const_view) { return heap(running()).bytes_in_use(); });
}

/// All that an iterator shows, forward and backward.
template <class Snapshot>
std::map<number, number> content_of(const Snapshot& of) {
  std::map<number, number> found;
  auto at = of.iterate();
  for (; at.is_valid(); at.next()) found.emplace(at.key(), at.value());
  std::map<number, number> backward;
  for (at.seek_to_last(); at.is_valid(); at.prev()) backward.emplace(at.key(), at.value());
  EXPECT_EQ(found, backward);
  return found;
}

TEST(ManagedTree, shows_a_snapshot_what_was) {
  pool_file pool;
  strings all(*pool, "all", space);
  EXPECT_TRUE(all.put("a", "1"));
  EXPECT_TRUE(all.insert("b", std::string(100, 'b')));
  const auto then = all.take_snapshot();
  EXPECT_TRUE(all.update("b", "other"));
  EXPECT_TRUE(all.erase("a"));
  EXPECT_FALSE(all.put("b", std::string(200, 'c')));
  EXPECT_EQ(then.get("a"), "1");
  EXPECT_EQ(then.get("b"), std::string(100, 'b'));
  EXPECT_EQ(then.get("c"), std::nullopt);
  EXPECT_EQ(then.size(), 2U);
  EXPECT_TRUE(then.contains("a"));
  EXPECT_FALSE(all.contains("a"));
  EXPECT_EQ(all.get("b"), std::string(200, 'c'));
  EXPECT_EQ(all.size(), 1U);
  EXPECT_EQ(all.check(), "");
}

TEST(ManagedTree, moves_iterators_in_both_directions) {
  pool_file pool;
  numbers all(*pool, "all", space);
  for (number n = 0; n < 500; ++n) all.put(2 * n, n);
  const auto then = all.take_snapshot();
  auto at = then.iterate();
  std::mt19937_64 random(41);
  number expected = 0;
  for (int step = 0; step < 5000; ++step) {
    ASSERT_TRUE(at.is_valid());
    ASSERT_EQ(at.key(), 2 * expected);
    ASSERT_EQ(at.value(), expected);
    const bool forward = expected == 0 || (expected != 499 && random() % 2 == 0);
    switch (random() % 40) {
      case 0:
        expected = 1 + random() % 498;
        at.seek(2 * expected - 1);
        break;
      case 1:
        expected = 1 + random() % 498;
        at.seek_back(2 * expected + 1);
        break;
      default: forward ? at.next() : at.prev(); forward ? ++expected : --expected;
    }
  }
  at.seek(999);
  EXPECT_FALSE(at.is_valid());
  at.seek_to_first();
  at.prev();
  EXPECT_FALSE(at.is_valid());
  at.seek_to_last();
  EXPECT_EQ(at.key(), 998U);
  at.next();
  EXPECT_FALSE(at.is_valid());
}

TEST(ManagedTree, keeps_a_thousand_iterators_and_is_written_by_their_thread) {
  pool_file pool;
  numbers all(*pool, "all", space);
  std::vector<std::pair<numbers::iterator, std::map<number, number>>> open;
  std::map<number, number> model;
  std::mt19937_64 random(42);
  for (number n = 0; n < 300; ++n) {
    all.put(n, n);
    model[n] = n;
  }
  for (int i = 0; i < 1000; ++i) {
    open.emplace_back(all.take_snapshot().iterate(), model);
    const number key = random() % 300;
    if (random() % 3 == 0) {
      all.erase(key);
      model.erase(key);
    } else {
      all.put(key, random() % 1000);
      model[key] = *all.get(key);
    }
  }
  // Each writes what it reads: the tree, not itself.
  for (auto& [at, expected] : open) {
    std::map<number, number> found;
    for (; at.is_valid(); at.next()) {
      found.emplace(at.key(), at.value());
      if (random() % 100 == 0) all.put(at.key(), 5000);
    }
    ASSERT_EQ(found, expected);
  }
  EXPECT_EQ(all.check(), "");
}

TEST(ManagedTree, is_read_and_written_by_many_threads) {
  pool_file pool;
  numbers all(*pool, "all", space);
  // The sum over all keys is the same at each moment.
  constexpr number keys = 60;
  constexpr number each = 100;
  for (number n = 0; n < keys; ++n) all.put(n, each);
  std::atomic<bool> stop = false;
  std::atomic<unsigned> wrong = 0;
  std::atomic<unsigned> seen = 0;
  {
    std::vector<std::jthread> crew;
    for (unsigned t = 0; t < 2; ++t) {
      crew.emplace_back([&, t] {
        std::mt19937_64 random(t);
        while (!stop) {
          const number from = random() % keys;
          const number to = random() % keys;
          all.change([=](auto& tree) {
            const number held = *tree.get(from);
            if (held == 0) return;
            tree.put(from, held - 1);
            tree.put(to, *tree.get(to) + 1);
          });
          all.put(keys + random() % 100, 0);
          all.erase(keys + random() % 100);
        }
      });
      crew.emplace_back([&] {
        for (int i = 0; i < 300; ++i) {
          const auto then = all.take_snapshot();
          number sum = 0;
          for (auto at = then.iterate(); at.is_valid(); at.next()) sum += at.value();
          if (sum != keys * each) ++wrong;
          ++seen;
        }
        if (seen == 600) stop = true;
      });
    }
  }
  EXPECT_EQ(wrong, 0U);
  EXPECT_TRUE(all.collect());
  EXPECT_EQ(all.check(), "");
}

TEST(ManagedTree, gives_back_what_dropped_snapshots_held) {
  pool_file pool;
  numbers all(*pool, "all", space);
  for (number n = 0; n < 1000; ++n) all.put(n, n);
  const std::size_t before = bytes_in_use(all);
  {
    std::vector<numbers::snapshot> open;
    for (number n = 0; n < 1000; n += 10) {
      open.push_back(all.take_snapshot());
      all.put(n, 0);
    }
    EXPECT_GT(bytes_in_use(all), before);
    EXPECT_EQ(content_of(open.back()).size(), 1000U);
  }
  EXPECT_TRUE(all.collect());
  EXPECT_EQ(bytes_in_use(all), before);
}

TEST(ManagedTree, gives_it_back_with_the_updates_that_follow) {
  pool_file pool;
  numbers all(*pool, "all", space);
  for (number n = 0; n < 1000; ++n) all.put(n, n);
  const std::size_t before = bytes_in_use(all);
  {
    const auto then = all.take_snapshot();
    for (number n = 0; n < 1000; ++n) all.put(n, 0);
  }
  for (int i = 0; i < 40; ++i) all.put(5, 0);
  EXPECT_EQ(bytes_in_use(all), before);
}

TEST(ManagedTree, gives_back_as_much_as_is_retired) {
  pool_file pool;
  numbers all(*pool, "all", {.replica_bytes = std::size_t{1} << 20});
  const auto write_all = [&](number with) {
    all.change([with](auto& tree) {
      for (number n = 0; n < 2000; ++n) tree.put(n, with);
    });
  };
  write_all(0);
  const std::size_t once = bytes_in_use(all);
  for (number round = 1; round < 100; ++round) {
    const auto then = all.take_snapshot();
    write_all(round);
    ASSERT_LE(bytes_in_use(all), 4 * once) << round;
  }
}

template <class Engine>
class ManagedTreeOf : public testing::Test {};
using engines = testing::Types<left_right<D>, redo_opt<D>, cx_ptm<D>>;
TYPED_TEST_SUITE(ManagedTreeOf, engines);

TYPED_TEST(ManagedTreeOf, takes_what_dropped_snapshots_hold_where_there_is_no_room) {
  using tree = managed_tree<TypeParam, small_tree<number, std::string>>;
  pool_file pool;
  tree all(*pool, "all", {.replica_bytes = std::size_t{512} * 1024});
  const auto write_all = [&](char with) {
    const std::string value(1000, with);
    for (number n = 0; n < 100; ++n) all.put(n, value);
  };
  write_all('a');
  {
    // What each kept the next older one sees too.
    const auto oldest = all.take_snapshot();
    write_all('b');
    const auto newer = all.take_snapshot();
    write_all('c');
  }
  const auto add = [&](number keys) {
    all.change([=](auto& t) {
      for (number n = 0; n < keys; ++n) t.put(1000 + n, std::string(1000, 'd'));
    });
  };
  EXPECT_NO_THROW(add(200));
  EXPECT_EQ(all.size(), 300U);
  EXPECT_THROW(add(500), out_of_space);
  EXPECT_EQ(all.size(), 300U);
  EXPECT_EQ(all.check(), "");
}

TEST(ManagedTree, hands_on_what_is_kept_where_there_is_no_room) {
  pool_file pool;
  strings all(*pool, "all", {.replica_bytes = std::size_t{256} * 1024});
  for (number n = 0; n < 300; ++n) all.put(std::to_string(n), "v");
  const auto then = all.take_snapshot();
  all.put("0", "w");  // another moment
  {
    const auto newer = all.take_snapshot();
    for (number n = 0; n < 300; ++n) all.put(std::to_string(n), "x");
    const auto fill = [&] {
      for (number n = 0;; ++n) all.put("large " + std::to_string(n), std::string(1000, 'y'));
    };
    EXPECT_THROW(fill(), out_of_space);
    const auto fill_all = [&] {
      for (number n = 0;; ++n) all.put("small " + std::to_string(n), "z");
    };
    EXPECT_THROW(fill_all(), out_of_space);
  }
  EXPECT_TRUE(all.collect());
  EXPECT_EQ(then.get("7"), "v");
  EXPECT_EQ(then.size(), 300U);
  EXPECT_EQ(all.check(), "");
}

// ---- Thousands of snapshots ----

/// Cuts a link of the list of holders while it exists: an operation that follows the link throws. A
/// test thus shows that its operations do not visit the holders after the cut.
class severed_list {
 public:
  /// Cuts the list after the newest `passed` holders.
  severed_list(numbers& in, std::size_t passed) : in_(in) {
    at_ = in.manager().update(in.named(), [passed](auto& tree) {
      std::byte* at = link_in(reinterpret_cast<std::byte*>(&tree), newest_at);
      for (std::size_t i = 1; i < passed; ++i) at = link_in(at, older_at);
      return running().offset_of(at + older_at);
    });
    turn();
  }
  ~severed_list() { turn(); }
  severed_list(const severed_list&) = delete;
  severed_list& operator=(const severed_list&) = delete;

 private:
  /// docs/formats/tx.md: the newest holder, from the tree; the next older one, from that.
  static constexpr std::size_t newest_at = 24;
  static constexpr std::size_t older_at = 16;

  static std::byte* link_in(std::byte* from, std::size_t at) {
    return reinterpret_cast<pointer<std::byte>*>(from + at)->get();
  }
  /// The bit by which it leads out of the replica.
  void turn() {
    in_.manager().update([at = at_](view) {
      auto& link = *reinterpret_cast<field<std::uint64_t>*>(running().replica() + at);
      link = link ^ std::uint64_t{1} << 50;
    });
  }

  numbers& in_;
  std::size_t at_ = 0;
};

class ThousandsOfSnapshots : public testing::Test {
 protected:
  static constexpr number keys = 100;
  static constexpr number many = 3000;

  ThousandsOfSnapshots() {
    for (number n = 0; n < keys; ++n) all.put(n, n);
  }
  void open_all() {
    for (number n = 0; n < many; ++n) open_one();
  }
  void open_one() {
    open.push_back(all.take_snapshot());
    ++written;
    all.put(written % keys, written);
  }

  pool_file pool;
  numbers all{*pool, "all", space};
  std::vector<numbers::snapshot> open;
  number written = 0;
};

TEST_F(ThousandsOfSnapshots, cost_a_change_nothing) {
  open_all();
  const severed_list here(all, 20);
  for (number n = 0; n < 2 * keys; ++n) all.put(n, 0);
  for (number n = 0; n < 10; ++n) open_one();
  for (number n = 0; n < 10; ++n) open.pop_back();
  for (number n = 0; n < keys; ++n) all.erase(n);
}

TEST_F(ThousandsOfSnapshots, cost_nothing_while_the_oldest_are_closed) {
  open_all();
  {
    const severed_list here(all, 20);
    open.erase(open.begin(), open.begin() + many / 2);
    for (number n = 0; n < 2 * many; ++n) all.put(n % keys, n);
  }
  EXPECT_EQ(content_of(open.front()).size(), keys);
  open.clear();
  EXPECT_TRUE(all.collect());
  EXPECT_EQ(all.check(), "");
}

TEST_F(ThousandsOfSnapshots, cost_nothing_while_the_newest_are_closed) {
  open_all();
  const severed_list here(all, many - 20);
  for (number n = 20; n < many - 20; ++n) {
    open.erase(open.end() - 1);
    all.put(n % keys, n);
  }
}

TEST_F(ThousandsOfSnapshots, leave_little_between_those_that_stay) {
  const std::size_t before = bytes_in_use(all);
  open_one();
  open_all();
  std::mt19937_64 random(43);
  while (open.size() > 2) {
    open.erase(open.begin() + 1 + static_cast<std::ptrdiff_t>(random() % (open.size() - 2)));
    all.put(random() % keys, 0);
  }
  for (number n = 0; n < many; ++n) all.put(n % keys, n);
  EXPECT_LE(bytes_in_use(all), 4 * before + 80 * 32);
  EXPECT_EQ(content_of(open.front()).size(), keys);
  EXPECT_EQ(content_of(open.back()).size(), keys);
  open.clear();
  EXPECT_TRUE(all.collect());
  EXPECT_FALSE(all.read([](const auto& tree) { return tree.keeps_versions(); }));
}

TEST(ManagedTree, is_read_but_not_opened_inside_of_an_operation) {
  pool_file pool;
  numbers all(*pool, "all", space);
  all.put(1, 10);
  const auto then = all.take_snapshot();
  all.put(1, 20);
  const number both = all.change([&](auto& tree) {
    EXPECT_THROW(static_cast<void>(all.take_snapshot()), error);
    tree.put(1, 30);
    auto at = then.iterate();
    return at.value() + *tree.get(1) + *all.get(1) + *then.get(1);
  });
  EXPECT_EQ(both, 10U + 30U + 30U + 10U);
  const auto fails = [](auto& tree) {
    tree.erase(1);
    throw 1;
  };
  EXPECT_THROW(all.change(fails), int);
  EXPECT_EQ(all.get(1), 30U);
}

TEST(ManagedTree, takes_one_snapshot_of_one_moment) {
  pool_file pool;
  numbers all(*pool, "all", space);
  all.put(1, 1);
  const auto first = all.take_snapshot();
  const std::size_t with_one = bytes_in_use(all);
  std::vector<numbers::snapshot> open(100, all.take_snapshot());
  for (int i = 0; i < 100; ++i) open.push_back(all.take_snapshot());
  EXPECT_EQ(bytes_in_use(all), with_one);
}

TEST(ManagedTree, takes_no_update_while_nothing_changes) {
  pool_file pool;
  numbers all(*pool, "all", space);
  for (number n = 0; n < 100; ++n) all.put(n, n);
  static_cast<void>(all.take_snapshot());
  const std::size_t before = bytes_in_use(all);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(all.take_snapshot().get(7), 7U);
  EXPECT_EQ(bytes_in_use(all), before);
  all.put(7, 8);
  EXPECT_EQ(all.take_snapshot().get(7), 8U);
}

TEST(ManagedTree, forgets_snapshots_of_a_process_that_is_gone) {
  pool_file pool;
  std::size_t before = 0;
  {
    auto all = std::make_unique<strings>(*pool, "all", space);
    for (number n = 0; n < 300; ++n) all->put(std::to_string(n), std::string(100, 'v'));
    before = bytes_in_use(*all);
    // The handles are dropped after the pool is: nothing of them is written.
    std::vector<strings::snapshot> open;
    for (number n = 0; n < 300; ++n) {
      open.push_back(all->take_snapshot());
      all->put(std::to_string(n), std::string(100, 'w'));
    }
    EXPECT_GT(bytes_in_use(*all), before);
    all.reset();
    pool.abandon();
  }
  pool.open();
  strings all(*pool, "all");
  EXPECT_EQ(all.check(), "");
  EXPECT_TRUE(all.collect());
  EXPECT_EQ(bytes_in_use(all), before);
  EXPECT_EQ(all.get("7"), std::string(100, 'w'));
}

TEST(ManagedTree, is_unchanged_where_a_snapshot_leaves_no_room) {
  pool_file pool;
  strings all(*pool, "all", {.replica_bytes = 256 * 1024});
  std::map<std::string, std::string> model;
  const auto fill = [&](char with) {
    for (number n = 0; n < 100; ++n) {
      const std::string key = std::to_string(n);
      const std::string value(1000, with);
      all.put(key, value);
      model[key] = value;
    }
  };
  fill('a');
  const auto expected = model;
  std::optional<strings::snapshot> then = all.take_snapshot();
  const auto fill_all = [&] {
    for (char with = 'b'; with <= 'z'; ++with) {
      fill(with);
      static_cast<void>(all.take_snapshot());
    }
  };
  // A snapshot holds one version of everything; what was in between comes back.
  fill_all();
  std::vector<strings::snapshot> more;
  const auto hold_all = [&] {
    for (char with = 'A'; with <= 'Z'; ++with) {
      fill(with);
      more.push_back(all.take_snapshot());
    }
  };
  EXPECT_THROW(hold_all(), out_of_space);
  std::map<std::string, std::string> found;
  all.for_each([&](std::string_view key, std::string_view value) { found.emplace(key, value); });
  EXPECT_EQ(found, model);
  found.clear();
  for (auto at = then->iterate(); at.is_valid(); at.next()) found.emplace(at.key(), at.value());
  EXPECT_EQ(found, expected);
  more.clear();
  EXPECT_TRUE(all.collect());
  fill('!');
  EXPECT_EQ(all.check(), "");
}

/// What only this process has: a function behind a pointer.
class collation {
 public:
  explicit collation(bool (*is_less)(std::string_view, std::string_view)) : is_less_(is_less) {}
  bool operator()(std::string_view a, std::string_view b) const { return is_less_(a, b); }

 private:
  bool (*is_less_)(std::string_view, std::string_view);
};
bool descending(std::string_view a, std::string_view b) { return b < a; }
bool without_case(std::string_view a, std::string_view b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [](unsigned char left, unsigned char right) {
                                        return std::tolower(left) < std::tolower(right);
                                      });
}

template <class Engine>
class OrderOfRunTime : public testing::Test {};
using engines_of_orders = testing::Types<left_right<D>, redo_opt<D>, cx_ptm<D>>;
TYPED_TEST_SUITE(OrderOfRunTime, engines_of_orders);

TYPED_TEST(OrderOfRunTime, is_given_again_at_each_opening) {
  using tree =
      managed_tree<TypeParam, containers::bplus_tree<std::string, std::string, collation, 6>>;
  pool_file pool;
  constexpr options small{.replica_bytes = std::size_t{2} << 20};
  {
    tree down(*pool, "down", small, collation(descending));
    tree same(*pool, "same", small, collation(without_case));
    for (int n = 100; n < 200; ++n) {
      EXPECT_TRUE(down.put("Key " + std::to_string(n), "1"));
      EXPECT_TRUE(same.put("Key " + std::to_string(n), "1"));
      EXPECT_FALSE(same.put("kEY " + std::to_string(n), "2"));
    }
    EXPECT_EQ(same.get("KEY 150"), "2");
    EXPECT_EQ(down.get("KEY 150"), std::nullopt);
    EXPECT_EQ(down.check() + same.check(), "");
  }
  pool.abandon();
  pool.open();
  tree down(*pool, "down", small, collation(descending));
  EXPECT_EQ(down.check(), "");
  EXPECT_EQ(down.size(), 100U);
  const auto then = down.take_snapshot();
  EXPECT_TRUE(down.erase("Key 150"));
  auto at = then.iterate();
  EXPECT_EQ(at.key(), "Key 199");
  at.seek("Key 150");
  EXPECT_EQ(at.key(), "Key 150");
  at.next();
  EXPECT_EQ(at.key(), "Key 149");
  EXPECT_TRUE(then.contains("Key 150"));
  EXPECT_FALSE(down.contains("Key 150"));
}

}  // namespace
}  // namespace outlast::containers
