// Goal: with a journal, a batch of transactions takes one device sync, and a read none. Results
// that were returned survive the death of the process, and a device that fails at any step,
// atomically. Method: the journal's counters, which are exact; a device that stops; many threads.
#include <outlast/domain/logged_file.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/tx/baselines/cx_ptm.hpp>
#include <outlast/tx/baselines/redo.hpp>
#include <outlast/tx/left_right.hpp>
#include <outlast/tx/redo_opt.hpp>
#include <tests/support/failing_device.hpp>
#include <tests/support/memory_folder.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace outlast::tx {
namespace {

using D = domain::logged_file;
using pool_of = basic_pool<D>;

constexpr pool_options in_pool{
    .size_bytes = 8 << 20, .log_bytes = 1 << 20, .per_operation_device_sync = true};
constexpr options small{.replica_bytes = std::size_t{1} << 20, .replicas = 3};

/// Far enough apart for lines of their own.
struct counters {
  std::array<field<std::uint64_t>, 32> of;
  /// All the same number.
  [[nodiscard]] bool are_even() const { return of[0].get() == of[16].get(); }
};
constexpr auto add_one = [](counters& at) {
  at.of[0] += 1;
  at.of[16] += 1;
};
constexpr auto value = [](const counters& at) { return at.of[0].get(); };
constexpr auto are_even = [](const counters& at) { return at.are_even(); };

template <template <domain::persistence_domain> class Engine>
struct engine {
  template <domain::persistence_domain Domain>
  using on = Engine<Domain>;
};

[[nodiscard]] const void* memory_of(const pool_of& pool) {
  return reinterpret_cast<const void*>(pool.base());
}

template <class Type>
class LoggedEngine : public testing::Test {
 protected:
  using manager = typename Type::template on<D>;
  using elsewhere = typename Type::template on<domain::process>;

  /// What the log of `pool` has cost while `work` ran.
  template <class Work>
  static domain::log_counters cost_of(const pool_of& pool, Work&& work) {
    const domain::log_counters before = D::counters(memory_of(pool));
    work();
    domain::log_counters after = D::counters(memory_of(pool));
    after.batches -= before.batches;
    after.syncs -= before.syncs;
    after.checkpoints -= before.checkpoints;
    return after;
  }

  [[nodiscard]] std::string path() const { return (folder_.path() / "p").string(); }

 private:
  test::scratch_folder folder_;
};
using engines = testing::Types<engine<left_right>, engine<redo>, engine<redo_opt>, engine<cx_ptm>>;
TYPED_TEST_SUITE(LoggedEngine, engines);

TYPED_TEST(LoggedEngine, waits_once_for_a_batch_and_never_for_a_read) {
  auto pool = pool_of::create(this->path(), in_pool);
  typename TestFixture::manager all(pool, "all", small);
  const auto here = all.template root<counters>("counters");
  for (int i = 0; i < 8; ++i) all.update(here, add_one);  // every replica has been copied
  const auto updates = this->cost_of(pool, [&] {
    for (int i = 0; i < 50; ++i) all.update(here, add_one);
  });
  EXPECT_EQ(updates.checkpoints, 0U);
  EXPECT_EQ(updates.batches, 50U);
  EXPECT_EQ(updates.syncs, 50U);
  const auto reads = this->cost_of(pool, [&] {
    for (int i = 0; i < 50; ++i) EXPECT_EQ(all.read(here, value), 58U);
  });
  EXPECT_EQ(reads.syncs, 0U);
}

TYPED_TEST(LoggedEngine, combines_what_waits_while_the_device_is_at_work) {
  constexpr unsigned threads = 4;
  constexpr unsigned each = 100;
  auto pool = pool_of::create(this->path(), in_pool);
  typename TestFixture::manager all(pool, "all", small);
  const auto here = all.template root<counters>("counters");
  const auto cost = this->cost_of(pool, [&] {
    std::vector<std::thread> crew;
    for (unsigned i = 0; i < threads; ++i) {
      crew.emplace_back([&] {
        for (unsigned n = 0; n < each; ++n) {
          all.update(here, add_one);
          EXPECT_TRUE(all.read(here, are_even));
        }
      });
    }
    for (std::thread& one : crew) one.join();
  });
  EXPECT_EQ(all.read(here, value), threads * each);
  // One for each at most, and for a replica that was copied, or a batch that was lost.
  EXPECT_LE(cost.batches, threads * each + 10);
}

TYPED_TEST(LoggedEngine, keeps_after_a_kill_what_it_answered) {
  for (const unsigned rounds : {1U, 2U, 7U}) {
    const std::string path = this->path() + std::to_string(rounds);
    {
      auto pool = pool_of::create(path, in_pool);
      typename TestFixture::manager all(pool, "all", small);
      const auto here = all.template root<counters>("counters");
      for (unsigned i = 0; i < rounds; ++i) all.update(here, add_one);
      D::checkpoint(memory_of(pool));
      for (unsigned i = 0; i < rounds; ++i) all.update(here, add_one);
    }  // abandoned: as a kill leaves it
    {
      auto pool = pool_of::open(path, in_pool);
      typename TestFixture::manager all(pool, "all");
      const auto here = all.template root<counters>("counters");
      EXPECT_EQ(all.read(here, value), 2 * rounds);
      EXPECT_TRUE(all.read(here, are_even));
      all.update(here, add_one);
    }
    auto pool = basic_pool<domain::process>::open(path);
    typename TestFixture::elsewhere all(pool, "all");
    const auto here = all.template root<counters>("counters");
    EXPECT_EQ(all.read(here, value), 2 * rounds + 1);
    EXPECT_TRUE(all.read(here, are_even));
  }
}

TYPED_TEST(LoggedEngine, survives_a_device_that_fails_at_any_step) {
  pool_options tiny = in_pool;
  tiny.log_bytes = 16 << 10;  // checkpoints are frequent
  std::uint64_t least = 0;
  {
    auto pool = pool_of::create(this->path(), tiny);
    typename TestFixture::manager all(pool, "all", small);
    all.update(all.template root<counters>("counters"), add_one);
    pool.close();
    least = 1;
  }
  for (std::uint64_t allowed = 0;; ++allowed) {
    std::uint64_t acknowledged = least;
    bool survived = false;
    {
      const test::failing_device device(allowed);
      try {
        auto pool = pool_of::open(this->path(), tiny);
        typename TestFixture::manager all(pool, "all");
        const auto here = all.template root<counters>("counters");
        try {
          for (int i = 0; i < 8; ++i) {
            all.update(here, add_one);
            ++acknowledged;
          }
        } catch (const error& failure) {
          EXPECT_EQ(failure.reason(), errc::io_failure);
          EXPECT_EQ(all.read(here, value), acknowledged) << "a reader was told what may be lost";
          EXPECT_THROW(all.update(here, add_one), error);
        }
      } catch (const error& failure) {
        EXPECT_EQ(failure.reason(), errc::io_failure) << failure.what();
      }
      survived = device.steps <= allowed;
    }
    auto pool = basic_pool<domain::process>::open(this->path());
    typename TestFixture::elsewhere all(pool, "all");
    const auto here = all.template root<counters>("counters");
    least = all.read(here, value);
    ASSERT_TRUE(least == acknowledged || least == acknowledged + 1)
        << least << " for " << acknowledged << " after " << allowed << " steps";
    ASSERT_TRUE(all.read(here, are_even)) << "after " << allowed << " steps";
    pool.close();
    if (survived) break;
  }
}

// A checkpoint drops pages of a manager's home from memory, whose stores are all in the log;
// whoever has its region next stores there first and has it logged later.
TYPED_TEST(LoggedEngine, leaves_the_region_of_a_dropped_manager_to_who_has_it_next) {
  auto pool = pool_of::create(this->path(), in_pool);
  const auto change = [&](const char* name) {
    typename TestFixture::manager all(pool, name, small);
    all.update(all.template root<counters>("counters"), add_one);
  };
  change("all");
  pool.drop_root("all");
  auto* const place = reinterpret_cast<std::uint64_t*>(pool.find_region("tx:all")->replica(0));
  *place = 42;
  change("other");
  D::checkpoint(memory_of(pool));
  EXPECT_EQ(*place, 42U);
}

}  // namespace
}  // namespace outlast::tx
