// Goal: transactions that other processes read are whole, and no reader holds back their writer.
// Method: real processes that read, are stopped, are killed; and readers of a pool in memory, where
// each step of the protocol can be held.
#include <outlast/base/anonymous_memory.hpp>
#include <outlast/base/error.hpp>
#include <outlast/base/outside_readers.hpp>
#include <outlast/containers/hash_map.hpp>
#include <outlast/containers/managed_map.hpp>
#include <outlast/containers/map_reader.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/pool/any_domain.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/pool/pool_reader.hpp>
#include <outlast/pool/region.hpp>
#include <outlast/root/root_session.hpp>
#include <outlast/tx/baselines/redo.hpp>
#include <outlast/tx/field.hpp>
#include <outlast/tx/left_right.hpp>
#include <outlast/tx/manager.hpp>
#include <outlast/tx/options.hpp>
#include <outlast/tx/reader.hpp>
#include <outlast/tx/redo_opt.hpp>
#include <tests/support/reading_processes.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <signal.h>

namespace outlast {
namespace {

using test::eventually;
using test::failure_of;
using test::number;
using test::process;
using test::sentence_of;
using test::shared_memory;
using test::temp_directory;
using test::with_readers;

/// Amounts in many lines, whose sum never changes.
struct accounts {
  static constexpr std::size_t count = 40;
  struct alignas(64) one {
    tx::field<number> amount;
  };
  std::array<one, count> of;
  tx::field<number> moves;

  void fill() {
    for (one& each : of) each.amount = 100;
  }
  void move(number from, number to) {
    if (of.at(from).amount > 0) {
      of.at(from).amount -= number{1};
      of.at(to).amount += number{1};
    }
    ++moves;
  }
  [[nodiscard]] number sum() const {
    number all = 0;
    for (const one& each : of) all += each.amount;
    return all;
  }
};
constexpr number right_sum = 100 * accounts::count;

template <class Manager>
class bank {
 public:
  explicit bank(typename Manager::pool_type& pool, unsigned replicas = 4)
      : manager_(pool, "bank",
                 {.replica_bytes = std::size_t{1} << 20, .page_bytes = 4096, .replicas = replicas}),
        all_(manager_.template root<accounts>("accounts")) {
    manager_.update(all_, [](accounts& a) {
      if (a.sum() == 0) a.fill();
    });
  }
  void move(number step) {
    manager_.update(
        all_, [=](accounts& a) { a.move(step % accounts::count, step * 7 % accounts::count); });
  }
  [[nodiscard]] number moves() {
    return manager_.read(all_, [](const accounts& a) { return a.moves.get(); });
  }

 private:
  Manager manager_;
  tx::root<accounts> all_;
};

/// A bank as a reader has it.
template <class Manager>
class read_bank {
 public:
  explicit read_bank(typename tx::reader<Manager>::pool_reader& in)
      : manager_(in, "bank"), all_(manager_.template root<accounts>("accounts")) {}

  template <class F>
  auto read(F&& f) {
    return manager_.read(all_, f);
  }
  [[nodiscard]] bool is_right() {
    return read([](const accounts& a) { return a.sum(); }) == right_sum;
  }

 private:
  tx::reader<Manager> manager_;
  tx::root<accounts> all_;
};

using native_bank = bank<tx::redo_opt<>>;
using native_read_bank = read_bank<tx::redo_opt<>>;

int read_until(const std::string& path, shared_memory& shared) {
  pool_reader reader(path);
  native_read_bank view(reader);
  ++shared->ready;
  number last = 0;
  while (!shared->stop) {
    const auto [sum, moves] =
        view.read([](const accounts& a) { return std::array<number, 2>{a.sum(), a.moves.get()}; });
    if (sum != right_sum) return 1;
    if (moves < last) return 2;
    last = moves;
    ++shared->count;
  }
  return 0;
}

TEST(outside_transactions, are_read_whole_and_in_order) {
  temp_directory directory;
  const std::string path = directory.file("p");
  shared_memory shared;
  auto pool = pool::create(path, with_readers());
  native_bank money(pool);
  process first([&] { return read_until(path, shared); });
  process second([&] { return read_until(path, shared); });
  ASSERT_TRUE(eventually([&] { return shared->ready == 2; }));
  for (number step = 1; step <= 2000 || shared->count < 2000; ++step) money.move(step);
  shared->stop = true;
  EXPECT_EQ(first.end(), 0);
  EXPECT_EQ(second.end(), 0);
}

TEST(outside_transactions, that_have_returned_are_read) {
  temp_directory directory;
  const std::string path = directory.file("p");
  shared_memory shared;
  auto pool = pool::create(path, with_readers());
  native_bank money(pool);
  process reader([&] {
    pool_reader in(path);
    native_read_bank view(in);
    ++shared->ready;
    for (number asked = 1; asked <= 500; ++asked) {
      if (!eventually([&] { return shared->ready > asked || shared->stop; })) return 1;
      if (shared->stop) return 2;
      if (view.read([](const accounts& a) { return a.moves.get(); }) < asked) return 3;
      shared->count = asked;
    }
    return 0;
  });
  ASSERT_TRUE(eventually([&] { return shared->ready == 1; }));
  for (number step = 1; step <= 500; ++step) {
    money.move(step);
    ++shared->ready;
    ASSERT_TRUE(eventually([&] { return shared->count == step; }));
  }
  EXPECT_EQ(reader.end(), 0);
}

TEST(outside_transactions, go_on_beside_readers_that_are_stopped_in_the_middle) {
  temp_directory directory;
  const std::string path = directory.file("p");
  shared_memory shared;
  auto pool = pool::create(path, with_readers(16, 20));
  native_bank money(pool);
  const auto read_slowly = [&] {
    pool_reader in(path);
    native_read_bank view(in);
    const bool same = view.read([&](const accounts& a) {
      const number before = a.moves;
      ++shared->ready;
      (void)eventually([&] { return shared->stop.load(); });
      return a.moves == before && a.sum() == right_sum;
    });
    return same && view.is_right() ? 0 : 1;
  };
  process first(read_slowly);
  ASSERT_TRUE(eventually([&] { return shared->ready == 1; }));
  first.send(SIGSTOP);
  first.wait_until_stopped();
  number step = 0;
  for (int i = 0; i < 500; ++i) money.move(++step);
  process second(read_slowly);
  ASSERT_TRUE(eventually([&] { return shared->ready == 2; }));
  second.send(SIGSTOP);
  second.wait_until_stopped();
  for (int i = 0; i < 500; ++i) money.move(++step);
  // Two of four replicas are in use: a third reader is refused unless it can share one of them.
  process third([&] {
    pool_reader in(path, {.wait_ms = 50});
    const std::string text = sentence_of([&] { native_read_bank view(in); });
    return text.empty() || text.find("2 replicas") != std::string::npos ? 0 : 1;
  });
  EXPECT_EQ(third.end(), 0);
  EXPECT_EQ(money.moves(), step);
  shared->stop = true;
  first.send(SIGCONT);
  second.send(SIGCONT);
  EXPECT_EQ(first.end(), 0);
  EXPECT_EQ(second.end(), 0);
}

TEST(outside_transactions, forget_readers_that_were_killed) {
  temp_directory directory;
  const std::string path = directory.file("p");
  auto pool = pool::create(path, with_readers(4));
  native_bank money(pool);
  number step = 0;
  for (int killed = 0; killed < 20; ++killed) {
    shared_memory shared;
    process reader([&] {
      pool_reader in(path);
      native_read_bank view(in);
      return view.read([&](const accounts&) {
        ++shared->ready;
        (void)eventually([&] { return shared->stop.load(); });
        return 0;
      });
    });
    ASSERT_TRUE(eventually([&] { return shared->ready == 1; }));
    for (int i = 0; i < 10; ++i) money.move(++step);
    reader.send(SIGKILL);
    EXPECT_EQ(reader.end(), 128 + SIGKILL);
    for (int i = 0; i < 10; ++i) money.move(++step);
  }
  EXPECT_EQ(money.moves(), step);
}

TEST(outside_transactions, are_read_after_a_close_and_after_a_kill_of_the_writer) {
  temp_directory directory;
  const std::string path = directory.file("p");
  {
    auto pool = pool::create(path, with_readers());
    native_bank money(pool);
    pool.close();
  }
  pool_reader in(path);
  native_read_bank view(in);
  ASSERT_TRUE(view.is_right());
  for (int writers = 0; writers < 10; ++writers) {
    shared_memory shared;
    process writer([&] {
      auto pool = pool::open(path, with_readers());
      native_bank money(pool);
      for (number step = 1;; ++step) {
        money.move(step);
        ++shared->count;
      }
      return 0;
    });
    ASSERT_TRUE(eventually([&] { return shared->count > 1; }));
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(view.is_right());
    writer.send(SIGKILL);
    EXPECT_EQ(writer.end(), 128 + SIGKILL);
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(view.is_right());
  }
}

TEST(outside_transactions, are_kept_from_a_writer_without_readers_while_one_reads) {
  temp_directory directory;
  const std::string path = directory.file("p");
  {
    auto pool = pool::create(path, with_readers());
    native_bank money(pool);
    pool.close();
  }
  shared_memory shared;
  process reader([&] {
    pool_reader in(path);
    native_read_bank view(in);
    return view.read([&](const accounts& a) {
      ++shared->ready;
      (void)eventually([&] { return shared->stop.load(); });
      return a.sum() == right_sum ? 0 : 1;
    });
  });
  ASSERT_TRUE(eventually([&] { return shared->ready == 1; }));
  pool_options none;
  none.reader_patience_ms = 10;
  const std::string text = sentence_of([&] { (void)pool::open(path, none); });
  EXPECT_NE(text.find("has read a replica of transactions for longer than 10 ms"),
            std::string::npos)
      << text;
  {
    auto pool = pool::open(path, with_readers());  // with them it can be opened
    native_bank money(pool);
    for (number step = 0; step < 100; ++step) money.move(step);
    pool.close();
  }
  shared->stop = true;
  EXPECT_EQ(reader.end(), 0);
  EXPECT_NO_THROW((void)pool::open(path, none));
}

TEST(outside_transactions, are_maps_too) {
  temp_directory directory;
  const std::string path = directory.file("p");
  using map = containers::managed_map<tx::redo_opt<>, containers::hash_map<number, number>>;
  auto pool = pool::create(path, with_readers());
  map words(pool, "words", {.replica_bytes = std::size_t{1} << 20});
  for (number key = 1; key <= 100; ++key) words.put(key, key * key);
  process reader([&] {
    pool_reader in(path);
    containers::map_reader<map> view(in, "words");
    number sum = 0;
    view.for_each([&](number key, number) { sum += key; });
    if (sum != 5050 || view.size() != 100) return 1;
    if (view.get(7) != std::optional<number>(49) || view.contains(101)) return 2;
    // What is wrong is named.
    const auto missing = failure_of([&] { containers::map_reader<map> other(in, "nothing"); });
    if (missing != errc::not_found) return 3;
    const auto object = failure_of([&] { (void)view.manager().root<number>("nothing"); });
    if (object != errc::not_found) return 4;
    const auto type = failure_of([&] { (void)view.manager().root<number>("map"); });
    if (type != errc::root_type_mismatch) return 5;
    const auto engine = failure_of([&] { tx::reader<tx::redo<>> other(in, "words"); });
    if (engine != errc::root_type_mismatch) return 6;
    const auto store = failure_of([&] {
      view.manager().read([&](tx::const_view) {
        const tx::field<number> mine(1);
        (void)tx::alloc<tx::field<number>>();
      });
    });
    if (store != errc::refused) return 7;
    return 0;
  });
  EXPECT_EQ(reader.end(), 0);
}

// ---- In memory ----

using D = domain::process;
using memory_bank = bank<tx::redo_opt<D>>;
using memory_reader = basic_pool_reader<D>;
using memory_read_bank = read_bank<tx::redo_opt<D>>;

class memory_pool {
 public:
  explicit memory_pool(unsigned patience_ms = 60'000) : memory_(room) {
    pool_options chosen;
    chosen.size_bytes = room;
    chosen.format_version = 2;
    chosen.max_readers = 16;
    chosen.reader_patience_ms = patience_ms;
    pool_ = basic_pool<D>::in_memory(memory_.data(), room, true, chosen);
  }
  [[nodiscard]] basic_pool<D>& operator*() const noexcept { return *pool_; }

 private:
  static constexpr std::size_t room = std::size_t{16} << 20;
  base::anonymous_memory memory_;
  std::unique_ptr<basic_pool<D>> pool_;
};

TEST(outside_transactions, have_no_data_race) {
  const memory_pool pool;
  memory_bank money(*pool);
  std::atomic<bool> stop{false};
  std::atomic<unsigned> wrong{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      memory_reader in(*pool);
      memory_read_bank view(in);
      while (!stop) wrong += view.is_right() ? 0 : 1;
    });
  }
  for (number step = 0; step < 3000; ++step) money.move(step);
  stop = true;
  for (std::thread& each : readers) each.join();
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(money.moves(), 3000U);
}

/// Calls `inner` while as many readers as `readers` read replicas, each another one.
void while_others_read(basic_pool<D>& pool, memory_bank& money, unsigned readers,
                       const std::function<void()>& inner) {
  if (readers == 0) return inner();
  std::exception_ptr failure;
  std::thread other([&] {
    memory_reader in(pool);
    memory_read_bank view(in);
    view.read([&](const accounts& a) {
      std::thread writer([&] {
        try {
          for (number step = 0; step < 20; ++step) money.move(step);
          while_others_read(pool, money, readers - 1, inner);
        } catch (...) {
          failure = std::current_exception();
        }
      });
      writer.join();
      EXPECT_EQ(a.sum(), right_sum);
    });
  });
  other.join();
  if (failure != nullptr) std::rethrow_exception(failure);
}

TEST(outside_transactions, always_have_two_replicas_for_updates) {
  const memory_pool pool;
  memory_bank money(*pool);  // four replicas
  while_others_read(*pool, money, 2, [&] {
    memory_reader late(*pool, {.wait_ms = 20});
    const std::string text = sentence_of([&] { memory_read_bank view(late); });
    EXPECT_NE(text.find("other readers have kept 2 replicas"), std::string::npos) << text;
    for (number step = 0; step < 100; ++step) money.move(step);
  });
  memory_reader in(*pool);
  EXPECT_TRUE(memory_read_bank(in).is_right());
}

TEST(outside_transactions, that_take_long_are_known_at_each_look) {
  const memory_pool pool;
  memory_bank money(*pool);
  memory_reader in(*pool);
  memory_read_bank view(in);
  const auto region = in.find_region("tx:bank", region_kind::replicas);
  ASSERT_TRUE(region);
  view.read([&](const accounts&) {
    std::vector<base::replica_use> seen(2, base::replica_use::none);
    (void)eventually([&] {
      // An update does not wait for a better replica if one of its two has long been read.
      for (base::replica_use& each : seen) {
        each = base::replica_use::none;
        for (unsigned i = 0; i < region->replicas; ++i) {
          each = std::max(each, (*pool).outside_readers()->use_of_replica(
                                    region->offset + i * region->stride_bytes));
        }
      }
      return seen[0] == base::replica_use::read_long;
    });
    EXPECT_EQ(seen, std::vector(2, base::replica_use::read_long));
  });
}

TEST(outside_transactions, of_two_replicas_are_refused) {
  const memory_pool pool;
  memory_bank money(*pool, 2);
  memory_reader in(*pool);
  const std::string text = sentence_of([&] { memory_read_bank view(in); });
  EXPECT_NE(text.find("have 2 replicas; readers in other processes need 3"), std::string::npos)
      << text;
}

TEST(outside_transactions, that_throw_end_their_use) {
  const memory_pool pool;
  memory_bank money(*pool, 3);
  memory_reader in(*pool);
  memory_read_bank view(in);
  for (number step = 0; step < 20; ++step) {
    EXPECT_THROW(view.read([](const accounts&) -> int { throw std::runtime_error("no"); }),
                 std::runtime_error);
    money.move(step);
  }
  EXPECT_TRUE(view.is_right());
}

TEST(outside_transactions, of_a_dropped_manager_wait_for_the_next_one) {
  const memory_pool pool(20);
  auto money = std::make_unique<memory_bank>(*pool);
  memory_reader in(*pool);
  memory_read_bank view(in);
  view.read([&](const accounts& a) {
    std::thread other([&] {
      money.reset();
      (*pool).service<roots::root_sessions<D>>().drop("bank");
      // Its region is used again.
      const std::string text = sentence_of([&] { memory_bank next(*pool); });
      EXPECT_NE(text.find("reads the dropped transactions 'bank'"), std::string::npos) << text;
    });
    other.join();
    EXPECT_EQ(a.sum(), right_sum);
  });
  const memory_bank next(*pool);
  EXPECT_TRUE(view.is_right());
}

}  // namespace
}  // namespace outlast
