// Goal: under cx_puc, classes without any change for transactions are durable, atomic and shared,
// also when an operation fails half way; classes that cannot be stored are rejected.
// Method: containers of the standard library, and a list with plain pointers; many threads; pools
// that are closed, abandoned, and mapped at another address.
#include <outlast/containers/baselines/puc_map.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/tx/baselines/cx_ptm.hpp>
#include <outlast/tx/baselines/cx_puc.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace outlast::tx {
namespace {

using D = domain::process;
using pool_file = test::temp_pool<D>;
using number = std::uint64_t;

constexpr options small{.replica_bytes = std::size_t{1} << 20};

/// A list as a textbook has it, in whatever memory `Allocate` gives.
template <class Allocate>
class textbook_list {
  struct node {
    number value;
    node* next;
  };

 public:
  textbook_list() = default;
  textbook_list(const textbook_list& other) {
    node** to = &first_;
    for (const node* at = other.first_; at != nullptr; at = at->next) {
      *to = ::new (Allocate::take(sizeof(node))) node{at->value, nullptr};
      to = &(*to)->next;
    }
    size_ = other.size_;
  }
  textbook_list& operator=(const textbook_list&) = delete;
  ~textbook_list() {
    while (first_ != nullptr) pop();
  }

  void push(number value) {
    first_ = ::new (Allocate::take(sizeof(node))) node{value, first_};
    ++size_;
  }
  std::optional<number> pop() {
    if (first_ == nullptr) return std::nullopt;
    node* const gone = std::exchange(first_, first_->next);
    const number value = gone->value;
    Allocate::give_back(gone);
    --size_;
    return value;
  }
  [[nodiscard]] number size() const { return size_; }
  [[nodiscard]] number sum() const {
    number all = 0;
    for (const node* at = first_; at != nullptr; at = at->next) all += at->value;
    return all;
  }

 private:
  node* first_ = nullptr;
  number size_ = 0;
};

struct from_replica {
  static void* take(std::size_t bytes) { return alloc_bytes(bytes); }
  static void give_back(void* block) { free(block); }
};
using list = textbook_list<from_replica>;

using map = containers::replica_map<number, number>;

TEST(CxPuc, keeps_a_class_that_knows_nothing_of_it) {
  pool_file pool;
  {
    cx_puc<list, D> all(*pool, "all", small);
    for (number i = 1; i <= 100; ++i) all.update([=](list& l) { l.push(i); });
    EXPECT_EQ(all.update([](list& l) { return l.pop(); }), 100U);
    EXPECT_EQ(all.read([](const list& l) { return l.sum(); }), 4950U);
  }
  for (const bool clean : {false, true}) {
    clean ? pool.close() : pool.abandon();
    pool.open();
    cx_puc<list, D> all(*pool, "all");
    EXPECT_EQ(all.read([](const list& l) { return l.sum(); }), 4950U);
    for (unsigned i = 0; i < 4; ++i) {
      all.update([](list& l) { l.push(7); });
      EXPECT_EQ(all.update([](list& l) { return l.pop(); }), 7U);
    }
    EXPECT_EQ(all.read([](const list& l) { return l.size(); }), 99U);
  }
}

TEST(CxPuc, runs_containers_of_the_standard_library) {
  pool_file pool;
  containers::puc_map<map, D> tested(*pool, "map", small);
  std::map<number, number> model;
  std::mt19937_64 random(5);
  for (number step = 0; step < 3000; ++step) {
    const number key = random() % 100;
    switch (random() % 5) {
      case 0: ASSERT_EQ(tested.insert(key, step), model.emplace(key, step).second); break;
      case 1: ASSERT_EQ(tested.put(key, step), model.insert_or_assign(key, step).second); break;
      case 2: ASSERT_EQ(tested.erase(key), model.erase(key) != 0); break;
      case 3:
        ASSERT_EQ(tested.update(key, step), model.count(key) != 0);
        if (model.count(key) != 0) model[key] = step;
        break;
      default:
        ASSERT_EQ(tested.get(key).has_value(), model.count(key) != 0);
        ASSERT_EQ(tested.contains(key), model.count(key) != 0);
    }
  }
  std::map<number, number> found;
  tested.for_each([&](number key, number value) { found.emplace(key, value); });
  EXPECT_EQ(found, model);
  EXPECT_EQ(tested.size(), model.size());
}

TEST(CxPuc, keeps_strings_in_vectors) {
  using text = std::basic_string<char, std::char_traits<char>, replica_allocator<char>>;
  using lines = std::vector<text, replica_allocator<text>>;
  pool_file pool;
  {
    cx_puc<lines, D> all(*pool, "all", small);
    for (number i = 0; i < 50; ++i) {
      const std::string line(i * 10, static_cast<char>('a' + i % 26));
      all.update([=](lines& l) { l.emplace_back(line.begin(), line.end()); });
    }
  }
  pool.abandon();
  pool.open();
  cx_puc<lines, D> all(*pool, "all");
  all.update([](lines& l) { l.pop_back(); });
  all.read([](const lines& l) {
    ASSERT_EQ(l.size(), 49U);
    for (number i = 0; i < l.size(); ++i) {
      EXPECT_EQ(std::string(l[i].begin(), l[i].end()),
                std::string(i * 10, static_cast<char>('a' + i % 26)));
    }
  });
}

TEST(CxPuc, makes_a_replica_again_that_an_operation_has_left_in_pieces) {
  pool_file pool;
  cx_puc<map, D> all(*pool, "all", small);
  for (number i = 0; i < 20; ++i) all.update([=](map& m) { m.emplace(i, i); });
  const auto half = [](map& m) {
    m.erase(3);
    m[100] = 1;
    throw std::runtime_error("changed my mind");
  };
  for (unsigned i = 0; i < 10; ++i) {
    EXPECT_THROW(all.update(half), std::runtime_error);
    EXPECT_EQ(all.read([](const map& m) { return m.size(); }), 20U);
    EXPECT_EQ(all.read([](const map& m) { return m.count(3); }), 1U);
    EXPECT_TRUE(all.update([=](map& m) { return m.emplace(1000 + i, 0).second; }));
    EXPECT_EQ(all.update([=](map& m) { return m.erase(1000 + i); }), 1U);
  }
}

TEST(CxPuc, is_undone_where_there_is_no_room) {
  pool_file pool;
  cx_puc<map, D> all(*pool, "all", {.replica_bytes = 64 * 1024});
  number key = 0;
  EXPECT_THROW(
      {
        for (;; ++key) all.update([=](map& m) { m.emplace(key, key); });
      },
      out_of_space);
  EXPECT_EQ(all.read([](const map& m) { return m.size(); }), key);
  EXPECT_EQ(all.update([](map& m) { return m.erase(0); }), 1U);
  all.update([=](map& m) { m.emplace(key, key); });
}

TEST(CxPuc, fails_an_operation_for_want_of_room_whatever_it_makes_of_that) {
  pool_file pool;
  cx_puc<map, D> all(*pool, "all", {.replica_bytes = 64 * 1024});
  const auto fill = [](map& m) {
    try {
      for (number key = 0;; ++key) m.emplace(key, key);
    } catch (const std::bad_alloc&) {
      return m.size();  // depends on how blocks lie in this replica
    }
  };
  EXPECT_THROW(all.update(fill), out_of_space);
  EXPECT_EQ(all.read([](const map& m) { return m.size(); }), 0U);
}

TEST(CxPuc, makes_calls_inside_of_an_operation_a_part_of_it) {
  pool_file pool;
  cx_puc<map, D> all(*pool, "all", small);
  cx_puc<map, D> other(*pool, "other", small);
  const auto nested = [&](map& m) {
    m[1] = 1;
    all.update([](map& inner) { inner[2] = 2; });
    return all.read([](const map& inner) { return inner.size(); });
  };
  EXPECT_EQ(all.update(nested), 2U);
  const auto write = [&](const map&) { all.update([](map& m) { m.clear(); }); };
  EXPECT_THROW(all.read(write), error);
  const auto foreign = [&](map&) { other.update([](map& m) { m.clear(); }); };
  EXPECT_THROW(all.update(foreign), error);
  EXPECT_THROW(static_cast<void>(replica_allocator<int>().allocate(1)), error)
      << "outside of an operation";
  EXPECT_EQ(all.read([](const map& m) { return m.size(); }), 2U);
}

TEST(CxPuc, loses_nothing_in_200_threads) {
  pool_file pool;
  cx_puc<map, D> all(*pool, "all", small);
  constexpr unsigned threads = 200;
  constexpr unsigned rounds = 4;
  {
    std::vector<std::jthread> crew;
    for (unsigned t = 0; t < threads; ++t) {
      crew.emplace_back([&, t] {
        for (unsigned i = 0; i < rounds; ++i) {
          try {
            all.update([=](map& m) {
              m[t % 16] += 1;
              if (t % 10 == 0) throw i;
            });
          } catch (unsigned) {
          }
        }
      });
    }
  }
  const number sum = all.read([](const map& m) {
    number found = 0;
    for (const auto& [key, value] : m) found += value;
    return found;
  });
  EXPECT_EQ(sum, threads / 10 * 9 * rounds);
}

TEST(CxPuc, finishes_the_operation_of_a_thread_that_stops_in_it) {
  pool_file pool;
  cx_puc<list, D> all(*pool, "all", {.replica_bytes = std::size_t{1} << 20, .replicas = 6});
  std::atomic<bool> has_stopped = false;
  std::atomic<bool> goes_on = false;
  std::jthread stopped([&] {
    const auto mine = std::this_thread::get_id();
    all.update([=, &has_stopped, &goes_on](list& l) {
      l.push(1);
      if (std::this_thread::get_id() == mine) {
        has_stopped = true;
        while (!goes_on) std::this_thread::yield();
      }
    });
  });
  while (!has_stopped) std::this_thread::yield();
  for (unsigned i = 0; i < 1500; ++i) all.update([](list& l) { l.push(1); });
  EXPECT_EQ(all.read([](const list& l) { return l.size(); }), 1501U);
  goes_on = true;
  stopped.join();
  EXPECT_EQ(all.read([](const list& l) { return l.sum(); }), 1501U);
}

TEST(CxPuc, reads_see_one_moment) {
  pool_file pool;
  cx_puc<map, D> all(*pool, "all", {.replica_bytes = std::size_t{1} << 20, .replicas = 8});
  std::atomic<bool> over = false;
  std::vector<std::jthread> writers;
  for (unsigned t = 0; t < 2; ++t) {
    writers.emplace_back([&] {
      for (number i = 0; !over; ++i) {
        all.update([=](map& m) {
          if (m.size() >= 32) m.clear();
          const number next = m.size();
          m[2 * i] = next;
          m[2 * i + 1] = next;
        });
      }
    });
  }
  for (unsigned i = 0; i < 1000; ++i) {
    all.read([](const map& m) {
      number sum = 0;
      for (const auto& [key, value] : m) sum ^= value;
      EXPECT_EQ(sum, 0U);
    });
  }
  over = true;
}

TEST(CxPuc, is_found_by_its_type_and_engine_alone) {
  pool_file pool;
  const auto expect_refused = [](auto&& open, const std::string& said) {
    try {
      open();
      ADD_FAILURE() << "opened";
    } catch (const error& refused) {
      EXPECT_EQ(refused.reason(), errc::root_type_mismatch);
      EXPECT_NE(std::string(refused.what()).find(said), std::string::npos) << refused.what();
    }
  };
  {
    const cx_puc<map, D> all(*pool, "all", small);
    EXPECT_THROW((cx_puc<map, D>(*pool, "all")), error) << "twice";
  }
  pool.close();
  pool.open();
  expect_refused([&] { const cx_ptm<D> all(*pool, "all"); }, "cx_puc, not to cx_ptm");
  expect_refused([&] { const cx_puc<list, D> all(*pool, "all"); }, "another type");
}

TEST(CxPuc, is_refused_where_its_pointers_would_lead_elsewhere) {
  pool_file pool;
  std::uintptr_t base = 0;
  {
    cx_puc<map, D> all(*pool, "all", small);
    base = pool->base();
    all.update([](map& m) { m[1] = 77; });
  }
  pool.close();
  pool.options().base_address = base + (std::uintptr_t{1} << 32);
  pool.open();
  ASSERT_NE(pool->base(), base);
  try {
    const cx_puc<map, D> all(*pool, "all");
    ADD_FAILURE() << "opened";
  } catch (const error& refused) {
    EXPECT_EQ(refused.reason(), errc::address_taken);
  }
  pool.close();
  pool.options().base_address = base;
  pool.open();
  cx_puc<map, D> all(*pool, "all");
  EXPECT_EQ(all.read([](const map& m) { return m.at(1); }), 77U);
}

TEST(CxPuc, says_what_the_first_construction_throws) {
  struct never {
    never() { throw std::runtime_error("never"); }
  };
  pool_file pool;
  EXPECT_THROW((cx_puc<never, D>(*pool, "all", small)), std::runtime_error);
  EXPECT_THROW((cx_puc<never, D>(*pool, "all", small)), std::runtime_error);
}

}  // namespace
}  // namespace outlast::tx
