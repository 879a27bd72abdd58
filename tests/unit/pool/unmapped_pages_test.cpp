// Goal: a sync of many adjacent pages takes them out of the page tables where their bytes are the
// kernel's, and only there. No byte changes, and each page can be written again.
// Method: pools on a file, with a log, and in memory; the kernel's table of pages.
#include <outlast/base/anonymous_memory.hpp>
#include <outlast/domain.hpp>
#include <outlast/pool/pool.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <unistd.h>

namespace outlast {
namespace {

constexpr std::size_t pool_bytes = std::size_t{4} << 20;
constexpr std::size_t page = pool_format::page_bytes;

/// Returns the number of pages in [first, first + bytes) that the process's page tables hold, or
/// nullopt if the kernel does not report it.
std::optional<std::size_t> mapped_pages(const std::byte* first, std::size_t bytes) {
  const auto kernel_page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const int map = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (map < 0) return std::nullopt;
  std::size_t count = 0;
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(first) / kernel_page;
  for (std::size_t i = 0; i < bytes / kernel_page; ++i) {
    std::uint64_t entry = 0;
    const auto at = static_cast<off_t>((begin + i) * sizeof entry);
    if (::pread(map, &entry, sizeof entry, at) != sizeof entry) {
      ::close(map);
      return std::nullopt;
    }
    count += entry >> 63;
  }
  ::close(map);
  return count;
}

/// Stores to `pages` pages in the middle of a pool, syncs them, and requires the bytes afterwards.
/// Returns the number of those that are mapped after the sync.
template <class Pool>
std::optional<std::size_t> mapped_after_sync(Pool& target, std::size_t pages, int value) {
  auto* const first = reinterpret_cast<std::byte*>(target.base() + pool_bytes / 2);
  std::memset(first, value, pages * page);
  for (std::size_t i = 0; i < pages; ++i) domain::file::pwb(first + i * page);
  domain::file::psync();
  const std::optional<std::size_t> mapped = mapped_pages(first, pages * page);
  for (std::size_t i = 0; i < pages * page; i += page / 2) {
    EXPECT_EQ(first[i], static_cast<std::byte>(value)) << "byte " << i << " of the synced pages";
  }
  return mapped;
}

TEST(UnmappedPages, are_those_of_a_long_run_of_a_file) {
  test::temp_pool<domain::file> target(pool_bytes);
  const auto kernel_page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  for (const int value : {1, 2, 3}) {
    const auto mapped = mapped_after_sync(*target, 64 * kernel_page / page, value);
    if (!mapped) GTEST_SKIP() << "the kernel does not report mapped pages";
    EXPECT_EQ(*mapped, 0U);
  }
}

TEST(UnmappedPages, are_none_of_a_short_run) {
  test::temp_pool<domain::file> target(pool_bytes);
  const auto mapped = mapped_after_sync(*target, 1, 1);
  if (!mapped) GTEST_SKIP() << "the kernel does not report mapped pages";
  EXPECT_EQ(*mapped, 1U);
}

TEST(UnmappedPages, are_none_of_a_pool_in_memory) {
  base::anonymous_memory memory(pool_bytes);
  const auto target = basic_pool<domain::file>::in_memory(memory.data(), pool_bytes, true);
  (void)mapped_after_sync(*target, 64, 1);
  target->close();
}

TEST(UnmappedPages, are_none_of_a_pool_with_a_log) {
  test::temp_pool<domain::logged_file> target(pool_bytes);
  (void)mapped_after_sync(*target, 64, 1);
}

}  // namespace
}  // namespace outlast
