// An atomic that no constructor touches.
#pragma once

#include <atomic>

namespace outlast::base {

/// A `std::atomic<T>` in memory that somebody else initialises: in a pool every store, the first
/// one included, goes through the domain, but std::atomic's own constructors store directly.
template <class T>
union raw_atomic {
  raw_atomic() noexcept {}  // leaves the bytes as they are
  std::atomic<T> value;
};

}  // namespace outlast::base
