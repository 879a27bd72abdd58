// Goal: a B+-tree is an ordered map in every version of which there is a snapshot, and all blocks
// that snapshots kept are freed. Method: random operations against std::map, with snapshots that
// are opened and closed at random, each compared completely with a copy of the model; pages so
// small that all of them change.
#include <outlast/containers/bplus_tree.hpp>
#include <outlast/tx/heap.hpp>
#include <outlast/tx/transient.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::containers {
namespace {

using namespace tx;

using number = std::uint64_t;

/// Keys and values of a test, by number.
template <class T>
T made_of(number n);
template <>
number made_of<number>(number n) {
  return n;
}
/// Of any length, also none; those of different numbers differ.
template <>
std::string made_of<std::string>(number n) {
  if (n == 0) return "";
  std::mt19937_64 random(n);
  std::string text(random() % 30, '\0');
  for (char& each : text) each = static_cast<char>(random());
  return text + std::to_string(n);
}

/// A tree in a manager of its own, its model, and their snapshots.
template <class Tree>
class BplusTree : public testing::Test {
 protected:
  using key_type = typename Tree::key_type;
  using mapped_type = typename Tree::mapped_type;
  using model_type = std::map<key_type, mapped_type>;
  using kept_type = std::pair<typename Tree::snapshot, model_type>;
  using content_type = typename Tree::content;

  std::size_t bytes_in_use() {
    return manager_.read([](const_view) { return heap(running()).bytes_in_use(); });
  }

  void random_change(std::mt19937_64& random) {
    const key_type at = made_of<key_type>(random() % 150);
    const mapped_type to = made_of<mapped_type>(random() % 1000);
    manager_.update(tree_, [&](Tree& t) {
      switch (random() % 5) {
        case 0: ASSERT_EQ(t.insert(at, to), model_.emplace(at, to).second); break;
        case 1: ASSERT_EQ(t.put(at, to), model_.insert_or_assign(at, to).second); break;
        case 2:
          ASSERT_EQ(t.update(at, to), model_.count(at) != 0);
          if (model_.count(at) != 0) model_[at] = to;
          break;
        default: ASSERT_EQ(t.erase(at), model_.erase(at) != 0);
      }
    });
  }

  void open() {
    kept_.emplace_back(manager_.update(tree_, [](Tree& t) { return t.open_snapshot(); }), model_);
  }
  void close(std::size_t i) {
    const auto gone = kept_.at(i).first;
    manager_.update(tree_, [=](Tree& t) { t.close_snapshot(gone); });
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  void reap(std::size_t limit) {
    manager_.update(tree_, [=](Tree& t) { return t.reap(limit); });
  }

  static void expect_equal(const content_type& found, const model_type& expected) {
    model_type all;
    found.for_each([&](const auto& at, const auto& held) { all.emplace(at, held); });
    ASSERT_EQ(all, expected);
    ASSERT_EQ(found.size(), expected.size());
  }
  void expect_all_right() {
    manager_.read(tree_, [&](const Tree& t) {
      ASSERT_EQ(t.check(), "");
      expect_equal(t.now(), model_);
      for (const auto& [then, expected] : kept_) expect_equal(t.at(then), expected);
    });
  }

  transient manager_{{.replica_bytes = std::size_t{8} << 20}};
  root<Tree> tree_ = manager_.template root<Tree>("tree");
  std::size_t empty_ = bytes_in_use();
  model_type model_;
  std::vector<kept_type> kept_;
};

template <class Key, class Value, std::size_t Fanout>
using tree = bplus_tree<Key, Value, roots::default_order<Key>, Fanout>;
using trees = testing::Types<tree<number, number, 4>, tree<std::string, std::string, 5>,
                             tree<std::string, number, 31>, tree<number, std::string, 6>>;
TYPED_TEST_SUITE(BplusTree, trees);

TYPED_TEST(BplusTree, is_what_it_was_in_every_snapshot) {
  std::mt19937_64 random(31);
  for (int step = 0; step < 6000; ++step) {
    this->random_change(random);
    if (random() % 20 == 0 && this->kept_.size() < 12) this->open();
    if (random() % 25 == 0 && !this->kept_.empty()) this->close(random() % this->kept_.size());
    if (random() % 4 == 0) this->reap(random() % 8);
    if (step % 50 == 0) this->expect_all_right();
  }
  this->expect_all_right();
  while (!this->kept_.empty()) this->close(random() % this->kept_.size());
  this->reap(1'000'000);
  this->expect_all_right();
  this->manager_.update(this->tree_, [&](TypeParam& t) {
    for (const auto& [at, held] : this->model_) ASSERT_TRUE(t.erase(at));
  });
  EXPECT_EQ(this->bytes_in_use(), this->empty_);
}

TYPED_TEST(BplusTree, gives_back_what_snapshots_held_when_all_are_closed) {
  std::mt19937_64 random(32);
  for (int i = 0; i < 500; ++i) this->random_change(random);
  const std::size_t before = this->bytes_in_use();
  for (int i = 0; i < 30; ++i) this->open();
  EXPECT_EQ(this->bytes_in_use(), before + 32) << "snapshots of one moment are one";
  // Whatever is changed is what it was at the end.
  const auto all = this->model_;
  for (const auto& [at, held] : all) {
    this->manager_.update(this->tree_, [&](TypeParam& t) {
      t.erase(at);
      t.insert(at, held);
    });
    this->open();
  }
  EXPECT_GT(this->bytes_in_use(), before);
  this->kept_.clear();
  this->manager_.update(this->tree_, [](TypeParam& t) { t.close_all_snapshots(); });
  while (this->manager_.update(this->tree_, [](TypeParam& t) { return t.reap(3); })) continue;
  this->expect_all_right();
  EXPECT_FALSE(
      this->manager_.read(this->tree_, [](const TypeParam& t) { return t.keeps_versions(); }));
  for (const auto& [at, held] : all) {
    this->manager_.update(this->tree_, [&](TypeParam& t) { t.erase(at); });
  }
  EXPECT_EQ(this->bytes_in_use(), this->empty_);
}

TYPED_TEST(BplusTree, copies_nothing_when_no_snapshot_is_open) {
  std::mt19937_64 random(33);
  for (int i = 0; i < 300; ++i) this->random_change(random);
  const auto [at, held] = *this->model_.begin();
  const std::size_t before = this->bytes_in_use();
  for (int i = 0; i < 100; ++i) {
    this->manager_.update(this->tree_, [&](TypeParam& t) { t.put(at, held); });
  }
  EXPECT_EQ(this->bytes_in_use(), before);
}

TYPED_TEST(BplusTree, walks_both_ways_from_any_key) {
  using any_key = typename TypeParam::key_type;
  std::mt19937_64 random(34);
  for (int i = 0; i < 400; ++i) this->random_change(random);
  const auto& all = this->model_;
  this->manager_.read(this->tree_, [&](const TypeParam& t) {
    for (number n = 0; n < 150; ++n) {
      const any_key from = made_of<any_key>(n);
      std::vector<any_key> found;
      const auto take = [&](const auto& at, const auto&) {
        found.emplace_back(at);
        return found.size() < 5;
      };
      const auto expect = [&](auto first, auto last) {
        std::vector<any_key> expected;
        for (; first != last && expected.size() < 5; ++first) expected.push_back(first->first);
        EXPECT_EQ(found, expected);
        found.clear();
      };
      t.now().ascend_from(from, take);
      expect(all.lower_bound(from), all.end());
      t.now().ascend_after(from, take);
      expect(all.upper_bound(from), all.end());
      t.now().descend_from(from, take);
      expect(std::make_reverse_iterator(all.upper_bound(from)), all.rend());
      t.now().descend_before(from, take);
      expect(std::make_reverse_iterator(all.lower_bound(from)), all.rend());
      t.now().ascend(take);
      expect(all.begin(), all.end());
      t.now().descend(take);
      expect(all.rbegin(), all.rend());
      const auto bound = t.now().lower_bound(from);
      const auto known = all.lower_bound(from);
      ASSERT_EQ(bound.has_value(), known != all.end());
      if (bound) {
        EXPECT_EQ(any_key(bound->key), known->first);
      }
    }
  });
}

TYPED_TEST(BplusTree, takes_keys_in_order_and_gives_them_back_in_order) {
  using any_key = typename TypeParam::key_type;
  std::vector<any_key> keys;
  for (number n = 0; n < 2000; ++n) keys.push_back(made_of<any_key>(n));
  std::sort(keys.begin(), keys.end());
  const auto insert_all = [&](TypeParam& t) {
    for (const any_key& each : keys) ASSERT_TRUE(t.insert(each, {}));
    ASSERT_EQ(t.check(), "");
  };
  const auto erase_all = [&](TypeParam& t) {
    for (const any_key& each : keys) ASSERT_TRUE(t.erase(each));
    ASSERT_EQ(t.check(), "");
  };
  this->manager_.update(this->tree_, insert_all);
  this->manager_.update(this->tree_, erase_all);
  std::reverse(keys.begin(), keys.end());
  this->manager_.update(this->tree_, insert_all);
  this->manager_.update(this->tree_, erase_all);
  EXPECT_EQ(this->bytes_in_use(), this->empty_);
}

TYPED_TEST(BplusTree, is_not_changed_by_what_fails) {
  std::mt19937_64 random(35);
  for (int i = 0; i < 300; ++i) this->random_change(random);
  this->open();
  this->manager_.update(this->tree_, [](TypeParam& t) {
    EXPECT_FALSE(t.erase(made_of<typename TypeParam::key_type>(999)));
  });
  const auto fails = [&](TypeParam& t) {
    for (int i = 0; i < 50; ++i) t.put(made_of<typename TypeParam::key_type>(random() % 150), {});
    static_cast<void>(t.open_snapshot());
    t.close_snapshot(this->kept_.front().first);
    t.reap(1000);
    throw 1;
  };
  EXPECT_THROW(this->manager_.update(this->tree_, fails), int);
  this->expect_all_right();
}

TEST(BplusTreeOfStrings, copies_a_string_of_its_own) {
  using map = tree<std::string, std::string, 4>;
  transient manager({.replica_bytes = std::size_t{1} << 20});
  const auto all = manager.root<map>("tree");
  manager.update(all, [](map& t) {
    for (number n = 1; n < 200; ++n) {
      t.put(std::to_string(n), "value " + std::to_string(n));
      t.put("new " + std::to_string(n), *t.get(std::to_string(n)));
      t.put(t.now().lower_bound(std::to_string(n))->key, *t.get("new " + std::to_string(n)));
    }
  });
  manager.read(all, [](const map& t) {
    for (number n = 1; n < 200; ++n) {
      EXPECT_EQ(t.get(std::to_string(n)), "value " + std::to_string(n));
      EXPECT_EQ(t.get("new " + std::to_string(n)), "value " + std::to_string(n));
    }
  });
  manager.update(all, [](map& t) {
    while (t.size() != 0) EXPECT_TRUE(t.erase(t.now().lower_bound("")->key));
  });
}

TEST(BplusTreeOfNumbers, can_be_ordered_otherwise) {
  using map = bplus_tree<number, number, std::greater<>, 4>;
  transient manager({.replica_bytes = std::size_t{1} << 20});
  const auto all = manager.root<map>("tree");
  std::vector<number> found;
  manager.update(all, [&](map& t) {
    for (number n = 0; n < 50; ++n) t.insert(n, n);
    EXPECT_EQ(t.check(), "");
    t.for_each([&](number key, number) { found.push_back(key); });
  });
  EXPECT_EQ(found.size(), 50U);
  EXPECT_TRUE(std::is_sorted(found.rbegin(), found.rend()));
}

/// An order that has a state, and no default: of strings, by what `rank` gives their first bytes.
struct by_rank {
  std::shared_ptr<std::map<char, int>> rank;
  bool shortens = false;

  bool operator()(std::string_view a, std::string_view b) const {
    return std::lexicographical_compare(
        a.begin(), a.end(), b.begin(), b.end(),
        [this](char left, char right) { return rank->at(left) < rank->at(right); });
  }
  /// The shortest prefix of `high` that is above `low`.
  [[nodiscard]] std::string_view between(std::string_view low, std::string_view high) const {
    if (!shortens) return high;
    std::size_t length = 1;
    while (!(*this)(low, high.substr(0, length))) ++length;
    return high.substr(0, length);
  }
};

/// Random changes against a model in the same order. The most blocks that the tree had.
std::size_t change_in_order(const by_rank& order) {
  using map = bplus_tree<std::string, number, by_rank, 4>;
  transient manager({.replica_bytes = std::size_t{4} << 20});
  const auto all = manager.root<map>("tree");
  std::map<std::string, number, by_rank> model(order);
  std::mt19937_64 random(11);
  std::size_t most = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string key;
    for (std::uint64_t length = random() % 30; length > 0; --length) key += "abc"[random() % 3];
    const number value = random();
    const bool to_erase = random() % 3 == 0;
    const bool is_there = model.count(key) != 0;
    if (to_erase) {
      model.erase(key);
    } else {
      model[key] = value;
    }
    manager.update(all, [&](map& t) {
      if (to_erase) {
        EXPECT_EQ(t.erase(key, order), is_there);
      } else {
        EXPECT_EQ(t.put(key, value, order), !is_there);
      }
      most = std::max(most, t.blocks());
    });
  }
  manager.read(all, [&](const map& t) {
    EXPECT_EQ(t.check(order), "");
    std::map<std::string, number, by_rank> found(order);
    t.for_each([&](std::string_view key, number value) { found.emplace(key, value); }, order);
    EXPECT_EQ(found.size(), t.size());
    EXPECT_TRUE(std::equal(found.begin(), found.end(), model.begin(), model.end()));
    for (const auto& [key, value] : model) EXPECT_EQ(t.get(key, order), value);
    EXPECT_EQ(t.contains("ab", order), model.count("ab") != 0);
    const by_rank other{
        std::make_shared<std::map<char, int>>(std::map<char, int>{{'a', 0}, {'b', 1}, {'c', 2}})};
    EXPECT_NE(t.check(other), "") << "another order is noticed";
  });
  return most;
}

TEST(BplusTreeOfStrings, takes_an_order_of_run_time) {
  const auto rank =
      std::make_shared<std::map<char, int>>(std::map<char, int>{{'b', 0}, {'c', 1}, {'a', 2}});
  const std::size_t whole = change_in_order({.rank = rank});
  const std::size_t shorter = change_in_order({.rank = rank, .shortens = true});
  EXPECT_LT(shorter, whole) << "separators that fit into an item take no block";
}

}  // namespace
}  // namespace outlast::containers
