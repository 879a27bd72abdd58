// Goal: regions are found again, keep their distances and take space only where it is requested.
// Method: files in a temporary directory, their blocks counted by stat.
#include <outlast/domain.hpp>
#include <outlast/pool/pool.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <ios>
#include <string>

#include <sys/stat.h>

namespace outlast {
namespace {

using test::temp_directory;

constexpr std::size_t mib = std::size_t{1} << 20;

std::size_t stored_bytes(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return static_cast<std::size_t>(status.st_blocks) * 512;
}

TEST(region, is_found_again_with_its_replicas) {
  temp_directory directory;
  {
    auto target = pool::create(directory.file("p"));
    const region_info made = target.reserve_region("copies", region_kind::replicas, 10000, 3);
    EXPECT_EQ(made.stride_bytes, 12288u);
    for (unsigned i = 0; i < 3; ++i) std::memset(made.replica(i), static_cast<int>(i + 1), 10000);
    target.close();
  }
  auto again = pool::open(directory.file("p"));
  const auto found = again.find_region("copies");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, region_kind::replicas);
  EXPECT_EQ(found->replicas, 3u);
  EXPECT_EQ(found->bytes, 10000u);
  for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(found->replica(i)[9999], std::byte(i + 1));
  EXPECT_FALSE(again.find_region("nothing"));
  EXPECT_FALSE(pool_format::has_errors(again.check()));
}

TEST(region, is_sparse_until_committed) {
  temp_directory directory;
  const std::string path = directory.file("p");
  auto target = pool::create(path, {.size_bytes = 512 * mib});
  const region_info log = target.reserve_region("log", region_kind::log, 200 * mib);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(log.address) % (2 * mib), 0u);
  EXPECT_LT(stored_bytes(path), 16 * mib);
  target.commit_region("log", 0, 100 * mib, 20 * mib);
  EXPECT_GE(stored_bytes(path), 20 * mib);
  EXPECT_LT(stored_bytes(path), 40 * mib);
  std::memset(log.address + 100 * mib, 1, 20 * mib);
}

TEST(region, leaves_pages_around_it_usable_and_committed) {
  temp_directory directory;
  const std::string path = directory.file("p");
  auto target = pool::create(path, {.size_bytes = 64 * mib, .capacity_bytes = 64 * mib});
  (void)target.reserve_region("big", region_kind::checkpoint, 8 * mib);
  const std::size_t before = stored_bytes(path);
  std::size_t pages = 0;
  try {
    for (;; ++pages) {
      std::memset(target.pages().allocate_run(pool_format::run_kind::large, 0, 1, 1, 4096), 1,
                  4096);
    }
  } catch (const out_of_space&) {
  }
  EXPECT_GT(pages * 4096, 50 * mib);
  EXPECT_LT(stored_bytes(path), before + pages * 4096 + 4 * mib);
}

/// As if the process had been killed before the region was complete.
void make_unfinished(const std::string& path, const std::string& name) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  std::string head(4 * mib, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  file.clear();
  constexpr std::size_t name_in_entry = offsetof(pool_format::region_entry, identity);
  const std::size_t at = head.find(name + std::string(48 - name.size(), '\0'));
  ASSERT_NE(at, std::string::npos);
  file.seekp(static_cast<std::streamoff>(at - name_in_entry));
  file.write(reinterpret_cast<const char*>(&pool_format::entry_creating), 8);
}

TEST(region, that_never_came_to_be_leaves_pages_that_exist) {
  temp_directory directory;
  const std::string path = directory.file("p");
  {
    auto target = pool::create(path, {.size_bytes = 64 * mib});
    (void)target.reserve_region("half-made", region_kind::log, 20 * mib);
    target.close();
  }
  EXPECT_LT(stored_bytes(path), 16 * mib);
  make_unfinished(path, "half-made");
  auto target = pool::open(path);
  EXPECT_FALSE(target.find_region("half-made"));
  EXPECT_GE(stored_bytes(path), 20 * mib);
  EXPECT_FALSE(pool_format::has_errors(target.check()));
}

TEST(region, has_a_volatile_twin_at_a_fixed_distance) {
  temp_directory directory;
  std::ptrdiff_t distance = 0;
  {
    auto target =
        pool::create(directory.file("p"), {.size_bytes = 16 * mib, .reserve_shadow_copy = true});
    const region_info a = target.reserve_region("a", region_kind::shadow_copy, 3 * mib);
    const region_info b = target.reserve_region("b", region_kind::shadow_copy, 5000);
    target.commit_region("a", 0, 0, 3 * mib);
    distance = a.shadow_copy - a.address;
    EXPECT_EQ(b.shadow_copy - b.address, distance);
    EXPECT_GE(static_cast<std::size_t>(distance), target.capacity_bytes());
    std::memset(a.address, 1, a.bytes);
    std::memset(a.shadow_copy, 2, a.bytes);
    target.close();
  }
  auto again = pool::open(directory.file("p"));
  const region_info a = *again.find_region("a");
  EXPECT_EQ(a.shadow_copy - a.address, distance);
  EXPECT_EQ(a.address[100], std::byte{1});
  EXPECT_EQ(a.shadow_copy[100], std::byte{0});
}

TEST(region, gets_no_twin_where_no_address_space_was_reserved) {
  temp_directory directory;
  auto target = pool::create(directory.file("p"));
  try {
    (void)target.reserve_region("a", region_kind::shadow_copy, 4096);
    FAIL();
  } catch (const error& refused) {
    EXPECT_EQ(refused.reason(), errc::refused);
  }
}

TEST(region, too_large_changes_nothing) {
  temp_directory directory;
  auto target =
      pool::create(directory.file("p"), {.size_bytes = 4 * mib, .capacity_bytes = 32 * mib});
  EXPECT_THROW((void)target.reserve_region("a", region_kind::log, 100 * mib), out_of_space);
  EXPECT_THROW((void)target.reserve_region("a", region_kind::log, std::size_t{1} << 42),
               out_of_space);
  EXPECT_TRUE(target.regions().empty());
  EXPECT_NO_THROW((void)target.reserve_region("a", region_kind::log, 4096));
  EXPECT_FALSE(pool_format::has_errors(target.check()));
}

TEST(region, refuses_bad_arguments) {
  temp_directory directory;
  auto target = pool::create(directory.file("p"));
  (void)target.reserve_region("a", region_kind::log, 4096);
  EXPECT_THROW((void)target.reserve_region("a", region_kind::log, 4096), error);
  EXPECT_THROW((void)target.reserve_region("", region_kind::log, 4096), error);
  EXPECT_THROW((void)target.reserve_region("b", region_kind::log, 0), error);
  EXPECT_THROW((void)target.reserve_region("b", region_kind::log, 1, 0), error);
  EXPECT_THROW((void)target.reserve_region(std::string(48, 'x'), region_kind::log, 1), error);
  EXPECT_THROW(target.commit_region("b", 0, 0, 1), error);
  EXPECT_THROW(target.commit_region("a", 1, 0, 1), error);
  EXPECT_THROW(target.commit_region("a", 0, 4000, 97), error);
}

TEST(region, lives_in_memory_too_with_its_twin) {
  alignas(4096) static std::byte memory[1024 << 10];
  const auto target = basic_pool<domain::process>::in_memory(memory, sizeof memory / 2, true,
                                                             {.reserve_shadow_copy = true});
  const region_info a = target->reserve_region("a", region_kind::shadow_copy, 4096);
  ASSERT_GE(a.shadow_copy, memory + sizeof memory / 2);
  ASSERT_LE(a.shadow_copy + a.bytes, memory + sizeof memory);
  EXPECT_EQ(a.shadow_copy[5], std::byte{0});
}

}  // namespace
}  // namespace outlast
