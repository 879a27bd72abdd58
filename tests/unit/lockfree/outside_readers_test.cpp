// Goal: readers in other processes get right results while their writer changes, closes, loses and
// reopens the pool, and none of them holds back the writer for long. Method: real processes.
#include <outlast/base/error.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/lockfree/reader.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/pool/pool_reader.hpp>
#include <tests/support/reading_processes.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <signal.h>
#include <unistd.h>

namespace outlast {
namespace {

using test::change;
using test::churned;
using test::eventually;
using test::failure_of;
using test::fill;
using test::look;
using test::look_until;
using test::milliseconds;
using test::number;
using test::process;
using test::read_until;
using test::sentence_of;
using test::shared_memory;
using test::stable;
using test::temp_directory;
using test::unit;
using test::with_readers;

using table = lockfree::hash_table<number, number>;

template <class Map>
class OutsideReaders : public ::testing::Test {};
using maps =
    ::testing::Types<table, lockfree::harris_list<number, number>,
                     lockfree::skiplist<number, number>, lockfree::natarajan_tree<number, number>>;
TYPED_TEST_SUITE(OutsideReaders, maps);

TYPED_TEST(OutsideReaders, find_what_the_writer_has_written) {
  temp_directory directory;
  const std::string path = directory.file("p");
  shared_memory shared;
  auto pool = pool::create(path, with_readers());
  TypeParam map(pool, "map");
  fill(map);
  process first([&] { return read_until<TypeParam>(path, shared); });
  process second([&] { return read_until<TypeParam>(path, shared); });
  ASSERT_TRUE(eventually([&] { return shared->ready == 2; }));
  for (number round = 1; round <= 60 || shared->count < 2000; ++round) change(map, round);
  shared->stop = true;
  EXPECT_EQ(first.end(), 0);
  EXPECT_EQ(second.end(), 0);
}

TYPED_TEST(OutsideReaders, walk_over_all_keys_that_stay) {
  temp_directory directory;
  const std::string path = directory.file("p");
  shared_memory shared;
  auto pool = pool::create(path, with_readers());
  TypeParam map(pool, "map");
  fill(map);
  process walker([&] {
    pool_reader reader(path);
    const lockfree::reader<TypeParam> view(reader, "map");
    ++shared->ready;
    while (!shared->stop) {
      number seen = 0;
      bool right = true;
      view.for_each([&](number key, number value) {
        if (key <= stable) ++seen;
        right = right && value % unit == key && view.get(key).value_or(key) % unit == key;
      });
      if (!right || seen != stable) return 1;
      if constexpr (requires { view.min(); }) {
        if (view.min()->first != 1 || view.max()->first < stable) return 2;
        number in_range = 0;
        view.for_each_in(10, 20, [&](number key, number) { in_range += key >= 10 && key < 20; });
        if (in_range != 10) return 3;
      }
      ++shared->count;
    }
    return 0;
  });
  ASSERT_TRUE(eventually([&] { return shared->ready == 1; }));
  for (number round = 1; round <= 30 || shared->count < 100; ++round) change(map, round);
  shared->stop = true;
  EXPECT_EQ(walker.end(), 0);
}

/// The number of retired nodes that are not free yet.
std::size_t limbo_of(pool& of) { return of.service<reclaim::epochs<domain::native>>().in_limbo(); }

TYPED_TEST(OutsideReaders, that_are_killed_hold_nothing_back) {
  temp_directory directory;
  const std::string path = directory.file("p");
  auto pool = pool::create(path, with_readers(2));
  TypeParam map(pool, "map");
  fill(map);
  number round = 0;
  for (int killed = 0; killed < 12; ++killed) {
    shared_memory shared;
    process reader([&] { return read_until<TypeParam>(path, shared); });
    ASSERT_TRUE(eventually([&] { return shared->ready == 1; }));
    const number seen = shared->count;
    do change(map, ++round);
    while (shared->count < seen + 10);
    reader.send(SIGKILL);
    EXPECT_EQ(reader.end(), 128 + SIGKILL);
    for (int i = 0; i < 60; ++i) change(map, ++round);  // retires 5,760 nodes
    EXPECT_TRUE(eventually([&] {
      change(map, ++round);
      return limbo_of(pool) < 4000;
    }));
  }
}

TYPED_TEST(OutsideReaders, see_a_pool_after_its_close_and_after_a_kill_of_its_writer) {
  temp_directory directory;
  const std::string path = directory.file("p");
  {
    auto pool = pool::create(path, with_readers());
    TypeParam map(pool, "map");
    fill(map);
    pool.close();
  }
  pool_reader reader(path);
  const lockfree::reader<TypeParam> view(reader, "map");
  for (number round = 0; round < churned; ++round) ASSERT_EQ(look(view, round), 0);
  for (int writers = 0; writers < 3; ++writers) {
    shared_memory shared;
    process writer([&] {
      auto pool = pool::open(path, with_readers());
      TypeParam map(pool, "map");
      for (number round = 1;; ++round) {
        change(map, round);
        ++shared->count;
      }
      return 0;
    });
    ASSERT_TRUE(eventually([&] { return shared->count > 1; }));
    for (number round = 0; round < 4 * churned; ++round) ASSERT_EQ(look(view, round), 0);
    writer.send(SIGKILL);
    EXPECT_EQ(writer.end(), 128 + SIGKILL);
    for (number round = 0; round < churned; ++round) ASSERT_EQ(look(view, round), 0);
    process other([&] {  // a reader can begin now, too
      pool_reader late(path);
      const lockfree::reader<TypeParam> its_view(late, "map");
      for (number round = 0; round < churned; ++round) {
        if (const int wrong = look(its_view, round)) return wrong;
      }
      return 0;
    });
    EXPECT_EQ(other.end(), 0);
  }
}

TEST(outside_readers, that_are_stopped_are_done_without_and_go_on_rightly) {
  temp_directory directory;
  const std::string path = directory.file("p");
  shared_memory shared;
  auto pool = pool::create(path, with_readers(16, 20));
  table map(pool, "map");
  fill(map);
  process reader([&] {
    pool_reader in(path);
    const lockfree::reader<table> view(in, "map");
    ++shared->ready;
    return look_until(view, shared);
  });
  ASSERT_TRUE(eventually([&] { return shared->ready == 1; }));
  number round = 0;
  for (int stops = 0; stops < 20; ++stops) {
    reader.send(SIGSTOP);
    reader.wait_until_stopped();
    // The writer goes on without the reader, whether it was in an operation or not.
    const auto reused = [&] {
      change(map, ++round);
      return limbo_of(pool) < 4000;
    };
    for (int i = 0; i < 60; ++i) change(map, ++round);  // retires 5,760 nodes
    EXPECT_TRUE(eventually(reused));
    reader.send(SIGCONT);
    const number seen = shared->count;
    EXPECT_TRUE(eventually([&] { return shared->count > seen; }));
  }
  shared->stop = true;
  EXPECT_EQ(reader.end(), 0);
}

TEST(outside_readers, whose_walk_takes_too_long_are_told_so) {
  temp_directory directory;
  const std::string path = directory.file("p");
  shared_memory shared;
  auto pool = pool::create(path, with_readers(16, 20));
  table map(pool, "map");
  fill(map);
  process reader([&] {
    pool_reader in(path);
    const lockfree::reader<table> view(in, "map");
    bool waited = false;
    const std::optional<errc> failed = failure_of([&] {
      view.for_each([&](number, number) {
        if (std::exchange(waited, true)) return;
        ++shared->ready;
        (void)eventually([&] { return shared->stop.load(); });
      });
    });
    return failed == errc::refused && view.get(1) ? 0 : 1;
  });
  ASSERT_TRUE(eventually([&] { return shared->ready == 1; }));
  number round = 0;
  // Two epochs later everything of the epoch of the walk is free.
  EXPECT_TRUE(eventually([&] {
    for (int i = 0; i < 20; ++i) change(map, ++round);
    return limbo_of(pool) < 4000 && round > 400;
  }));
  shared->stop = true;
  EXPECT_EQ(reader.end(), 0);
}

TEST(outside_readers, share_a_limited_number_of_slots) {
  temp_directory directory;
  const std::string path = directory.file("p");
  shared_memory shared;
  auto pool = pool::create(path, with_readers(2));
  table map(pool, "map");
  fill(map);
  process first([&] { return read_until<table>(path, shared); });
  process second([&] { return read_until<table>(path, shared); });
  ASSERT_TRUE(eventually([&] { return shared->count > 100 && shared->ready == 2; }));
  std::this_thread::sleep_for(milliseconds(20));
  const auto third = [&] {
    process late([&] {
      pool_reader reader(path);
      const lockfree::reader<table> view(reader, "map");
      const std::string said = sentence_of([&] { (void)view.get(1); });
      if (said.empty()) return 0;
      return said.find("all 2 slots") != std::string::npos ? 1 : 2;
    });
    return late.end();
  };
  EXPECT_EQ(third(), 1);
  second.send(SIGKILL);
  (void)second.end();
  EXPECT_EQ(third(), 0);
  shared->stop = true;
  EXPECT_EQ(first.end(), 0);
}

TEST(outside_readers, lose_a_root_that_is_dropped) {
  temp_directory directory;
  const std::string path = directory.file("p");
  shared_memory shared;
  auto pool = pool::create(path, with_readers());
  table other(pool, "other");
  process reader([&] {
    pool_reader in(path);
    std::unique_ptr<const lockfree::reader<table>> view;
    ++shared->ready;
    for (number round = 0; !shared->stop; ++round) {
      try {
        if (!view) view = std::make_unique<const lockfree::reader<table>>(in, "map");
        const number key = 1 + round % stable;
        const std::optional<number> found = view->get(key);
        if (found && *found % unit != key) return 1;
        if (found) ++shared->count;
      } catch (const error& gone) {
        if (gone.reason() != errc::not_found) return 2;
      }
    }
    return 0;
  });
  ASSERT_TRUE(eventually([&] { return shared->ready == 1; }));
  for (number round = 1; round <= 50; ++round) {
    {
      table map(pool, "map");
      fill(map);
      const number seen = shared->count;
      EXPECT_TRUE(eventually([&] { return shared->count > seen; }));
    }
    pool.drop_root("map");
    fill(other);
    for (number key = 1; key <= 2000; ++key) other.put(key, 999);
    for (number key = 1; key <= 2000; ++key) other.erase(key);
  }
  shared->stop = true;
  EXPECT_EQ(reader.end(), 0);
}

TEST(outside_readers, walk_on_while_other_roots_are_dropped) {
  temp_directory directory;
  const std::string path = directory.file("p");
  shared_memory shared;  // counts the dropped roots
  auto pool = pool::create(path, with_readers());
  table map(pool, "map");
  fill(map);
  process walker([&] {
    pool_reader reader(path);
    const lockfree::reader<table> view(reader, "map");
    ++shared->ready;
    while (!shared->stop) {
      const number before = shared->count;
      number seen = 0;
      view.for_each([&](number key, number) {
        if (key <= stable) ++seen;
        (void)eventually([&] { return shared->count >= before + 2 || shared->stop; });
      });
      if (seen != stable) return 1;
    }
    return 0;
  });
  ASSERT_TRUE(eventually([&] { return shared->ready == 1; }));
  for (int round = 0; round < 20; ++round) {
    const std::string name = "slice " + std::to_string(round);
    {
      table slice(pool, name);
      fill(slice);
    }
    pool.drop_root(name);
    ++shared->count;
  }
  shared->stop = true;
  EXPECT_EQ(walker.end(), 0);
}

TEST(outside_readers, follow_a_pool_that_grows_and_shrinks) {
  temp_directory directory;
  const std::string path = directory.file("p");
  shared_memory shared;
  auto pool = pool::create(path, with_readers());
  table map(pool, "map");
  fill(map);
  process reader([&] { return read_until<table>(path, shared); });
  ASSERT_TRUE(eventually([&] { return shared->ready == 1; }));
  const std::size_t small = pool.size_bytes();
  for (int i = 0; i < 5; ++i) {
    {
      table large(pool, "large");
      for (number key = 1; key <= 100000; ++key) large.put(key, key);
      EXPECT_GT(pool.size_bytes(), small);
      // The newest nodes are at the end.
      process late([&] {
        pool_reader in(path);
        const lockfree::reader<table> view(in, "large");
        for (number key = 1; key <= 100000; ++key) {
          if (view.get(key) != key) return 1;
        }
        return 0;
      });
      EXPECT_EQ(late.end(), 0);
    }
    for (number round = 1; round < 10; ++round) change(map, round);
    pool.drop_root("large");
    pool.trim();
  }
  shared->stop = true;
  EXPECT_EQ(reader.end(), 0);
}

TEST(outside_readers, go_on_while_the_writer_closes_and_opens_the_pool) {
  temp_directory directory;
  const std::string path = directory.file("p");
  shared_memory shared;
  {
    auto pool = pool::create(path, with_readers());
    table map(pool, "map");
    fill(map);
    pool.close();
  }
  process reader([&] { return read_until<table>(path, shared); });
  ASSERT_TRUE(eventually([&] { return shared->ready == 1; }));
  for (number round = 1; round <= 30; ++round) {
    auto pool = pool::open(path, with_readers());
    table map(pool, "map");
    change(map, round);
    const number seen = shared->count;
    EXPECT_TRUE(eventually([&] { return shared->count > seen; }));
    pool.close();
  }
  shared->stop = true;
  EXPECT_EQ(reader.end(), 0);
}

TEST(outside_readers, wait_for_the_recovery_of_a_root) {
  temp_directory directory;
  const std::string path = directory.file("p");
  process killed([&] {
    auto pool = pool::create(path, with_readers());
    table map(pool, "map");
    fill(map);
    ::_exit(0);
    return 0;
  });
  EXPECT_EQ(killed.end(), 0);
  shared_memory shared;
  process writer([&] {
    auto pool = pool::open(path, with_readers());
    ++shared->ready;
    (void)eventually([&] { return shared->count == 1; });
    table map(pool, "map");
    ++shared->ready;
    (void)eventually([&] { return shared->stop.load(); });
    return 0;
  });
  ASSERT_TRUE(eventually([&] { return shared->ready == 1; }));
  pool_reader reader(path, {.wait_ms = 20});
  const auto look_at = [&] { const lockfree::reader<table> view(reader, "map"); };
  EXPECT_EQ(failure_of(look_at), errc::closed);
  shared->count = 1;
  ASSERT_TRUE(eventually([&] { return shared->ready == 2; }));
  EXPECT_EQ(failure_of(look_at), std::nullopt);
  EXPECT_EQ(failure_of([&] { const lockfree::reader<table> view(reader, "none"); }),
            errc::not_found);
  using other_type = lockfree::hash_table<std::uint32_t, number>;
  EXPECT_EQ(failure_of([&] { const lockfree::reader<other_type> view(reader, "map"); }),
            errc::root_type_mismatch);
  shared->stop = true;
  EXPECT_EQ(writer.end(), 0);
}

TEST(outside_readers, do_not_trust_the_caches_of_an_earlier_boot) {
  temp_directory directory;
  const std::string path = directory.file("p");
  process killed([&] {
    auto pool = pool::create(path, with_readers());
    table map(pool, "map");
    ::_exit(0);
    return 0;
  });
  EXPECT_EQ(killed.end(), 0);
  EXPECT_EQ(failure_of([&] { pool_reader reader(path); }), std::nullopt);
  pool_detail::test_hooks().boot = pool_format::boot_id{1, 2, 3};
  EXPECT_EQ(failure_of([&] { pool_reader reader(path); }), errc::refused);
  pool_detail::test_hooks().boot.reset();
}

TEST(outside_readers, use_the_instructions_of_the_writer) {
  for (const domain::kind kind : {domain::kind::adr, domain::kind::cache_persistent}) {
    temp_directory directory;
    const std::string path = directory.file("p");
    shared_memory shared;
    pool_options options = with_readers();
    options.force_domain = kind;
    using hashed = lockfree::hash_table<number, number, durable::flit<durable::tag::hashed<>>>;
    // Begun before the pool is opened: a child has the instructions that its parent uses.
    process reader([&] {
      (void)eventually([&] { return shared->count == 1 || shared->stop; });
      if (shared->stop) return 0;
      {
        pool_reader in(path);
        if (domain::native::current_kind() != kind) return 7;
        const lockfree::reader<hashed> view(in, "map");
        ++shared->ready;
        if (const int wrong = look_until(view, shared)) return wrong;
      }
      return domain::native::current_kind() == domain::kind::process ? 0 : 8;
    });
    std::error_code failed;
    const auto pool = pool::try_create(path, options, failed);
    if (!pool) {
      shared->stop = true;
      GTEST_SKIP() << failed.message();
    }
    hashed map(*pool, "map");
    fill(map);
    shared->count = 1;
    ASSERT_TRUE(eventually([&] { return shared->ready == 1; }));
    for (number round = 1; round <= 20; ++round) change(map, round);
    shared->stop = true;
    EXPECT_EQ(reader.end(), 0);
  }
}

}  // namespace
}  // namespace outlast
