// Goal: the backup of a pool in use recovers all of its structures to one moment.
// Method: each thread changes one structure after the other. In each copy the structures differ by
// at most the operation that was running. A buffered structure may lack its last operations, but
// none that was synced before the backup.
#include <outlast/containers/red_black_tree.hpp>
#include <outlast/domain.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/epoch/queue.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/sets/link_free_hash.hpp>
#include <outlast/tx/left_right.hpp>
#include <outlast/tx/redo_opt.hpp>
#include <tests/support/memory_folder.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace outlast {
namespace {

constexpr unsigned threads = 3;
constexpr std::uint64_t accounts = 8;
constexpr std::uint64_t money = 1000;

using ledger = containers::red_black_tree<std::uint64_t, std::uint64_t>;

std::uint64_t key_of(unsigned thread, std::uint64_t number) {
  return std::uint64_t{thread} << 32 | number;
}

/// Moves a coin from one account to the next.
template <class Manager>
void transfer(Manager& in, tx::root<ledger> all, std::uint64_t from) {
  in.update(all, [=](ledger& each) {
    const std::uint64_t held = each.get(from).value_or(0);
    if (held == 0) return;
    const std::uint64_t to = (from + 1) % accounts;
    each.put(from, held - 1);
    each.put(to, each.get(to).value_or(0) + 1);
  });
}

template <class Manager>
std::uint64_t sum(Manager& in, tx::root<ledger> all) {
  return in.read(all, [](const ledger& each) {
    std::uint64_t total = 0;
    each.for_each([&](std::uint64_t, std::uint64_t held) { total += held; });
    return total;
  });
}

/// The structures of a pool. Each thread has its own keys, which it inserts in ascending order.
template <class D>
struct structures {
  explicit structures(basic_pool<D>& in)
      : first(in, "first"),
        second(in, "second"),
        jobs(in, "jobs"),
        bank(in, "bank", {.replica_bytes = 4 << 20}),
        savings(in, "savings", {.replica_bytes = 4 << 20}) {
    const auto fill = [](ledger& all) { all.insert(0, money); };
    bank.update(bank.template root<ledger>("accounts"), fill);
    savings.update(savings.template root<ledger>("accounts"), fill);
  }

  void advance(unsigned thread, std::uint64_t number) {
    first.insert(key_of(thread, number), number);
    second.insert(key_of(thread, number), number);
    transfer(bank, bank.template root<ledger>("accounts"), number % accounts);
    transfer(savings, savings.template root<ledger>("accounts"), number % accounts);
    if (thread == 0) jobs.push(number);
  }

  /// Returns the number of keys of a thread, which must have no gaps.
  template <class Set>
  static std::uint64_t count(Set& set, unsigned thread) {
    std::uint64_t found = 0;
    while (set.contains(key_of(thread, found + 1))) ++found;
    EXPECT_FALSE(set.contains(key_of(thread, found + 2)));
    return found;
  }

  void expect_moment(std::uint64_t synced) {
    for (unsigned thread = 0; thread < threads; ++thread) {
      const std::uint64_t one = count(first, thread);
      const std::uint64_t two = count(second, thread);
      EXPECT_TRUE(one == two || one == two + 1) << one << " and " << two;
    }
    EXPECT_EQ(sum(bank, bank.template root<ledger>("accounts")), money);
    EXPECT_EQ(sum(savings, savings.template root<ledger>("accounts")), money);
    std::uint64_t last = 0;
    jobs.for_each([&](std::uint64_t number) { EXPECT_EQ(number, ++last); });
    EXPECT_LE(last, count(second, 0));
    EXPECT_GE(last, synced);
  }

  using policy = durable::flit<durable::tag::adjacent, durable::automatic, D>;

  lockfree::hash_table<std::uint64_t, std::uint64_t, policy> first;
  sets::link_free_hash<std::uint64_t, std::uint64_t, D> second;
  epoch::queue<std::uint64_t, D> jobs;
  tx::left_right<D> bank;
  tx::redo_opt<D> savings;
};

template <class D>
class BackupOfStructures : public testing::Test {};
using domains = testing::Types<domain::native, domain::logged_file>;
TYPED_TEST_SUITE(BackupOfStructures, domains);

TYPED_TEST(BackupOfStructures, recovers_all_of_them_to_one_moment) {
  using pool = basic_pool<TypeParam>;
  const test::scratch_folder directory;
  struct copy_of_pool {
    std::string path;
    std::uint64_t synced;
  };
  std::vector<copy_of_pool> copies;
  auto original =
      pool::create((directory.path() / "pool").string(), {.size_bytes = std::size_t{256} << 20,
                                                          .log_bytes = std::size_t{1} << 20,
                                                          .per_operation_device_sync = true});
  {
    structures<TypeParam> all(original);
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> pushed{0};
    std::vector<std::jthread> running;
    for (unsigned thread = 0; thread < threads; ++thread) {
      running.emplace_back([&, thread] {
        for (std::uint64_t number = 1; !stop.load(); ++number) {
          all.advance(thread, number);
          if (thread == 0) pushed.store(number);
        }
      });
    }
    for (int i = 0; i < 10; ++i) {
      const std::uint64_t before = pushed.load();
      while (pushed.load() < before + 100) std::this_thread::yield();
      const std::uint64_t synced = pushed.load();
      all.jobs.sync();
      copies.push_back({(directory.path() / ("copy" + std::to_string(i))).string(), synced});
      original.backup(copies.back().path);
    }
    stop.store(true);
  }
  original.close();
  for (const copy_of_pool& each : copies) {
    auto copy = pool::open(each.path, {.per_operation_device_sync = true});
    EXPECT_TRUE(copy.was_dirty());
    structures<TypeParam>(copy).expect_moment(each.synced);
    copy.close();
  }
}

}  // namespace
}  // namespace outlast
