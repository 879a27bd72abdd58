// Goal: a pool's shadow copy exists from its first use until the pool is closed, always at the same
// distance, and harms no other memory. Method: pools in files and in memory; ranges that the test
// has mapped.
#include <outlast/domain.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/pool/replica_pair.hpp>
#include <tests/support/memory_folder.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <sys/mman.h>

namespace outlast {
namespace {

using adr = domain::adr;
using adr_pool = basic_pool<adr>;
using test::temp_directory;

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr pool_options small{.size_bytes = mib};

/// A page that we have taken; or not, if somebody was there.
class squatter {
 public:
  explicit squatter(std::uintptr_t address)
      : wanted_(address),
        page_(::mmap(reinterpret_cast<void*>(address), 4096, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0)) {}
  ~squatter() {
    if (page_ != MAP_FAILED) ::munmap(page_, 4096);
  }
  squatter(const squatter&) = delete;
  squatter& operator=(const squatter&) = delete;
  [[nodiscard]] bool was_first() const {
    return reinterpret_cast<std::uintptr_t>(page_) == wanted_;
  }

 private:
  std::uintptr_t wanted_;
  void* page_;
};

template <domain::persistence_domain D>
std::byte* byte_of(basic_pool<D>& pool, std::size_t offset) {
  return reinterpret_cast<std::byte*>(pool.base() + offset);
}

TEST(replica_pair, is_zero_filled_and_apart_from_its_pool) {
  temp_directory directory;
  auto target = adr_pool::create(directory.file("p"), small);
  EXPECT_FALSE(pool_detail::is_in_shadow(target.base() + shadow_distance));
  (void)target.service<replica_pair<adr>>();
  std::byte* const original = byte_of(target, 0);
  std::byte* const twin = shadow_of<adr>(original);
  EXPECT_EQ(original_of<adr>(twin), original);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(twin), target.base() + shadow_distance);
  EXPECT_NE(*original, std::byte{0}) << "the header's first byte";
  EXPECT_TRUE(std::all_of(twin, twin + mib, [](std::byte each) { return each == std::byte{0}; }));
  twin[0] = std::byte{7};
  EXPECT_NE(*original, std::byte{7});
}

TEST(replica_pair, reaches_as_far_as_its_pool_can_grow) {
  temp_directory directory;
  auto target =
      adr_pool::create(directory.file("p"), {.size_bytes = mib, .capacity_bytes = 64 * mib});
  (void)target.service<replica_pair<adr>>();
  const std::size_t bytes = target.address_space_bytes();
  EXPECT_GE(bytes, 64 * mib);
  const std::uintptr_t first = target.base() + shadow_distance;
  EXPECT_TRUE(pool_detail::is_in_shadow(first));
  EXPECT_TRUE(pool_detail::is_in_shadow(first + bytes - 1));
  EXPECT_FALSE(pool_detail::is_in_shadow(first + bytes));
  EXPECT_FALSE(pool_detail::is_in_shadow(first - 1));
  EXPECT_FALSE(pool_detail::is_in_shadow(target.base())) << "that is the pool";
  *shadow_of<adr>(byte_of(target, bytes - 1)) = std::byte{1};
}

TEST(replica_pair, is_made_once_and_gone_with_its_pool) {
  temp_directory directory;
  std::uintptr_t base = 0;
  {
    auto target = adr_pool::create(directory.file("p"), small);
    base = target.base();
    const auto* const made = &target.service<replica_pair<adr>>();
    EXPECT_EQ(&target.service<replica_pair<adr>>(), made);
    EXPECT_FALSE(squatter(base + shadow_distance).was_first());
  }
  EXPECT_FALSE(pool_detail::is_in_shadow(base + shadow_distance));
  EXPECT_TRUE(squatter(base + shadow_distance).was_first());
}

TEST(replica_pair, is_zero_filled_again_when_its_pool_is_opened_again) {
  test::temp_pool<adr> pool;
  (void)pool->service<replica_pair<adr>>();
  *shadow_of<adr>(byte_of(*pool, 5000)) = std::byte{1};
  pool.close();
  pool.open();
  (void)pool->service<replica_pair<adr>>();
  EXPECT_EQ(*shadow_of<adr>(byte_of(*pool, 5000)), std::byte{0});
}

TEST(replica_pair, of_taken_addresses_is_refused_with_the_name_of_the_file) {
  temp_directory directory;
  auto target = adr_pool::create(directory.file("p"), small);
  {
    const squatter taken(target.base() + shadow_distance + 8192);
    ASSERT_TRUE(taken.was_first());
    try {
      (void)target.service<replica_pair<adr>>();
      FAIL();
    } catch (const error& refused) {
      EXPECT_EQ(refused.reason(), errc::address_taken);
      EXPECT_NE(std::string(refused.what()).find(directory.file("p")), std::string::npos);
    }
    EXPECT_FALSE(pool_detail::is_in_shadow(target.base() + shadow_distance));
  }
  EXPECT_NO_THROW((void)target.service<replica_pair<adr>>()) << "later, when they are free";
}

TEST(replica_pair, can_lie_in_a_file_that_has_no_name) {
  const test::scratch_folder folder;
  auto target =
      adr_pool::create((folder.path() / "p").string(),
                       {.size_bytes = mib, .capacity_bytes = 64 * mib, .shadow_on_media = true});
  try {
    (void)target.service<replica_pair<adr>>();
  } catch (const error& refused) {
    ASSERT_EQ(refused.reason(), errc::no_space);
    GTEST_SKIP() << refused.what();
  }
  EXPECT_EQ(*shadow_of<adr>(byte_of(target, 5000)), std::byte{0});
  *shadow_of<adr>(byte_of(target, 5000)) = std::byte{1};
  target.grow(32 * mib);
  *shadow_of<adr>(byte_of(target, 31 * mib)) = std::byte{1};
  using listing = std::filesystem::directory_iterator;
  EXPECT_EQ(std::distance(listing(folder.path()), listing()), 1) << "the pool's file alone";
}

TEST(replica_pair, of_a_pool_in_memory_is_one_at_a_time) {
  constexpr std::size_t bytes = 512 << 10;
  // Under every sanitizer and emulator there is room here and at the twin.
  void* const memory = reinterpret_cast<void*>(0x5560'0000'0000);
  ASSERT_EQ(::mmap(memory, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
            memory);
  {
    const auto first = adr_pool::in_memory(memory, bytes, true);
    (void)first->service<replica_pair<adr>>();
    *shadow_of<adr>(byte_of(*first, 12'345)) = std::byte{1};
    const auto second = adr_pool::in_memory(memory, bytes, false);
    EXPECT_THROW((void)second->service<replica_pair<adr>>(), error);
    EXPECT_EQ(*shadow_of<adr>(byte_of(*first, 12'345)), std::byte{1});
  }
  ::munmap(memory, bytes);
}

TEST(copy_in_parallel, copies_every_run_and_no_other_byte) {
  constexpr std::size_t bytes = 48 * mib;
  constexpr std::byte untouched{0xa5};
  // One allocation, so that all runs have one distance; the copies come behind.
  std::vector<std::byte> memory(2 * bytes, untouched);
  const auto value = [](std::size_t i) { return static_cast<std::byte>(i % 251); };
  for (std::size_t i = 0; i < bytes; ++i) memory[i] = value(i);
  // Pieces have 2 MiB, and a second thread joins at 32 MiB.
  const std::vector<std::vector<std::pair<std::size_t, std::size_t>>> cases = {
      {},
      {{5, 0}, {7, 1}, {4096, 4097}},
      {{0, 2 * mib}, {2 * mib, 2 * mib + 1}, {6 * mib, 64 << 10}},
      {{1, 20 * mib + 3}, {21 * mib, 2 * mib - 1}, {24 * mib, 24 * mib}}};
  for (const auto& runs : cases) {
    std::fill(memory.begin() + bytes, memory.end(), untouched);
    std::vector<pool_detail::byte_run> sources;
    for (const auto& [first, size] : runs) {
      sources.push_back({&memory[first], size});
    }
    pool_detail::copy_in_parallel(sources, bytes);
    std::vector<std::byte> expected(bytes, untouched);
    for (const auto& [first, size] : runs) {
      std::memcpy(&expected[first], &memory[first], size);
    }
    EXPECT_EQ(std::memcmp(&memory[bytes], expected.data(), bytes), 0) << runs.size() << " runs";
  }
}

}  // namespace
}  // namespace outlast
