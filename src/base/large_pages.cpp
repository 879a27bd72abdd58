// Advice to the kernel to use large pages.
#include <outlast/base/large_pages.hpp>

#include <cstdint>

#include <sys/mman.h>

namespace outlast::base {

void request_large_pages(void* first, std::size_t bytes) noexcept {
  constexpr std::uintptr_t large = large_page_bytes;
  if (bytes < 2 * large) return;
  const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(first);
  const std::uintptr_t begin = (at + large - 1) / large * large;
  const std::uintptr_t end = (at + bytes) / large * large;
  (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

}  // namespace outlast::base
