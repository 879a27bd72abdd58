// Goal: the figures of a pool's space are those of its blocks, add up to the length of the file,
// and predict what a close cuts off.
// Method: fill, erase from and drop roots of pools of few pages, and compare with what was
// allocated and with the length of the file; damaged files, at random.
#include <outlast/alloc/arena.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/lockfree/harris_list.hpp>
#include <outlast/pool/check.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/pool/usage.hpp>
#include <outlast/root/root_session.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <sys/stat.h>

namespace outlast {
namespace {

using pool_type = basic_pool<domain::process>;
using arena_type = alloc::arena<domain::process>;
constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::uint64_t page = 4096;

/// Figures that hold for every pool.
void expect_sums(const pool_usage& used) {
  EXPECT_EQ(used.pool_bytes, used.table_bytes + used.root_bytes + used.region_bytes +
                                 used.unowned_bytes + used.free_bytes);
  EXPECT_EQ(used.root_bytes + used.region_bytes,
            used.live_bytes + used.retained_bytes + used.unknown_bytes);
  EXPECT_LE(used.largest_free_bytes, used.free_bytes);
  EXPECT_LE(used.cut_bytes, used.pool_bytes);
  EXPECT_LE(used.cut_bytes, used.tail.cut_without_it_bytes);
  for (const owner_usage& each : used.owners) {
    EXPECT_LE(each.live_bytes.value_or(0), each.held_bytes);
    EXPECT_LE(each.end_offset, used.pool_bytes);
  }
}

file_usage usage_of(const std::string& path) {
  file_usage used = pool_format::file_view(path).usage();
  expect_sums(used.pool);
  EXPECT_LE(used.free_stored_bytes.value_or(0), used.pool.free_bytes);
  EXPECT_GE(used.file_bytes, used.pool.pool_bytes);
  return used;
}

std::uint64_t length_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return static_cast<std::uint64_t>(status.st_size);
}

const owner_usage& owner_of(const pool_usage& used, const std::string& name) {
  static const owner_usage none;
  for (const owner_usage& each : used.owners) {
    if (each.name == name) return each;
  }
  ADD_FAILURE() << "no owner " << name;
  return none;
}
const owner_usage& owner_of(const file_usage& used, const std::string& name) {
  return owner_of(used.pool, name);
}

struct Usage : testing::Test {
  test::temp_directory directory;
  std::string path = directory.file("p");

  [[nodiscard]] pool_type make(std::uint32_t version = 2) const {
    return pool_type::create(
        path, {.size_bytes = mib / 2, .capacity_bytes = 64 * mib, .format_version = version});
  }

  /// Makes a root of `small` blocks of 64 bytes, of which every third is freed, and a block of
  /// `large_bytes`.
  static void fill(pool_type& target, const std::string& name, std::size_t small,
                   std::size_t large_bytes) {
    const attached_root root = target.attach_root(name, "blocks", 1, true);
    arena_type blocks(target.pages(), root.index);
    std::vector<void*> all;
    for (std::size_t i = 0; i < small; ++i) all.push_back(blocks.allocate(64));
    void* const object = blocks.allocate(large_bytes);
    for (std::size_t i = 0; i < small; i += 3) blocks.deallocate(all[i]);
    target.publish_root(root.index, object);
    blocks.save_occupancy();
    target.detach_root(root.index, true);
  }
  static constexpr std::uint64_t live_of(std::uint64_t small, std::uint64_t large_bytes) {
    return (small - (small + 2) / 3) * 64 + (large_bytes + page - 1) / page * page;
  }
};

TEST_F(Usage, counts_the_blocks_in_use_of_each_root) {
  for (const std::uint32_t version : {1U, 2U}) {
    pool_type target = make(version);
    fill(target, "a", 1000, 100'000);
    fill(target, "b", 70, 20'000);
    (void)target.reserve_region("log", region_kind::log, 10'000, 2);
    target.close();
    const file_usage used = usage_of(path);
    EXPECT_EQ(used.pool.owners.size(), 3u);
    EXPECT_EQ(owner_of(used, "a").live_bytes, live_of(1000, 100'000));
    EXPECT_EQ(owner_of(used, "b").live_bytes, live_of(70, 20'000));
    EXPECT_EQ(owner_of(used, "log").live_bytes, 20'000u);
    EXPECT_GE(owner_of(used, "log").held_bytes, 6 * page);
    EXPECT_TRUE(owner_of(used, "log").is_region);
    EXPECT_EQ(used.pool.unknown_bytes, 0u);
    EXPECT_EQ(used.pool.unowned_bytes, 0u);
    EXPECT_EQ(used.file_bytes, used.pool.pool_bytes);
    EXPECT_EQ(used.file_bytes, length_of(path));
    std::filesystem::remove(path);
  }
}

TEST_F(Usage, of_a_root_in_use_is_unknown_until_it_is_recovered) {
  {
    pool_type target = make();
    fill(target, "clean", 100, 50'000);
    fill(target, "dirty", 100, 50'000);
    (void)target.attach_root("dirty", "blocks", 1, true);
    const file_usage open = usage_of(path);
    EXPECT_EQ(owner_of(open, "clean").live_bytes, live_of(100, 50'000));
    EXPECT_FALSE(owner_of(open, "dirty").live_bytes.has_value());
    EXPECT_FALSE(owner_of(open, "dirty").retained_bytes().has_value());
  }
  const file_usage killed = usage_of(path);
  EXPECT_EQ(killed.pool.unknown_bytes, owner_of(killed, "dirty").held_bytes);
  EXPECT_EQ(owner_of(killed, "clean").live_bytes, live_of(100, 50'000));
}

TEST_F(Usage, predicts_what_a_close_cuts_off) {
  {
    pool_type target = make();
    fill(target, "first", 10, 5000);
    fill(target, "small", 1000, 200'000);
    fill(target, "large", 10, 20 * mib);
    fill(target, "last", 10, 300'000);
  }  // killed
  const file_usage killed = usage_of(path);
  EXPECT_GT(killed.pool.cut_bytes, 0u);
  EXPECT_EQ(killed.pool.tail.kind, "root");
  {
    pool_type::open(path).close();
  }
  EXPECT_EQ(length_of(path), killed.pool.pool_bytes - killed.pool.cut_bytes);
  for (int left = 4; left > 0; --left) {
    const file_usage closed = usage_of(path);
    EXPECT_EQ(closed.pool.cut_bytes, 0u);
    ASSERT_EQ(closed.pool.tail.kind, "root");
    const std::uint64_t then = length_of(path) - closed.pool.tail.cut_without_it_bytes;
    pool_type target = pool_type::open(path);
    target.drop_root(closed.pool.tail.name);
    target.close();
    EXPECT_EQ(length_of(path), then) << closed.pool.tail.name;
  }
  const file_usage empty = usage_of(path);
  EXPECT_EQ(empty.pool.root_bytes, 0u);
  EXPECT_EQ(empty.pool.tail.kind, "table");
}

TEST_F(Usage, names_the_table_at_the_end) {
  {
    pool_type target = make();
    for (int i = 0; i < 40; ++i) fill(target, std::to_string(i), 1, 8192);
    for (int i = 0; i < 40; ++i) target.drop_root(std::to_string(i));
    target.close();
  }
  const file_usage used = usage_of(path);
  EXPECT_EQ(used.pool.tail.kind, "table");
  EXPECT_EQ(used.pool.tail.name, "roots");
  EXPECT_EQ(used.pool.tail.end_offset, length_of(path));
  EXPECT_EQ(used.pool.tables[1].name, "roots");
  EXPECT_EQ(used.pool.tables[1].chunks, 2u);
  EXPECT_EQ(used.pool.tables[1].entries, 64u);
}

TEST_F(Usage, counts_the_free_pages_that_take_space) {
  {
    pool_type target = make();
    fill(target, "goes", 1, 4 * mib);
    fill(target, "stays", 1, 6 * mib);
    target.drop_root("goes");
    target.close();
  }
  const file_usage used = usage_of(path);
  EXPECT_GE(used.pool.free_bytes, 4 * mib);
  EXPECT_LT(used.free_stored_bytes.value_or(0), mib);
}

TEST_F(Usage, of_an_open_pool_is_that_of_its_file) {
  pool_type target = make();
  for (int i = 0; i < 40; ++i) fill(target, std::to_string(i), 1000, 100'000);
  (void)target.reserve_region("log", region_kind::log, 10'000, 2);
  target.drop_root("7");
  const attached_root root = target.attach_root("8", "blocks", 1, true);
  const pool_usage open = target.usage();
  const pool_usage file = usage_of(path).pool;
  expect_sums(open);
  EXPECT_EQ(open.pool_bytes, target.size_bytes());
  EXPECT_EQ(open.pool_bytes, file.pool_bytes);
  EXPECT_EQ(open.table_bytes, file.table_bytes);
  EXPECT_EQ(open.root_bytes, file.root_bytes);
  EXPECT_EQ(open.region_bytes, file.region_bytes);
  EXPECT_EQ(open.live_bytes, file.live_bytes);
  EXPECT_EQ(open.unknown_bytes, owner_of(open, "8").held_bytes);
  EXPECT_EQ(open.free_bytes, file.free_bytes);
  EXPECT_EQ(open.cut_bytes, file.cut_bytes);
  EXPECT_EQ(open.tail.name, file.tail.name);
  EXPECT_EQ(open.tables[1].entries, file.tables[1].entries);
  target.detach_root(root.index, true);
}

TEST_F(Usage, of_an_open_pool_has_the_blocks_of_attached_structures) {
  using list = lockfree::harris_list<std::uint64_t, std::uint64_t>;
  const auto live_of_list = [&](pool& in) {
    const pool_usage used = roots::usage_of(in);
    expect_sums(used);
    EXPECT_EQ(used.unknown_bytes, 0U);
    return owner_of(used, "list").live_bytes.value_or(0);
  };
  std::uint64_t at_close = 0;
  {
    auto target =
        pool::create(path, {.size_bytes = mib, .capacity_bytes = 64 * mib, .format_version = 2});
    list items(target, "list");
    for (std::uint64_t i = 0; i < 100; ++i) items.insert(i, i);
    const std::uint64_t few = live_of_list(target);
    for (std::uint64_t i = 100; i < 3100; ++i) items.insert(i, i);
    at_close = live_of_list(target);
    EXPECT_GE(at_close, few + 3000 * 24 - 4096);
  }
  {
    auto target = pool::open(path);  // recovers
    const list items(target, "list");
    EXPECT_LE(live_of_list(target), at_close);
    EXPECT_GE(live_of_list(target), 3100U * 24);
    at_close = live_of_list(target);
  }
  {
    pool::open(path).close();
  }
  {
    auto target = pool::open(path);
    {
      const list items(target, "list");
    }
    target.close();
  }
  EXPECT_LE(owner_of(usage_of(path), "list").live_bytes, at_close);
  auto target = pool::open(path);  // nothing is read yet
  list items(target, "list");
  const std::uint64_t unread = live_of_list(target);
  EXPECT_EQ(unread, owner_of(usage_of(path), "list").live_bytes.value_or(unread));
  EXPECT_GE(unread, 3100U * 24);
  std::jthread writer([&] {
    for (std::uint64_t i = 0; i < 20'000; ++i) items.put(i % 5000, i);
  });
  for (int i = 0; i < 20; ++i) EXPECT_GE(live_of_list(target), unread / 2);
}

TEST_F(Usage, of_a_damaged_pool_throws_or_adds_up) {
  {
    pool_type target = make();
    fill(target, "a", 1000, 100'000);
    fill(target, "b", 10, 8000);
    (void)target.reserve_region("log", region_kind::log, 10'000, 2);
    target.close();
  }
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> sound{std::istreambuf_iterator<char>(in), {}};
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    std::vector<char> damaged = sound;
    for (int i = 0; i < 20; ++i) {
      const std::size_t from = round % 2 == 0 ? page : 0;
      damaged[from + random() % (damaged.size() / 4 - from)] = static_cast<char>(random());
    }
    const std::string bad = directory.file("bad");
    std::ofstream(bad, std::ios::binary | std::ios::trunc)
        .write(damaged.data(), static_cast<std::streamsize>(damaged.size()));
    const pool_format::file_view view(bad);
    if (view.problem().empty()) {
      const pool_usage used = view.usage().pool;
      EXPECT_EQ(used.root_bytes + used.region_bytes,
                used.live_bytes + used.retained_bytes + used.unknown_bytes);
    } else {
      EXPECT_THROW((void)view.usage(), error);
    }
  }
}

}  // namespace
}  // namespace outlast
