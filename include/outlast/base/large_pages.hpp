// Advice to the kernel to use large pages.
#pragma once

#include <cstddef>

namespace outlast::base {

/// Size of the large pages of the system, which is also their alignment.
inline constexpr std::size_t large_page_bytes = std::size_t{2} << 20;

/// Advises the kernel to give large pages to the memory at `first`, which is accessed in all its
/// parts: this saves faults and TLB misses. Has no effect if the system has no large pages, or for
/// ranges of less than a few of them. Thread-safety: may be called concurrently.
void request_large_pages(void* first, std::size_t bytes) noexcept;

}  // namespace outlast::base
