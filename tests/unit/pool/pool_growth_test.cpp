// Goal: a pool grows when it is full and gives back what is free, so that its file is as long as
// its contents. Method: fill, erase and reopen pools of few pages, whose tables have many chunks,
// and compare the contents, the checks and the lengths.
#include <outlast/domain/logged_file.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/pool/check.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/tx/redo_opt.hpp>
#include <tests/support/memory_folder.hpp>
#include <tests/support/number_roots.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace outlast {
namespace {

using pool_format::run_kind;
using test::make_root;
using test::value_of;
constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t page = 4096;

std::uint64_t length_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return static_cast<std::uint64_t>(status.st_size);
}

/// Expects that a check of the open pool finds no error.
template <class Pool>
void expect_sound(Pool& target) {
  for (const pool_format::finding& one : target.check()) {
    EXPECT_NE(one.level, pool_format::severity::error) << one.sentence;
  }
}

template <class Domain>
struct Growth : testing::Test {
  using pool_type = basic_pool<Domain>;
  test::temp_directory directory;
  std::string path = directory.file("p");
};
using domains = testing::Types<domain::native, domain::process, domain::logged_file>;
TYPED_TEST_SUITE(Growth, domains);

TYPED_TEST(Growth, happens_when_the_pool_is_full) {
  using pool_type = typename TestFixture::pool_type;
  {
    auto target = pool_type::create(this->path, {.size_bytes = mib / 4, .format_version = 2});
    for (std::uint64_t i = 0; i < 300; ++i) make_root(target, std::to_string(i), i, 1 + i % 40);
    EXPECT_GT(target.size_bytes(), 20 * mib);
    expect_sound(target);
    target.close();
  }
  EXPECT_FALSE(pool_format::has_errors(pool_format::check_file(this->path)));
  auto again = pool_type::open(this->path);
  for (std::uint64_t i = 0; i < 300; ++i)
    EXPECT_EQ(value_of(again, std::to_string(i), 1 + i % 40), i);
  make_root(again, "one more", 7, 3000);
  EXPECT_EQ(value_of(again, "one more", 3000), 7u);
  expect_sound(again);
}

TYPED_TEST(Growth, is_found_after_a_kill) {
  using pool_type = typename TestFixture::pool_type;
  {
    auto target = pool_type::create(this->path, {.size_bytes = mib / 4, .format_version = 2});
    for (std::uint64_t i = 0; i < 100; ++i) make_root(target, std::to_string(i), i, 1 + i % 40);
    TypeParam::psync();
  }
  auto again = pool_type::open(this->path);
  EXPECT_TRUE(again.was_dirty());
  for (std::uint64_t i = 0; i < 100; ++i)
    EXPECT_EQ(value_of(again, std::to_string(i), 1 + i % 40), i);
  expect_sound(again);
}

TYPED_TEST(Growth, is_undone_when_the_end_is_free) {
  using pool_type = typename TestFixture::pool_type;
  auto target = pool_type::create(this->path, {.size_bytes = mib / 4, .format_version = 2});
  make_root(target, "stays", 1);
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t i = 0; i < 40; ++i) make_root(target, std::to_string(i), i, 300);
    EXPECT_GT(length_of(this->path), 40 * mib);
    for (std::uint64_t i = 0; i < 40; ++i) target.drop_root(std::to_string(i));
    target.trim();
    expect_sound(target);
    EXPECT_LT(length_of(this->path), mib);
    EXPECT_EQ(target.size_bytes(), length_of(this->path));
  }
  EXPECT_EQ(value_of(target, "stays"), 1u);
  make_root(target, "last", 5, 300);
  target.close();
  auto again = pool_type::open(this->path);
  EXPECT_EQ(value_of(again, "stays"), 1u);
  EXPECT_EQ(value_of(again, "last", 300), 5u);
  expect_sound(again);
}

TYPED_TEST(Growth, leaves_a_file_that_is_as_long_as_its_contents) {
  using pool_type = typename TestFixture::pool_type;
  {
    auto target = pool_type::create(this->path, {.format_version = 2});
    make_root(target, "a", 1, 100);
    target.close();
  }
  EXPECT_LT(length_of(this->path), 3 * mib);
  auto again = pool_type::open(this->path);
  EXPECT_EQ(value_of(again, "a", 100), 1u);
  again.close();
  EXPECT_LT(length_of(this->path), 3 * mib);
}

TYPED_TEST(Growth, stops_at_the_limit_which_can_be_changed) {
  using pool_type = typename TestFixture::pool_type;
  auto target = pool_type::create(
      this->path, {.size_bytes = mib, .capacity_bytes = 4 * mib, .format_version = 2});
  EXPECT_EQ(target.limit_bytes(), 4 * mib);
  EXPECT_THROW(make_root(target, "too large", 1, 2000), out_of_space);
  target.set_limit(16 * mib);
  EXPECT_NO_THROW(make_root(target, "large", 1, 2000));
  target.set_limit(2 * mib);  // less than what is in use
  EXPECT_THROW(make_root(target, "too large too", 1, 2500), out_of_space);
  EXPECT_EQ(value_of(target, "large", 2000), 1u);
  target.close();
  auto again = pool_type::open(this->path);
  EXPECT_EQ(again.limit_bytes(), 2 * mib);
  EXPECT_EQ(value_of(again, "large", 2000), 1u);
  again.drop_root("large");
  EXPECT_NO_THROW(make_root(again, "instead", 2, 100));
  again.set_limit(0);
  EXPECT_NO_THROW(make_root(again, "another", 3, 2500));
}

TYPED_TEST(Growth, gives_room_for_any_number_of_roots_and_regions) {
  using pool_type = typename TestFixture::pool_type;
  constexpr int roots = 300;
  constexpr int regions = 80;
  {
    auto target = pool_type::create(this->path, {.size_bytes = mib, .format_version = 2});
    for (int i = 0; i < roots; ++i) {
      make_root(target, "root " + std::to_string(i), static_cast<std::uint64_t>(i));
    }
    for (int i = 0; i < regions; ++i) {
      (void)target.reserve_region("region " + std::to_string(i), region_kind::log, page);
    }
    target.close();
  }
  EXPECT_FALSE(pool_format::has_errors(pool_format::check_file(this->path)));
  auto again = pool_type::open(this->path);
  EXPECT_EQ(again.roots().size(), static_cast<std::size_t>(roots));
  EXPECT_EQ(again.regions().size(), static_cast<std::size_t>(regions));
  for (int i = 0; i < roots; i += 7) {
    EXPECT_EQ(value_of(again, "root " + std::to_string(i)), static_cast<std::uint64_t>(i));
  }
  for (int i = 0; i < roots; ++i) again.drop_root("root " + std::to_string(i));
  EXPECT_TRUE(again.roots().empty());
  make_root(again, "new", 1);
  expect_sound(again);
}

TEST(GrowthOf, a_region_takes_no_space_between) {
  test::temp_directory directory;
  const std::string path = directory.file("p");
  auto target = pool::create(path, {.size_bytes = 64 * mib, .format_version = 2});
  const region_info large = target.reserve_region("large", region_kind::log, 3000 * mib);
  EXPECT_EQ(large.bytes, 3000 * mib);
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_LT(static_cast<std::size_t>(status.st_blocks) * 512, 8 * mib);
  EXPECT_LT(length_of(path), 3300 * mib);
  target.commit_region("large", 0, 2999 * mib, mib);
  std::memset(large.address + 2999 * mib, 1, mib);
  make_root(target, "after", 1, 10);
  expect_sound(target);
}

TEST(GrowthOf, two_managers_of_default_size_fit_into_one_pool) {
  test::temp_directory directory;
  auto target = pool::create(directory.file("p"), {.format_version = 2});
  const tx::redo_opt first(target, "first");
  const tx::redo_opt second(target, "second");
  const tx::redo_opt third(target, "third");
}

TEST(GrowthOf, many_threads_is_one_growth_at_a_time) {
  test::temp_directory directory;
  pool_detail::test_hooks().space_bytes = 2 * mib;  // it is extended several times
  auto target = pool::create(directory.file("p"), {.size_bytes = mib / 4, .format_version = 2});
  constexpr std::uint32_t threads = 4;
  constexpr std::uint32_t runs = 400;
  std::vector<std::vector<std::byte*>> mine(threads);
  {
    std::vector<std::jthread> all;
    for (std::uint32_t t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        for (std::uint32_t i = 0; i < runs; ++i) {
          const std::uint32_t pages = 1 + (i * 7 + t) % 20;
          auto* const run = static_cast<std::byte*>(target.pages().allocate_run(
              run_kind::large, 0, 1, pages, std::uint64_t{pages} * page));
          std::memset(run, static_cast<int>(t + 1), std::size_t{pages} * page);
          mine[t].push_back(run);
          if (i % 3 == 2) {
            target.pages().free_run(mine[t].front());
            mine[t].erase(mine[t].begin());
          }
          if (i % 50 == 49) target.trim();
        }
      });
    }
  }
  pool_detail::test_hooks() = {};
  EXPECT_GT(target.address_space_bytes(), 16 * mib);
  for (std::uint32_t t = 0; t < threads; ++t) {
    for (const std::byte* run : mine[t]) {
      EXPECT_EQ(run[0], std::byte(t + 1));
      EXPECT_EQ(run[page - 1], std::byte(t + 1));
    }
  }
}

TEST(GrowthOf, a_pool_on_a_full_device_fails_and_goes_on) {
  test::temp_directory directory;
  auto target = pool::create(directory.file("p"), {.size_bytes = mib, .format_version = 2});
  make_root(target, "a", 1, 100);
  pool_detail::test_hooks().fallocate_fails = ENOSPC;
  EXPECT_THROW(make_root(target, "b", 1, 4000), out_of_space);
  target.drop_root("a");
  pool_detail::test_hooks() = {};
  EXPECT_NO_THROW(make_root(target, "c", 2, 4000));
  EXPECT_EQ(value_of(target, "c", 4000), 2u);
  expect_sound(target);
}

TEST(GrowthOf, damaged_words_is_refused) {
  test::temp_directory directory;
  const std::string path = directory.file("p");
  {
    auto target = pool::create(path, {.size_bytes = mib / 4, .format_version = 2});
    make_root(target, "a", 1, 200);
    target.close();
  }
  pool_format::header_page header{};
  std::FILE* const file = std::fopen(path.c_str(), "r+b");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(std::fread(static_cast<void*>(&header), sizeof header, 1, file), 1u);
  const auto words = static_cast<long>(header.fixed.line_table_offset - page);
  std::fseek(file, words + 8, SEEK_SET);  // of the second chunk of descriptors
  std::uint64_t word = 0;
  ASSERT_EQ(std::fread(&word, sizeof word, 1, file), 1u);
  EXPECT_NE(word, 0u);
  word ^= 4;
  std::fseek(file, words + 8, SEEK_SET);
  ASSERT_EQ(std::fwrite(&word, sizeof word, 1, file), 1u);
  std::fclose(file);
  EXPECT_THROW((void)pool::open(path), corruption);
  EXPECT_TRUE(pool_format::has_errors(pool_format::check_file(path)));
}

/// A crash between the name of a chunk and the size leaves a name beyond the pool.
TEST(GrowthOf, a_pool_forgets_chunks_of_a_growth_that_was_interrupted) {
  test::temp_directory directory;
  const std::string path = directory.file("p");
  pool::create(path, {.size_bytes = 64 * page, .format_version = 2}).close();
  pool_format::header_page header{};
  std::FILE* const file = std::fopen(path.c_str(), "r+b");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(std::fread(static_cast<void*>(&header), sizeof header, 1, file), 1u);
  // Chunk 2 describes pages from 128 on. A pool of 120 pages does not need it.
  const std::uint64_t word =
      pool_format::growth_word(pool_format::growth_table::descriptors, 2, 100);
  std::fseek(file, static_cast<long>(header.fixed.line_table_offset - page) + 16, SEEK_SET);
  ASSERT_EQ(std::fwrite(&word, sizeof word, 1, file), 1u);
  std::fclose(file);
  {
    auto target = pool::open(path, {.size_bytes = 120 * page, .capacity_bytes = 120 * page});
    for (std::uint64_t i = 0; i < 70; ++i) make_root(target, std::to_string(i), i);
  }
  EXPECT_FALSE(pool_format::has_errors(pool_format::check_file(path)));
  auto again = pool::open(path);
  for (std::uint64_t i = 0; i < 70; ++i) EXPECT_EQ(value_of(again, std::to_string(i)), i);
  again.set_limit(0);
  make_root(again, "large", 7, 3000);
  EXPECT_EQ(value_of(again, "large", 3000), 7u);
  for (std::uint64_t i = 0; i < 70; ++i) EXPECT_EQ(value_of(again, std::to_string(i)), i);
  expect_sound(again);
}

TEST(GrowthOf, a_pool_is_not_caused_by_requests_that_cannot_fit) {
  test::temp_directory directory;
  const std::string path = directory.file("p");
  auto target = pool::create(path, {.size_bytes = mib, .format_version = 2});
  const std::uint64_t before = length_of(path);
  for (const unsigned bits : {42U, 43U}) {
    EXPECT_THROW((void)target.reserve_region("r", region_kind::log, std::size_t{1} << bits),
                 out_of_space);
    EXPECT_EQ(length_of(path), before);
  }
  target.set_limit(8 * mib);
  EXPECT_THROW((void)target.reserve_region("r", region_kind::log, 16 * mib), out_of_space);
  EXPECT_EQ(length_of(path), before);
  expect_sound(target);
}

// Reading a hole of a file in memory takes a page, and SIGBUS follows if there is none.
TEST(GrowthOf, a_pool_leaves_holes_between_descriptors_after_a_kill) {
  const test::scratch_folder folder;
  const std::string path = (folder.path() / "p").string();
  const auto blocks = [&path] {
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_blocks;
  };
  {
    auto target = pool::create(path, {.size_bytes = 64 * mib});
    make_root(target, "a", 1);
    (void)target.reserve_region("far away", region_kind::log, 256 * mib);
  }
  const auto before = blocks();
  {
    auto again = pool::open(path);
    again.drop_root("a");
    EXPECT_EQ(again.regions().size(), 1U);
    EXPECT_LT(blocks(), before + 512 * 1024 / 512);
    expect_sound(again);
  }
}

// The descriptors of these runs were in a hole of the file when the pool was opened.
TEST(GrowthOf, a_pool_after_a_kill_shows_runs_that_were_made_since) {
  const test::scratch_folder folder;
  const std::string path = (folder.path() / "p").string();
  {
    auto target = pool::create(path, {.size_bytes = 64 * mib});
    make_root(target, "a", 1);
  }
  auto again = pool::open(path);
  const auto runs = [&again] {
    int count = 0;
    again.pages().for_each_run([&](std::uint32_t, const auto&) { ++count; });
    return count;
  };
  const int before = runs();
  EXPECT_GE(before, 1);
  for (std::uint64_t i = 0; i < 4; ++i) make_root(again, std::to_string(i), i, 1000);
  EXPECT_GE(runs(), before + 4);
  again.drop_root("3");
  EXPECT_GE(runs(), before + 3);
  expect_sound(again);
}

TEST(GrowthOf, a_pool_of_format_1_ends_at_its_capacity) {
  test::temp_directory directory;
  auto target = pool::create(directory.file("p"),
                             {.size_bytes = mib, .capacity_bytes = 8 * mib, .format_version = 1});
  for (std::uint64_t i = 0; i < 6; ++i) make_root(target, std::to_string(i), i, 250);
  EXPECT_THROW(make_root(target, "large", 1, 2000), out_of_space);
  EXPECT_THROW(target.set_limit(64 * mib), error);
  expect_sound(target);
}

// ---- Space of erased items ----

using table = lockfree::hash_table<std::uint64_t, std::array<char, 1000>>;
constexpr std::uint64_t keys = 20'000;  // of 20 MiB

void fill(table& all, std::uint64_t first) {
  for (std::uint64_t key = first; key < first + keys; ++key) ASSERT_TRUE(all.insert(key));
}
/// Erases all but the last tenth.
void erase_most(table& all, std::uint64_t first) {
  for (std::uint64_t key = first; key < first + keys * 9 / 10; ++key) ASSERT_TRUE(all.erase(key));
}
void expect_the_rest(table& all, std::uint64_t first) {
  for (std::uint64_t key = first; key < first + keys; ++key) {
    EXPECT_EQ(all.contains(key), key >= first + keys * 9 / 10);
  }
}

std::uint64_t stored_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

TEST(SpaceOf, erased_items_returns_to_the_file_system_by_a_trim) {
  test::temp_directory directory;
  const std::string path = directory.file("p");
  auto target = pool::create(path, {.size_bytes = mib, .format_version = 2});
  table all(target, "table");
  fill(all, 0);
  EXPECT_GT(stored_of(path), 20 * mib);
  erase_most(all, 0);
  target.trim();
  EXPECT_LT(stored_of(path), 8 * mib);
  expect_the_rest(all, 0);
  fill(all, keys);
  erase_most(all, keys);
  target.trim();
  EXPECT_LT(stored_of(path), 10 * mib);
  expect_the_rest(all, 0);
  expect_the_rest(all, keys);
  expect_sound(target);
}

TEST(SpaceOf, erased_items_returns_to_the_file_system_by_a_close) {
  test::temp_directory directory;
  const std::string path = directory.file("p");
  for (std::uint64_t round = 0; round < 3; ++round) {
    auto target = pool::open_or_create(path, {.size_bytes = mib, .format_version = 2});
    {
      table all(target, "table");
      if (round != 0) expect_the_rest(all, (round - 1) * keys);
      fill(all, round * keys);
      erase_most(all, round * keys);
    }
    target.close();
    EXPECT_LT(stored_of(path), (8 + 2 * round) * mib);
    EXPECT_FALSE(pool_format::has_errors(pool_format::check_file(path)));
  }
}

TEST(SpaceOf, erased_items_is_trimmed_while_others_insert) {
  test::temp_directory directory;
  auto target = pool::create(directory.file("p"), {.size_bytes = mib, .format_version = 2});
  {
    table all(target, "table");
    std::thread inserts([&all] {
      for (std::uint64_t round = 0; round < 4; ++round) {
        fill(all, round * keys);
        erase_most(all, round * keys);
      }
    });
    for (int i = 0; i < 20; ++i) target.trim();
    inserts.join();
    for (std::uint64_t round = 0; round < 4; ++round) expect_the_rest(all, round * keys);
  }
  target.close();
  EXPECT_FALSE(pool_format::has_errors(pool_format::check_file(directory.file("p"))));
}

TEST(SpaceOf, roots_that_were_dropped_is_no_business_of_a_trim) {
  test::temp_directory directory;
  auto target = pool::create(directory.file("p"), {.size_bytes = mib, .format_version = 2});
  {
    table all(target, "table");
    fill(all, 0);
  }
  target.drop_root("table");
  EXPECT_NO_THROW(target.trim());
  table again(target, "table");
  fill(again, 0);
  expect_sound(target);
}

/// The device must have the length before the state, and the state before the pages are used.
TEST(GrowthOn, a_disk_syncs_the_state_in_each_step) {
  test::temp_directory directory;
  auto target = pool::create(directory.file("p"), {.size_bytes = mib, .format_version = 2});
  unsigned syncs = 0;
  pool_detail::test_hooks().on_sync = [&] {
    ++syncs;
    return 0;
  };
  target.grow(8 * mib);
  EXPECT_EQ(syncs, 1u);
  target.grow(16 * mib);
  EXPECT_EQ(syncs, 2u);
  pool_detail::test_hooks() = {};
  expect_sound(target);
}

TEST(GrowthOn, a_disk_that_fails_is_no_growth) {
  test::temp_directory directory;
  auto target = pool::create(directory.file("p"), {.size_bytes = mib, .format_version = 2});
  pool_detail::test_hooks().on_sync = [] { return EIO; };
  EXPECT_THROW(target.grow(8 * mib), error);
  pool_detail::test_hooks() = {};
  EXPECT_EQ(target.size_bytes(), mib);
  EXPECT_NO_THROW(target.grow(8 * mib));
  make_root(target, "a", 1, 1500);
  EXPECT_EQ(value_of(target, "a", 1500), 1u);
  expect_sound(target);
}

TEST(CutOn, a_disk_does_not_stop_the_growth_of_other_threads) {
  test::temp_directory directory;
  const std::string path = directory.file("p");
  auto target = pool::create(path, {.size_bytes = mib, .format_version = 2});
  make_root(target, "kept", 1);
  make_root(target, "dropped", 2, 4000);
  std::atomic<bool> has_begun{false};
  std::future<void> growth;
  bool has_grown = false;
  pool_detail::test_hooks().on_sync = [&] {
    if (has_begun.exchange(true)) return 0;
    growth = std::async(std::launch::async, [&] {
      target.grow(40 * mib);
      make_root(target, "later", 3, 6000);
    });
    has_grown = growth.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
    return 0;
  };
  target.drop_root("dropped");
  pool_detail::test_hooks() = {};
  ASSERT_TRUE(has_begun);
  growth.get();
  EXPECT_TRUE(has_grown) << "the thread waits for the device";
  EXPECT_GE(target.size_bytes(), 40 * mib);
  expect_sound(target);
  EXPECT_EQ(value_of(target, "later", 6000), 3U);
  target.drop_root("later");  // cuts off the rest
  EXPECT_LT(length_of(path), 2 * mib);
  target.close();
  auto again = pool::open(path);
  EXPECT_EQ(value_of(again, "kept", 1), 1U);
  expect_sound(again);
}

}  // namespace
}  // namespace outlast
