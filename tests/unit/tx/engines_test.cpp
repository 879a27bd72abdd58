// Goal: with every engine, operations of a transaction manager are atomic, undone by exceptions,
// found again by name, and rejected if they would violate a rule.
// Method: small objects in a pool file; many threads; pools that are closed, abandoned and moved.
#include <outlast/domain/file.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/tx/baselines/cx_ptm.hpp>
#include <outlast/tx/baselines/redo.hpp>
#include <outlast/tx/left_right.hpp>
#include <outlast/tx/redo_opt.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace outlast::tx {
namespace {

using D = domain::process;
using pool_file = test::temp_pool<D>;

constexpr options small{.replica_bytes = std::size_t{1} << 20};

struct twelve_bytes {
  std::uint32_t a, b, c;
  friend bool operator==(const twelve_bytes&, const twelve_bytes&) = default;
};

/// Neighbours of all sizes: what is written to one must not touch the next.
struct mixed {
  field<int> number;
  field<int> neighbour;
  field<double> ratio;
  field<bool> flag;
  field<char> letter;
  field<twelve_bytes> wide;
  field<char> last;
};

struct counters {
  std::array<field<std::uint64_t>, 2> of;
};

/// Counts its copies.
struct witness {
  std::shared_ptr<int> shared;
  std::string text;
};

/// Counts its copies; `Changes`: it cannot be called where it is const.
template <bool changes>
struct counted_operation {
  explicit counted_operation(std::atomic<int>& in) : copies(&in) {}
  counted_operation(const counted_operation& from) : copies(from.copies) { ++*copies; }
  counted_operation(counted_operation&&) = default;

  void operator()(view) const
    requires(!changes)
  {}
  void operator()(view)
    requires changes
  {}

  std::atomic<int>* copies;
};

/// An engine over any domain.
template <template <domain::persistence_domain> class Engine>
struct engine {
  template <domain::persistence_domain Domain>
  using on = Engine<Domain>;
};

template <class>
class Engine : public testing::Test {};
using all_engines = testing::Types<engine<left_right>, engine<redo>, engine<redo_timed>,
                                   engine<redo_opt>, engine<cx_ptm>>;
TYPED_TEST_SUITE(Engine, all_engines);

/// One that runs operations on whichever thread, in as many replicas as one likes.
template <class>
class WaitFreeEngine : public testing::Test {};
using wait_free_engines =
    testing::Types<engine<redo>, engine<redo_timed>, engine<redo_opt>, engine<cx_ptm>>;
TYPED_TEST_SUITE(WaitFreeEngine, wait_free_engines);

TYPED_TEST(Engine, keeps_values_of_every_type_in_every_replica) {
  using manager = typename TypeParam::template on<D>;
  pool_file pool;
  const twelve_bytes wide{1, 2, 3};
  {
    manager all(*pool, "all", small);
    const auto here = all.template root<mixed>("mixed");
    // Each batch runs in the other replica: after several, both have been written and repeated.
    for (int i = 1; i <= 4; ++i) {
      all.update(here, [=](mixed& at) {
        at.number = i;
        if (i == 1) at.neighbour = -7;
        at.ratio = i / 3.0;
        at.flag = i % 2 == 0;
        at.letter = static_cast<char>('a' + i);
        if (i == 2) at.wide = wide;
        if (i == 3) at.last = 'z';
      });
      EXPECT_EQ(all.read(here, [](const mixed& at) { return at.ratio.get(); }), i / 3.0);
      EXPECT_EQ(all.read(here, [](const mixed& at) { return at.neighbour.get(); }), -7);
    }
  }
  for (const bool clean : {false, true}) {
    clean ? pool.close() : pool.abandon();
    pool.open();
    manager all(*pool, "all");
    const auto here = all.template root<mixed>("mixed");
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(all.read(here, [](const mixed& at) { return at.number.get(); }), 4);
      EXPECT_EQ(all.read(here, [](const mixed& at) { return at.letter.get(); }), 'e');
      EXPECT_EQ(all.read(here, [](const mixed& at) { return at.wide.get(); }), wide);
      EXPECT_EQ(all.read(here, [](const mixed& at) { return at.last.get(); }), 'z');
      EXPECT_TRUE(all.read(here, [](const mixed& at) { return at.flag.get(); }));
      all.update(here, [](mixed& at) { at.neighbour = at.neighbour; });
    }
  }
}

TYPED_TEST(Engine, takes_back_what_an_operation_did_before_it_threw) {
  using manager = typename TypeParam::template on<D>;
  pool_file pool;
  manager all(*pool, "all", small);
  const auto here = all.template root<counters>("counters");
  all.update(here, [](counters& at) { at.of[0] = 5; });
  const auto fail = [](counters& at) {
    at.of[0] += 1;
    static_cast<void>(alloc_array<field<int>>(1000));
    throw std::runtime_error("changed my mind");
  };
  EXPECT_THROW(all.update(here, fail), std::runtime_error);
  EXPECT_EQ(all.read(here, [](const counters& at) { return at.of[0].get(); }), 5U);
  EXPECT_THROW(all.read(here, [](const counters&) { throw std::logic_error("reader"); }),
               std::logic_error);
  all.update(here, [](counters& at) { at.of[1] = 6; });
  EXPECT_EQ(all.read(here, [](const counters& at) { return at.of[0] + at.of[1]; }), 11U);
}

TYPED_TEST(Engine, is_undone_where_there_is_no_room) {
  using manager = typename TypeParam::template on<D>;
  pool_file pool;
  manager all(*pool, "all", {.replica_bytes = 64 * 1024});
  const auto here = all.template root<counters>("counters");
  const auto too_much = [](counters& at) {
    for (;;) {
      at.of[0] += 1;
      static_cast<void>(alloc_bytes(1000));
    }
  };
  EXPECT_THROW(all.update(here, too_much), out_of_space);
  EXPECT_EQ(all.read(here, [](const counters& at) { return at.of[0].get(); }), 0U);
  all.update(here, [](counters&) { static_cast<void>(alloc_bytes(30'000)); });
}

TYPED_TEST(Engine, makes_calls_inside_of_an_operation_a_part_of_it) {
  using manager = typename TypeParam::template on<D>;
  pool_file pool;
  manager all(*pool, "all", small);
  const auto here = all.template root<counters>("counters");
  const auto nested = [&](counters& at) {
    at.of[0] = 1;
    all.update(here, [](counters& inner) { inner.of[1] = 2; });
    return all.read(here, [](const counters& inner) { return inner.of[0] + inner.of[1]; });
  };
  EXPECT_EQ(all.update(here, nested), 3U);
  const auto fails = [&](counters&) {
    all.update(here, [](counters& inner) { inner.of[1] = 100; });
    throw std::runtime_error("outer");
  };
  EXPECT_THROW(all.update(here, fails), std::runtime_error);
  EXPECT_EQ(all.read(here, [](const counters& at) { return at.of[1].get(); }), 2U);
}

TYPED_TEST(Engine, works_on_several_objects_at_once) {
  using manager = typename TypeParam::template on<D>;
  pool_file pool;
  manager all(*pool, "all", small);
  const auto one = all.template root<counters>("one");
  const auto two = all.template root<counters>("two");
  all.update([=](view in) {
    in[one].of[0] = 10;
    in[two].of[0] = 20;
  });
  EXPECT_EQ(all.read([=](const_view in) { return in[one].of[0] + in[two].of[0]; }), 30U);
}

TYPED_TEST(Engine, refuses_what_would_break_it) {
  using manager = typename TypeParam::template on<D>;
  pool_file pool;
  manager all(*pool, "all", small);
  manager other(*pool, "other", small);
  const auto here = all.template root<counters>("counters");
  const auto there = other.template root<counters>("counters");
  const auto write = [&](const counters&) { all.update(here, [](counters& at) { at.of[0] = 1; }); };
  EXPECT_THROW(all.read(here, write), error);
  const auto cast = [](const counters& at) { const_cast<counters&>(at).of[0] = 1; };
  EXPECT_THROW(all.read(here, cast), error);
  const auto foreign = [&](counters&) { other.update(there, [](counters& at) { at.of[0] = 1; }); };
  EXPECT_THROW(all.update(here, foreign), error);
  EXPECT_THROW(field<int>(5), error) << "outside of a transaction";
  EXPECT_EQ(all.read(here, [](const counters& at) { return at.of[0].get(); }), 0U);
}

TYPED_TEST(Engine, finds_objects_by_name_and_type) {
  using manager = typename TypeParam::template on<D>;
  pool_file pool;
  manager all(*pool, "all", small);
  const auto here = all.template root<counters>("counters");
  EXPECT_EQ(all.template root<counters>("counters").offset, here.offset);
  EXPECT_NE(all.template root<counters>("others").offset, here.offset);
  try {
    static_cast<void>(all.template root<mixed>("counters"));
    ADD_FAILURE() << "another type";
  } catch (const error& refused) {
    EXPECT_EQ(refused.reason(), errc::root_type_mismatch);
    EXPECT_NE(std::string(refused.what()).find(pool.path()), std::string::npos);
  }
  EXPECT_THROW(static_cast<void>(all.template root<mixed>("")), error);
  EXPECT_THROW(static_cast<void>(all.template root<mixed>(std::string(41, 'n'))), error);
}

TYPED_TEST(Engine, loses_nothing_in_200_threads) {
  using manager = typename TypeParam::template on<D>;
  pool_file pool;
  manager all(*pool, "all", small);
  const auto here = all.template root<counters>("counters");
  constexpr unsigned threads = 200;
  constexpr unsigned rounds = 8;
  std::atomic<bool> differ = false;
  {
    std::vector<std::jthread> crew;
    for (unsigned t = 0; t < threads; ++t) {
      crew.emplace_back([&, t] {
        for (unsigned i = 0; i < rounds; ++i) {
          try {
            all.update(here, [=](counters& at) {
              at.of[0] += 1;
              if (t % 10 == 0) throw i;
              at.of[1] += 1;
            });
          } catch (unsigned) {
          }
          if (!all.read(here, [](const counters& at) { return at.of[0] == at.of[1]; }))
            differ = true;
        }
      });
    }
  }
  EXPECT_FALSE(differ);
  const auto sum = all.read(here, [](const counters& at) { return at.of[0].get(); });
  EXPECT_EQ(sum, threads / 10 * 9 * rounds);
}

TYPED_TEST(Engine, is_opened_once_at_a_time) {
  using manager = typename TypeParam::template on<D>;
  pool_file pool;
  manager all(*pool, "all", small);
  EXPECT_THROW(manager(*pool, "all"), error);
}

TYPED_TEST(Engine, is_not_opened_as_another_one) {
  using manager = typename TypeParam::template on<D>;
  using other = std::conditional_t<std::is_same_v<manager, redo<D>>, redo_opt<D>, redo<D>>;
  pool_file pool;
  {
    const manager all(*pool, "all", small);
  }
  pool.close();
  pool.open();
  try {
    const other all(*pool, "all");
    ADD_FAILURE() << "another engine's";
  } catch (const error& refused) {
    EXPECT_EQ(refused.reason(), errc::root_type_mismatch);
    const std::string names =
        std::string(manager::engine_name()) + ", not to " + std::string(other::engine_name());
    EXPECT_NE(std::string(refused.what()).find(names), std::string::npos);
  }
}

TYPED_TEST(Engine, uses_its_region_again_after_it_was_dropped) {
  using manager = typename TypeParam::template on<D>;
  pool_file pool;
  {
    manager all(*pool, "all", small);
    const auto here = all.template root<counters>("counters");
    all.update(here, [](counters& at) { at.of[0] = 5; });
  }
  pool->drop_root("all");
  manager again(*pool, "all", small);
  const auto here = again.template root<counters>("counters");
  EXPECT_EQ(again.read(here, [](const counters& at) { return at.of[0].get(); }), 0U);
}

TYPED_TEST(Engine, grows_in_a_sparse_region) {
  using manager = typename TypeParam::template on<D>;
  pool_file pool(std::size_t{192} << 20);  // its free pages are divided by a chunk of descriptors
  manager all(*pool, "all", {.replica_bytes = std::size_t{16} << 20});
  const auto here = all.template root<counters>("counters");
  for (unsigned i = 0; i < 12; ++i) {
    all.update(here, [](counters& at) {
      static_cast<void>(alloc_bytes(1 << 20));
      at.of[0] += 1;
    });
  }
  EXPECT_EQ(all.read(here, [](const counters& at) { return at.of[0].get(); }), 12U);
}

TYPED_TEST(Engine, is_found_again_where_the_pool_is_mapped_elsewhere) {
  using manager = typename TypeParam::template on<D>;
  pool_file pool;
  std::uintptr_t base = 0;
  {
    manager all(*pool, "all", small);
    base = pool->base();
    const auto here = all.template root<counters>("counters");
    all.update(here, [](counters& at) { at.of[1] = 77; });
  }
  pool.close();
  pool.options().base_address = base + (std::uintptr_t{1} << 32);
  pool.open();
  ASSERT_NE(pool->base(), base);
  manager all(*pool, "all");
  const auto here = all.template root<counters>("counters");
  all.update(here, [](counters& at) { at.of[0] = 1; });
  EXPECT_EQ(all.read(here, [](const counters& at) { return at.of[0] + at.of[1]; }), 78U);
}

TYPED_TEST(Engine, says_that_its_device_failed_and_believes_in_nothing_afterwards) {
  using manager = typename TypeParam::template on<domain::file>;
  test::temp_directory folder;
  pool_options wanted;
  wanted.per_operation_device_sync = true;
  auto pool = basic_pool<domain::file>::create(folder.file("pool"), wanted);
  manager all(pool, "all", small);
  const auto here = all.template root<counters>("counters");
  const auto add = [](counters& at) { at.of[0] += 1; };
  all.update(here, add);
  domain::file::fail_next_syncs(1, EIO);
  EXPECT_THROW(all.update(here, add), error);
  domain::file::fail_next_syncs(0, 0);
  EXPECT_THROW(all.update(here, add), error);
  EXPECT_EQ(all.read(here, [](const counters& at) { return at.of[0].get(); }), 1U);
}

TYPED_TEST(Engine, refuses_a_disk_on_which_each_update_would_be_a_device_sync) {
  using manager = typename TypeParam::template on<domain::file>;
  test::temp_directory folder;
  auto pool = basic_pool<domain::file>::create(folder.file("pool"));
  EXPECT_THROW(manager(pool, "all", small), error);
}

TYPED_TEST(WaitFreeEngine, runs_many_threads_on_two_replicas) {
  using manager = typename TypeParam::template on<D>;
  pool_file pool;
  manager all(*pool, "all", {.replica_bytes = std::size_t{1} << 20, .replicas = 2});
  const auto here = all.template root<counters>("counters");
  constexpr unsigned threads = 8;
  constexpr unsigned rounds = 200;
  {
    std::vector<std::jthread> crew;
    for (unsigned t = 0; t < threads; ++t) {
      crew.emplace_back([&] {
        for (unsigned i = 0; i < rounds; ++i) all.update(here, [](counters& at) { at.of[0] += 1; });
      });
    }
  }
  const auto sum = all.read(here, [](const counters& at) { return at.of[0].get(); });
  EXPECT_EQ(sum, threads * rounds);
}

TYPED_TEST(WaitFreeEngine, refuses_numbers_of_replicas_that_make_no_sense) {
  using manager = typename TypeParam::template on<D>;
  pool_file pool;
  EXPECT_THROW(manager(*pool, "one", {.replica_bytes = 1 << 20, .replicas = 1}), error);
  EXPECT_THROW(manager(*pool, "many", {.replica_bytes = 1 << 20, .replicas = 5000}), error);
}

TYPED_TEST(WaitFreeEngine, keeps_the_number_of_replicas_that_it_was_created_with) {
  using manager = typename TypeParam::template on<D>;
  pool_file pool;
  {
    manager all(*pool, "all", {.replica_bytes = std::size_t{1} << 20, .replicas = 3});
    const auto here = all.template root<counters>("counters");
    all.update(here, [](counters& at) { at.of[0] = 5; });
  }
  pool.close();
  pool.open();
  EXPECT_THROW(manager(*pool, "all", {.replicas = 7}), error);
  manager all(*pool, "all");
  const auto here = all.template root<counters>("counters");
  for (unsigned i = 0; i < 9; ++i) all.update(here, [](counters& at) { at.of[0] += 1; });
  EXPECT_EQ(all.read(here, [](const counters& at) { return at.of[0].get(); }), 14U);
}

TYPED_TEST(WaitFreeEngine, destroys_captures_when_nobody_runs_the_operation_any_more) {
  using manager = typename TypeParam::template on<D>;
  const auto shared = std::make_shared<int>(3);
  {
    pool_file pool;
    manager all(*pool, "all", small);
    const auto here = all.template root<counters>("counters");
    std::atomic<bool> wrong = false;
    {
      std::vector<std::jthread> crew;
      for (unsigned t = 0; t < 8; ++t) {
        crew.emplace_back([&] {
          for (unsigned i = 0; i < 300; ++i) {
            // The argument is gone when update() has returned; its copy is not.
            witness argument{shared, std::string(100, static_cast<char>('a' + i % 26))};
            const std::uint64_t got = all.update(here, [=](counters& at) mutable {
              argument.text += "!";
              at.of[0] += 1;
              return argument.text.size() + static_cast<std::uint64_t>(*argument.shared);
            });
            if (got != 104) wrong = true;
          }
        });
      }
    }
    EXPECT_FALSE(wrong);
    EXPECT_EQ(all.read(here, [](const counters& at) { return at.of[0].get(); }), 2400U);
  }
  EXPECT_EQ(shared.use_count(), 1);
}

TYPED_TEST(WaitFreeEngine, copies_an_operation_for_a_run_only_if_that_may_change_it) {
  using manager = typename TypeParam::template on<D>;
  pool_file pool;
  manager bank(*pool, "bank", small);
  std::atomic<int> copies{0};
  for (int i = 0; i < 5; ++i) bank.update(counted_operation<false>(copies));
  EXPECT_EQ(copies, 0);
  bank.update(counted_operation<true>(copies));
  EXPECT_GE(copies, 1);
}

TYPED_TEST(WaitFreeEngine, reads_run_once_on_their_own_thread) {
  using manager = typename TypeParam::template on<D>;
  pool_file pool;
  manager all(*pool, "all", {.replica_bytes = std::size_t{1} << 20, .replicas = 8});
  const auto here = all.template root<counters>("counters");
  std::atomic<bool> over = false;
  std::vector<std::jthread> writers;
  for (unsigned t = 0; t < 2; ++t) {
    writers.emplace_back([&] {
      while (!over) {
        all.update(here, [](counters& at) {
          at.of[0] += 1;
          at.of[1] += 1;
        });
      }
    });
  }
  for (unsigned i = 0; i < 2000; ++i) {
    unsigned runs = 0;
    const auto reader = std::this_thread::get_id();
    all.read(here, [&](const counters& at) {
      ++runs;
      EXPECT_EQ(std::this_thread::get_id(), reader);
      const std::uint64_t first = at.of[0];
      if (i % 16 == 0) std::this_thread::yield();
      EXPECT_EQ(at.of[1].get(), first);
    });
    EXPECT_EQ(runs, 1U);
  }
  over = true;
}

TYPED_TEST(WaitFreeEngine, gives_results_of_every_size) {
  using manager = typename TypeParam::template on<D>;
  pool_file pool;
  manager all(*pool, "all", small);
  const auto here = all.template root<counters>("counters");
  const auto wide = all.update(here, [](counters&) {
    std::array<std::uint64_t, 40> result{};
    result[39] = 7;
    return result;
  });
  EXPECT_EQ(wide[39], 7U);
  EXPECT_EQ(all.update(here, [](counters&) { return 'x'; }), 'x');
}

}  // namespace
}  // namespace outlast::tx
