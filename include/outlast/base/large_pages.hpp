#pragma once

#include <cstddef>

namespace outlast::base {

/// Asks the kernel to give large pages to the memory at `first`, where it is accessed all over:
/// fewer faults, and fewer misses in the TLB. Advice: nothing happens where there are none, or for
/// less than a few of them. Thread-safety: may be called concurrently.
void ask_for_large_pages(void* first, std::size_t bytes) noexcept;

}  // namespace outlast::base
