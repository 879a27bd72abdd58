// Goal: a pool that fills its reserved addresses reserves more while it is open. If the process
// cannot have more, an error names the obstacle and the remedy, and nothing is lost.
// Method: pools with a first range of 8 MiB; mappings after the range; children with RLIMIT_AS,
// which are killed, which read, and which are forked after an extension.
#include <outlast/domain.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/pool/check.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/pool/replica_pair.hpp>
#include <tests/support/number_roots.hpp>
#include <tests/support/reading_processes.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

namespace outlast {
namespace {

using test::make_root;
using test::process;
using test::value_of;
constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t page = 4096;
constexpr std::size_t first_range = 8 * mib;
constexpr std::uint32_t mib_pages = mib / page;

template <class Pool>
void make_roots(Pool& target, std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t i = first; i < end; ++i) make_root(target, std::to_string(i), i, mib_pages);
}
template <class Pool>
void expect_roots(Pool& target, std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t i = first; i < end; ++i) {
    EXPECT_EQ(value_of(target, std::to_string(i), mib_pages), i);
  }
  for (const pool_format::finding& one : target.check()) {
    EXPECT_NE(one.level, pool_format::severity::error) << one.sentence;
  }
}

/// Returns the text of the out_of_space that `action` throws; "" if it throws none.
template <class Action>
std::string lack_of(Action&& action) {
  try {
    action();
  } catch (const out_of_space& full) {
    return full.what();
  }
  return "";
}

void expect_words(const std::string& sentence, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    EXPECT_NE(sentence.find(word), std::string::npos) << word << " in: " << sentence;
  }
}

std::string hexadecimal(std::uintptr_t address) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(address));
  return text.data();
}

/// A page at an address that nothing else uses.
class obstacle {
 public:
  explicit obstacle(std::uintptr_t address)
      : got_(::mmap(reinterpret_cast<void*>(address), page, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0)) {
    EXPECT_EQ(got_, reinterpret_cast<void*>(address));
  }
  ~obstacle() { ::munmap(got_, page); }
  obstacle(const obstacle&) = delete;
  obstacle& operator=(const obstacle&) = delete;

 private:
  void* got_;
};

constexpr pool_options small{.size_bytes = mib};

class AddressSpace : public testing::Test {
 protected:
  AddressSpace() { pool_detail::test_hooks().space_bytes = first_range; }
  ~AddressSpace() override { pool_detail::test_hooks() = {}; }

  test::temp_directory directory_;
  std::string path_ = directory_.file("p");
};

template <class Domain>
class AddressSpaceUnder : public AddressSpace {};
using domains = testing::Types<domain::native, domain::process, domain::file, domain::logged_file>;
TYPED_TEST_SUITE(AddressSpaceUnder, domains);

TYPED_TEST(AddressSpaceUnder, grows_with_the_pool) {
  using pool_type = basic_pool<TypeParam>;
  {
    auto target = pool_type::create(this->path_, small);
    EXPECT_EQ(target.address_space_bytes(), first_range);
    EXPECT_GT(target.capacity_bytes(), std::size_t{1} << 30);
    unsigned extensions = 0;
    for (std::uint64_t i = 0; i < 60; ++i) {
      const std::size_t before = target.address_space_bytes();
      make_root(target, std::to_string(i), i, mib_pages);
      if (target.address_space_bytes() != before) ++extensions;
    }
    EXPECT_GE(extensions, 3U);
    EXPECT_GE(target.address_space_bytes(), target.size_bytes());
    expect_roots(target, 0, 60);
    target.close();
  }
  auto again = pool_type::open(this->path_, small);
  expect_roots(again, 0, 60);
  const std::size_t before = again.address_space_bytes();
  again.grow(before + 40 * mib);
  EXPECT_EQ(again.size_bytes(), before + 40 * mib);
  EXPECT_GT(again.address_space_bytes(), before);
  make_roots(again, 60, 80);
  expect_roots(again, 0, 80);
  for (std::uint64_t i = 0; i < 80; i += 2) again.drop_root(std::to_string(i));
  again.trim();
  for (std::uint64_t i = 1; i < 80; i += 2) again.drop_root(std::to_string(i));
  again.trim();
  EXPECT_LT(again.size_bytes(), 4 * mib);
  make_roots(again, 0, 30);
  expect_roots(again, 0, 30);
}

TYPED_TEST(AddressSpaceUnder, holds_everything_after_a_kill) {
  using pool_type = basic_pool<TypeParam>;
  process writer([&] {
    auto target = pool_type::create(this->path_, small);
    make_roots(target, 0, 40);
    ::raise(SIGKILL);
    return 0;
  });
  EXPECT_EQ(writer.end(), 128 + SIGKILL);
  auto again = pool_type::open(this->path_, small);
  EXPECT_TRUE(again.was_dirty());
  expect_roots(again, 0, 40);
  make_roots(again, 40, 60);
  expect_roots(again, 0, 60);
}

TEST_F(AddressSpace, of_blocks_grows_with_the_pool) {
  using table = lockfree::hash_table<std::uint64_t, std::array<char, 1000>>;
  constexpr std::uint64_t keys = 30'000;
  auto target = pool::create(path_, small);
  {
    table all(target, "table");
    for (int round = 0; round < 2; ++round) {
      for (std::uint64_t key = 0; key < keys; ++key) ASSERT_TRUE(all.insert(key));
      EXPECT_GT(target.address_space_bytes(), 2 * first_range);
      for (std::uint64_t key = 0; key < keys; ++key) ASSERT_TRUE(all.erase(key));
      target.trim();
    }
    for (std::uint64_t key = 0; key < keys; ++key) ASSERT_TRUE(all.insert(key));
  }
  target.close();
  auto again = pool::open(path_);
  table all(again, "table");
  for (std::uint64_t key = 0; key < keys; ++key) ASSERT_TRUE(all.contains(key));
}

TEST_F(AddressSpace, is_extended_while_threads_use_the_pool) {
  auto target = pool::create(path_, small);
  constexpr std::uint64_t each = 8'000;
  using table = lockfree::hash_table<std::uint64_t, std::array<char, 1000>>;
  table all(target, "table");
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (std::uint64_t key = t * each; key < (t + 1) * each; ++key) {
          EXPECT_TRUE(all.insert(key));
          EXPECT_TRUE(key % 3 != 0 || all.erase(key));
        }
      });
    }
  }
  EXPECT_GT(target.address_space_bytes(), 2 * first_range);
  for (std::uint64_t key = 0; key < 4 * each; ++key) EXPECT_EQ(all.contains(key), key % 3 != 0);
}

TEST_F(AddressSpace, that_is_blocked_is_an_error_and_nothing_is_lost) {
  std::optional<obstacle> blocks;
  {
    auto target = pool::create(path_, small);
    make_roots(target, 0, 4);
    blocks.emplace(target.base() + first_range);
    std::uint64_t made = 4;
    const std::string lack = lack_of([&] {
      for (;; ++made) make_root(target, std::to_string(made), made, mib_pages);
    });
    expect_words(lack, {path_, "close the pool and open it again", "maps it where",
                        std::to_string(first_range), "another mapping begins at",
                        hexadecimal(target.base() + first_range)});
    expect_words(lack_of([&] { target.grow(64 * mib); }), {path_, "67108864", "another mapping"});
    EXPECT_GE(made, 6U);
    EXPECT_LE(target.size_bytes(), first_range);
    expect_roots(target, 0, made);
    target.drop_root("1");
    make_root(target, "1", 1, mib_pages);
    expect_roots(target, 0, made);
    target.close();
    auto again = pool::open(path_, small);
    make_roots(again, made, made + 20);
    expect_roots(again, 0, made + 20);
    EXPECT_GT(again.size_bytes(), 2 * first_range);
  }
  auto last = pool::open(path_);
  expect_roots(last, 0, 20);
}

TEST_F(AddressSpace, grows_again_when_the_obstacle_is_gone) {
  auto target = pool::create(path_, small);
  {
    const obstacle blocks(target.base() + first_range);
    EXPECT_NE(lack_of([&] { make_roots(target, 0, 20); }), "");
  }
  make_root(target, "large", 7, 30 * mib_pages);
  EXPECT_EQ(value_of(target, "large", 30 * mib_pages), 7U);
}

TEST_F(AddressSpace, is_extended_up_to_an_obstacle) {
  auto target = pool::create(path_, small);
  const obstacle blocks(target.base() + first_range + 6 * mib);
  EXPECT_NE(lack_of([&] { make_roots(target, 0, 40); }), "");
  EXPECT_EQ(target.address_space_bytes(), first_range + 6 * mib);
  EXPECT_GE(target.size_bytes(), first_range + 4 * mib);
  expect_roots(target, 0, 11);
}

/// A pool that has room for its present contents stays at its address.
TEST_F(AddressSpace, for_one_large_run_is_found_by_an_opening_with_its_size) {
  auto target = pool::create(path_, small);
  make_roots(target, 0, 1);
  const obstacle blocks(target.base() + first_range);
  const std::string lack = lack_of([&] { make_root(target, "large", 1, 40 * mib_pages); });
  expect_words(lack, {"with a pool_options::size_bytes of "});
  const std::string words = "size_bytes of ";
  const std::size_t size = std::stoull(lack.substr(lack.find(words) + words.size()));
  EXPECT_LT(target.size_bytes(), first_range);
  target.close();
  auto again = pool::open(path_, {.size_bytes = size});
  make_root(again, "large", 1, 40 * mib_pages);
  expect_roots(again, 0, 1);
}

TEST_F(AddressSpace, ends_at_the_base_of_an_earlier_opening) {
  std::uintptr_t first = 0;
  {
    auto target = pool::create(path_, small);
    make_roots(target, 0, 2);
    first = target.base();
    target.close();
  }
  pool_options below = small;
  below.base_address = first - 32 * mib;
  auto target = pool::open(path_, below);
  EXPECT_EQ(target.base(), below.base_address);
  EXPECT_EQ(target.capacity_bytes(), 32 * mib);
  EXPECT_LT(target.address_space_bytes(), 32 * mib);
  const std::string lack = lack_of([&] { make_roots(target, 2, 60); });
  expect_words(lack, {"attach all roots", std::to_string(32 * mib)});
  EXPECT_GT(target.size_bytes(), 30 * mib);
  expect_roots(target, 0, 25);
}

TEST_F(AddressSpace, that_the_limit_of_the_process_forbids_is_an_error_that_names_it) {
  if (test::under_address_sanitizer || test::under_thread_sanitizer)
    GTEST_SKIP() << "takes address space of its own";
  process limited([&] {
    auto target = pool::create(path_, small);
    make_roots(target, 0, 2);
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    struct rlimit limit{};
    ::getrlimit(RLIMIT_AS, &limit);
    const struct rlimit before = limit;
    limit.rlim_cur = pages * page + 64 * mib;
    ::setrlimit(RLIMIT_AS, &limit);
    std::uint64_t made = 2;
    const std::string lack = lack_of([&] {
      for (; made < 200; ++made) make_root(target, std::to_string(made), made, mib_pages);
    });
    expect_words(lack, {path_, "RLIMIT_AS", std::to_string(limit.rlim_cur), "raise this limit"});
    EXPECT_GT(made, 20U);  // the range was extended as far as the limit permits
    target.drop_root("1");
    make_root(target, "1", 1, mib_pages);
    ::setrlimit(RLIMIT_AS, &before);
    expect_roots(target, 0, made);
    make_roots(target, made + 1, made + 40);
    expect_roots(target, made + 1, made + 40);
    return testing::Test::HasFailure() ? 1 : 0;
  });
  EXPECT_EQ(limited.end(), 0);
}

TEST_F(AddressSpace, of_a_reader_follows_that_of_the_writer) {
  using table = lockfree::hash_table<std::uint64_t, std::array<char, 1000>>;
  test::shared_memory shared;
  pool_options options = small;
  options.max_readers = 4;
  auto target = pool::create(path_, options);
  table all(target, "table");
  ASSERT_TRUE(all.insert(0));
  process reads([&] {
    pool_reader reader(path_);
    const lockfree::reader<table> view(reader, "table");
    ++shared->ready;
    while (!shared->stop) {
      const std::uint64_t known = shared->count;
      for (std::uint64_t key = 0; key <= known; key += 97) {
        if (!view.contains(key)) return 1;
      }
    }
    return view.contains(30'000) ? 0 : 2;
  });
  ASSERT_TRUE(test::eventually([&] { return shared->ready == 1; }));
  for (std::uint64_t key = 1; key <= 30'000; ++key) {
    ASSERT_TRUE(all.insert(key));
    shared->count = key;
  }
  shared->stop = true;
  EXPECT_EQ(reads.end(), 0);
  EXPECT_GT(target.address_space_bytes(), 2 * first_range);
}

TEST_F(AddressSpace, of_a_reader_that_is_blocked_is_an_error) {
  using table = lockfree::hash_table<std::uint64_t, std::array<char, 1000>>;
  test::shared_memory shared;
  pool_options options = small;
  options.max_readers = 4;
  auto target = pool::create(path_, options);
  table all(target, "table");
  ASSERT_TRUE(all.insert(0));
  process reads([&] {
    pool_reader reader(path_);
    const lockfree::reader<table> view(reader, "table");
    const obstacle blocks(target.base() + first_range);
    if (!view.contains(0)) return 1;
    ++shared->ready;
    while (!shared->stop) std::this_thread::yield();
    const std::string why = test::sentence_of([&] { (void)view.contains(30'000); });
    expect_words(why, {path_, "another mapping begins at", "in which these addresses are free"});
    return testing::Test::HasFailure() ? 2 : 0;
  });
  ASSERT_TRUE(test::eventually([&] { return shared->ready == 1; }));
  for (std::uint64_t key = 1; key <= 30'000; ++key) ASSERT_TRUE(all.insert(key));
  shared->stop = true;
  EXPECT_EQ(reads.end(), 0);
}

TEST_F(AddressSpace, is_extended_during_a_backup) {
  auto target = pool::create(path_, small);
  make_roots(target, 0, 12);
  EXPECT_GT(target.address_space_bytes(), first_range);
  std::atomic<std::uint64_t> next{12};
  std::atomic<bool> stop{false};
  const std::size_t space = target.address_space_bytes();
  const std::string to = directory_.file("copy");
  {
    std::jthread grows([&] {
      for (; !stop && next < 200; ++next) {
        make_root(target, std::to_string(next), next, mib_pages);
      }
    });
    // The stream is stopped until the pool has grown beyond its range.
    (void)target.backup([&](const std::byte*, std::size_t) {
      while (target.address_space_bytes() == space && next < 200) std::this_thread::yield();
    });
    EXPECT_GT(target.address_space_bytes(), space);
    (void)target.backup(to);
    stop = true;
  }
  expect_roots(target, 0, next);
  auto opened = pool::open(to);
  expect_roots(opened, 0, 12);
  make_roots(opened, 300, 310);
  expect_roots(opened, 300, 310);
}

TEST_F(AddressSpace, is_not_in_the_child_of_a_fork) {
  auto target = pool::create(path_, small);
  make_roots(target, 0, 40);
  const std::uintptr_t base = target.base();
  const std::size_t bytes = target.address_space_bytes();
  EXPECT_GT(bytes, 2 * first_range);
  process child([&] {
    void* const got = ::mmap(reinterpret_cast<void*>(base), bytes, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != reinterpret_cast<void*>(base)) return 1;
    ::munmap(got, bytes);
    auto own = pool::create(directory_.file("own"), small);
    make_roots(own, 0, 20);
    expect_roots(own, 0, 20);
    return testing::Test::HasFailure() ? 2 : 0;
  });
  EXPECT_EQ(child.end(), 0);
  make_roots(target, 40, 50);
  expect_roots(target, 0, 50);
}

TEST_F(AddressSpace, is_free_after_the_close) {
  auto target = pool::create(path_, small);
  make_roots(target, 0, 40);
  const std::uintptr_t base = target.base();
  const std::size_t bytes = target.address_space_bytes();
  target.close();
  void* const got = ::mmap(reinterpret_cast<void*>(base), bytes, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  EXPECT_EQ(got, reinterpret_cast<void*>(base));
  ::munmap(got, bytes);
}

TEST_F(AddressSpace, of_a_shadow_copy_grows_with_the_pool) {
  for (const bool on_media : {false, true}) {
    pool_options options = small;
    options.shadow_on_media = on_media;
    auto target = pool::create(directory_.file(on_media ? "media" : "memory"), options);
    (void)target.service<replica_pair<domain::native>>();
    make_roots(target, 0, 40);
    EXPECT_GT(target.address_space_bytes(), 2 * first_range);
    auto* const last = reinterpret_cast<std::uint64_t*>(target.base() + target.mapped_bytes()) - 1;
    *shadow_of<domain::native>(last) = 7;
    EXPECT_TRUE(
        pool_detail::is_in_shadow(target.base() + target.mapped_bytes() - 1 + shadow_distance));
    const obstacle blocks(target.base() + target.address_space_bytes() + shadow_distance);
    const std::string lack = lack_of([&] { make_roots(target, 40, 140); });
    expect_words(lack, {"shadow copy", "another mapping begins at"});
    expect_roots(target, 0, 40);
  }
}

}  // namespace
}  // namespace outlast
