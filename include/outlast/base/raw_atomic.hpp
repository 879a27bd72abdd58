// An atomic whose constructor leaves its bytes unchanged.
#pragma once

#include <atomic>

namespace outlast::base {

/// A `std::atomic<T>` in memory that its owner initialises. In a pool every store, including the
/// first one, goes through the domain, but std::atomic's own constructors store directly.
template <class T>
union raw_atomic {
  raw_atomic() noexcept {}  // leaves the bytes as they are
  std::atomic<T> value;
};

}  // namespace outlast::base
