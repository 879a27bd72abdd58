// Goal: sequential structures do under every engine what their models of the standard library do.
// Method: the same random operations on both, each in a transaction of its own; after them the
// memory that they gave back is all that there is.
#include <outlast/containers/array.hpp>
#include <outlast/containers/bplus_tree.hpp>
#include <outlast/containers/hash_map.hpp>
#include <outlast/containers/list_set.hpp>
#include <outlast/containers/queue.hpp>
#include <outlast/containers/red_black_tree.hpp>
#include <outlast/containers/stack.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/tx/baselines/cx_ptm.hpp>
#include <outlast/tx/baselines/redo.hpp>
#include <outlast/tx/left_right.hpp>
#include <outlast/tx/redo_opt.hpp>
#include <outlast/tx/transient.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::test {
namespace {

using number = std::uint64_t;

constexpr tx::options space{.replica_bytes = std::size_t{4} << 20};

/// A manager, and what it lies in.
template <class Manager>
struct made_in_pool {
  temp_pool<domain::process> pool;
  Manager manager{*pool, "subject", space};
};
struct made_transient {
  tx::transient manager{space};
};

template <class Made>
class TransactionContract : public testing::Test {
 protected:
  auto& manager() { return made_.manager; }

  /// Structures that hold nothing leave nothing but themselves.
  std::size_t bytes_in_use() {
    return manager().read([](tx::const_view) { return tx::heap(tx::running()).bytes_in_use(); });
  }

  /// A map against std::map, by 3,000 random operations.
  template <class Map>
  void expect_a_map(const char* name) {
    const auto map = manager().template root<Map>(name);
    std::map<number, number> model;
    std::mt19937_64 random(11);
    for (number step = 0; step < 3000; ++step) {
      const number key = random() % 200;
      switch (random() % 6) {
        case 0:
        case 1:
          ASSERT_EQ(manager().update(map, [=](Map& m) { return m.insert(key, step); }),
                    model.emplace(key, step).second);
          break;
        case 2:
          ASSERT_EQ(manager().update(map, [=](Map& m) { return m.put(key, step); }),
                    model.insert_or_assign(key, step).second);
          break;
        case 3:
          ASSERT_EQ(manager().update(map, [=](Map& m) { return m.update(key, step); }),
                    model.count(key) != 0);
          if (model.count(key) != 0) model[key] = step;
          break;
        case 4:
          ASSERT_EQ(manager().update(map, [=](Map& m) { return m.erase(key); }),
                    model.erase(key) != 0);
          break;
        default: {
          const auto found = model.find(key);
          const auto expected =
              found == model.end() ? std::nullopt : std::optional<number>(found->second);
          ASSERT_EQ(manager().read(map, [=](const Map& m) { return m.get(key); }), expected);
          ASSERT_EQ(manager().read(map, [=](const Map& m) { return m.contains(key); }),
                    expected.has_value());
        }
      }
      if (step % 100 == 0) expect_content(map, model);
    }
    expect_content(map, model);
    manager().update(map, [](Map& m) {
      for (number key = 0; key < 200; ++key) m.erase(key);
    });
    expect_content(map, {});
  }

  /// A map of strings against std::map, by 3,000 random operations; empty again at the end.
  template <class Map>
  void expect_a_map_of_strings(const char* name) {
    const auto map = manager().template root<Map>(name);
    std::map<std::string, std::string> model;
    std::mt19937_64 random(21);
    for (int step = 0; step < 3000; ++step) {
      const std::string key = bytes_of(random() % 100);
      const std::string value = bytes_of(random());
      switch (random() % 6) {
        case 0:
        case 1:
          ASSERT_EQ(manager().update(map, [=](Map& m) { return m.insert(key, value); }),
                    model.emplace(key, value).second);
          break;
        case 2:
          ASSERT_EQ(manager().update(map, [=](Map& m) { return m.put(key, value); }),
                    model.insert_or_assign(key, value).second);
          break;
        case 3:
          ASSERT_EQ(manager().update(map, [=](Map& m) { return m.update(key, value); }),
                    model.count(key) != 0);
          if (model.count(key) != 0) model[key] = value;
          break;
        case 4:
          ASSERT_EQ(manager().update(map, [=](Map& m) { return m.erase(key); }),
                    model.erase(key) != 0);
          break;
        default: {
          const auto known = model.find(key);
          manager().read(map, [&](const Map& m) {
            const std::optional<std::string_view> found = m.get(key);
            ASSERT_EQ(found.has_value(), known != model.end());
            if (found) {
              ASSERT_EQ(*found, known->second);
            }
            ASSERT_EQ(m.contains(key), found.has_value());
          });
        }
      }
      if (step % 100 == 0) expect_strings(map, model);
    }
    expect_strings(map, model);
    for (const auto& each : model) {
      ASSERT_TRUE(manager().update(map, [key = each.first](Map& m) { return m.erase(key); }));
    }
    expect_strings(map, {});
  }

  template <class Map>
  void expect_strings(tx::root<Map> map, const std::map<std::string, std::string>& model) {
    std::map<std::string, std::string> found;
    manager().read(map, [&](const Map& m) {
      m.for_each([&](std::string_view key, std::string_view value) { found.emplace(key, value); });
      if constexpr (requires { m.check(); }) {
        EXPECT_EQ(m.check(), "");
      }
      EXPECT_EQ(m.size(), model.size());
    });
    EXPECT_EQ(found, model);
  }

  /// From none to 79 bytes, a few times 6,000: always the same of one number.
  static std::string bytes_of(number of) {
    std::mt19937_64 random(of);
    std::string bytes(random() % 40 == 0 ? 6000 : random() % 80, '\0');
    for (char& each : bytes) each = static_cast<char>(random());
    return bytes;
  }

  template <class Map>
  void expect_content(tx::root<Map> map, const std::map<number, number>& model) {
    std::map<number, number> found;
    manager().read(map, [&](const Map& m) {
      m.for_each([&](number key, number value) { found.emplace(key, value); });
      if constexpr (requires { m.check(); }) {
        EXPECT_EQ(m.check(), "");
      }
      EXPECT_EQ(m.size(), model.size());
    });
    EXPECT_EQ(found, model);
  }

 private:
  Made made_;
};

using engines = testing::Types<
    made_in_pool<tx::left_right<domain::process>>, made_in_pool<tx::redo<domain::process>>,
    made_in_pool<tx::redo_timed<domain::process>>, made_in_pool<tx::redo_opt<domain::process>>,
    made_in_pool<tx::cx_ptm<domain::process>>, made_transient>;
TYPED_TEST_SUITE(TransactionContract, engines);

TYPED_TEST(TransactionContract, red_black_tree_is_an_ordered_map) {
  using map = containers::red_black_tree<number, number>;
  const auto before = this->manager().template root<map>("tree");
  const std::size_t empty = this->bytes_in_use();
  this->template expect_a_map<map>("tree");
  EXPECT_EQ(this->bytes_in_use(), empty) << before.offset;
}

/// Pages that are always about to be split or merged.
template <class T>
using small_bplus_tree = containers::bplus_tree<T, T, roots::default_order<T>, 4>;

TYPED_TEST(TransactionContract, bplus_tree_is_an_ordered_map) {
  using map = small_bplus_tree<number>;
  static_cast<void>(this->manager().template root<map>("tree"));
  const std::size_t empty = this->bytes_in_use();
  this->template expect_a_map<map>("tree");
  EXPECT_EQ(this->bytes_in_use(), empty);
}

TYPED_TEST(TransactionContract, bplus_tree_of_strings_is_an_ordered_map) {
  using map = small_bplus_tree<std::string>;
  static_cast<void>(this->manager().template root<map>("tree"));
  const std::size_t empty = this->bytes_in_use();
  this->template expect_a_map_of_strings<map>("tree");
  EXPECT_EQ(this->bytes_in_use(), empty);
}

TYPED_TEST(TransactionContract, bplus_tree_with_wide_pages_is_an_ordered_map) {
  this->template expect_a_map<containers::bplus_tree<number, number>>("tree");
  this->template expect_a_map_of_strings<containers::bplus_tree<std::string, std::string>>(
      "strings");
}

TYPED_TEST(TransactionContract, hash_map_is_a_map) {
  this->template expect_a_map<containers::hash_map<number, number>>("table");
}

TYPED_TEST(TransactionContract, red_black_tree_of_strings_is_an_ordered_map) {
  using map = containers::red_black_tree<std::string, std::string>;
  static_cast<void>(this->manager().template root<map>("tree"));
  const std::size_t empty = this->bytes_in_use();
  this->template expect_a_map_of_strings<map>("tree");
  EXPECT_EQ(this->bytes_in_use(), empty);
}

TYPED_TEST(TransactionContract, hash_map_of_strings_is_a_map) {
  using map = containers::hash_map<std::string, std::string>;
  const auto table = this->manager().template root<map>("table");
  this->template expect_a_map_of_strings<map>("table");
  const std::size_t empty = this->bytes_in_use();  // but for its buckets
  this->manager().update(table, [](map& m) {
    for (int i = 0; i < 20; ++i) m.put(std::to_string(i), std::string(100, 'v'));
  });
  this->manager().update(table, [](map& m) {
    for (int i = 0; i < 20; ++i) m.erase(std::to_string(i));
  });
  EXPECT_EQ(this->bytes_in_use(), empty);
}

TYPED_TEST(TransactionContract, one_of_key_and_value_may_be_a_string) {
  using names = containers::red_black_tree<number, std::string>;
  using numbers = containers::hash_map<std::string, number>;
  const auto by_number = this->manager().template root<names>("names");
  const auto by_name = this->manager().template root<numbers>("numbers");
  const std::string name(50, 'n');
  this->manager().update([=](tx::view in) {
    in[by_number].insert(7, name);
    in[by_name].insert(*in[by_number].get(7), 7);
  });
  EXPECT_EQ(this->manager().read(by_name, [=](const numbers& m) { return m.get(name); }), 7U);
}

TYPED_TEST(TransactionContract, red_black_tree_of_strings_is_ordered_by_unsigned_bytes) {
  using map = containers::red_black_tree<std::string, number>;
  const auto tree = this->manager().template root<map>("tree");
  const std::vector<std::string> ascending = {
      "", std::string(1, '\0'), std::string(2, '\0'), "a", "aa", "b", "\x7f", "\x80", "\xff"};
  this->manager().update(tree, [=](map& m) {
    for (auto each = ascending.rbegin(); each != ascending.rend(); ++each) m.insert(*each, 0);
  });
  std::vector<std::string> found;
  this->manager().read(tree, [&](const map& m) {
    m.for_each([&](std::string_view key, number) { found.emplace_back(key); });
  });
  EXPECT_EQ(found, ascending);
}

TYPED_TEST(TransactionContract, a_string_can_be_copied_within_its_map) {
  using map = containers::hash_map<std::string, std::string>;
  const auto table = this->manager().template root<map>("table");
  const std::string held = std::string(30, 'a') + std::string(30, 'b');
  this->manager().update(table, [=](map& m) {
    m.put("one", held);
    m.put("other", *m.get("one"));
    m.put("one", m.get("one")->substr(30));
    m.put(*m.get("one"), "");
  });
  this->manager().read(table, [&](const map& m) {
    EXPECT_EQ(m.get("one"), std::string(30, 'b'));
    EXPECT_EQ(m.get("other"), held);
    EXPECT_EQ(m.get(std::string(30, 'b')), "");
  });
}

TYPED_TEST(TransactionContract, a_string_for_which_there_is_no_room_changes_nothing) {
  using map = containers::red_black_tree<std::string, std::string>;
  const auto tree = this->manager().template root<map>("tree");
  std::map<std::string, std::string> model;
  const auto fill = [&] {
    for (int i = 0;; ++i) {
      const std::string key = "key number " + std::to_string(i) + " of very many keys";
      const std::string value(9000, static_cast<char>('a' + i % 26));
      this->manager().update(tree, [=](map& m) { return m.put(key, value); });
      model[key] = value;
    }
  };
  EXPECT_THROW(fill(), out_of_space);
  this->expect_strings(tree, model);
  const std::string first = model.begin()->first;
  const std::string too_much(std::size_t{1} << 20, 'x');
  const auto replace = [=](map& m) { return m.update(first, too_much); };
  EXPECT_THROW(this->manager().update(tree, replace), out_of_space);
  this->expect_strings(tree, model);
  EXPECT_TRUE(this->manager().update(tree, [=](map& m) { return m.erase(first); }));
  EXPECT_TRUE(this->manager().update(tree, [=](map& m) { return m.put(first, "again"); }));
}

TYPED_TEST(TransactionContract, red_black_tree_visits_in_order) {
  using map = containers::red_black_tree<number, number>;
  const auto tree = this->manager().template root<map>("tree");
  std::mt19937_64 random(3);
  std::set<number> model;
  for (int i = 0; i < 500; ++i) {
    const number key = random();
    model.insert(key);
    this->manager().update(tree, [=](map& m) { return m.insert(key, key); });
  }
  std::vector<number> found;
  this->manager().read(
      tree, [&](const map& m) { m.for_each([&](number key, number) { found.push_back(key); }); });
  EXPECT_EQ(found, std::vector<number>(model.begin(), model.end()));
}

TYPED_TEST(TransactionContract, list_set_is_an_ordered_set) {
  using set = containers::list_set<number>;
  const auto list = this->manager().template root<set>("list");
  const std::size_t empty = this->bytes_in_use();
  std::set<number> model;
  std::mt19937_64 random(12);
  for (int step = 0; step < 2000; ++step) {
    const number key = random() % 50;
    switch (random() % 3) {
      case 0:
        ASSERT_EQ(this->manager().update(list, [=](set& s) { return s.insert(key); }),
                  model.insert(key).second);
        break;
      case 1:
        ASSERT_EQ(this->manager().update(list, [=](set& s) { return s.erase(key); }),
                  model.erase(key) != 0);
        break;
      default:
        ASSERT_EQ(this->manager().read(list, [=](const set& s) { return s.contains(key); }),
                  model.count(key) != 0);
    }
  }
  std::vector<number> found;
  this->manager().read(
      list, [&](const set& s) { s.for_each([&](number key) { found.push_back(key); }); });
  EXPECT_EQ(found, std::vector<number>(model.begin(), model.end()));
  this->manager().update(list, [](set& s) {
    for (number key = 0; key < 50; ++key) s.erase(key);
  });
  EXPECT_EQ(this->bytes_in_use(), empty);
}

TYPED_TEST(TransactionContract, queue_and_stack_give_back_what_they_take) {
  using queue = containers::queue<number>;
  using stack = containers::stack<number>;
  const auto line = this->manager().template root<queue>("queue");
  const auto pile = this->manager().template root<stack>("stack");
  const std::size_t empty = this->bytes_in_use();
  std::deque<number> model;
  std::mt19937_64 random(13);
  for (number step = 0; step < 2000; ++step) {
    if (random() % 2 == 0) {
      this->manager().update(line, [=](queue& q) { q.push(step); });
      model.push_back(step);
    } else {
      const auto expected = model.empty() ? std::nullopt : std::optional<number>(model.front());
      ASSERT_EQ(this->manager().update(line, [](queue& q) { return q.pop(); }), expected);
      if (expected) model.pop_front();
    }
  }
  // Both in one transaction: what leaves the queue is on the stack.
  this->manager().update([=](tx::view in) {
    while (const std::optional<number> value = in[line].pop()) in[pile].push(*value);
  });
  EXPECT_TRUE(this->manager().read(line, [](const queue& q) { return q.empty(); }));
  while (!model.empty()) {
    ASSERT_EQ(this->manager().update(pile, [](stack& s) { return s.pop(); }), model.back());
    model.pop_back();
  }
  EXPECT_EQ(this->manager().update(pile, [](stack& s) { return s.pop(); }), std::nullopt);
  EXPECT_EQ(this->bytes_in_use(), empty);
}

TYPED_TEST(TransactionContract, array_swaps) {
  using array = containers::array<number>;
  const auto all = this->manager().template root<array>("array");
  std::vector<number> model(500);
  this->manager().update(all, [](array& a) {
    a.resize(500);
    for (number i = 0; i < 500; ++i) a.set(i, i);
  });
  for (number i = 0; i < 500; ++i) model[i] = i;
  std::mt19937_64 random(14);
  for (int step = 0; step < 1000; ++step) {
    const number one = random() % 500;
    const number other = random() % 500;
    this->manager().update(all, [=](array& a) { a.swap(one, other); });
    std::swap(model[one], model[other]);
  }
  for (number i = 0; i < 500; ++i) {
    ASSERT_EQ(this->manager().read(all, [=](const array& a) { return a.at(i); }), model[i]);
  }
  EXPECT_THROW(this->manager().update(all, [](array& a) { a.swap(0, 500); }), std::out_of_range);
}

TYPED_TEST(TransactionContract, a_failed_insertion_changes_nothing) {
  using map = containers::red_black_tree<number, number>;
  const auto tree = this->manager().template root<map>("tree");
  number key = 0;
  try {
    for (;; ++key) this->manager().update(tree, [=](map& m) { return m.insert(key, key); });
  } catch (const out_of_space&) {
  }
  EXPECT_EQ(this->manager().read(tree, [](const map& m) { return m.size(); }), key);
  EXPECT_TRUE(this->manager().read(tree, [](const map& m) { return m.check().empty(); }));
  EXPECT_TRUE(this->manager().update(tree, [](map& m) { return m.erase(0); }));
  EXPECT_TRUE(this->manager().update(tree, [=](map& m) { return m.insert(key, key); }));
}

}  // namespace
}  // namespace outlast::test
