// Flush and fence in terms of bytes, and the fence that is only issued where something waits for
// it.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/thread_context.hpp>
#include <outlast/domain/concept.hpp>

namespace outlast::domain {

/// Starts the write-back of each line that the `size` bytes at `address` touch.
template <persistence_domain D>
inline void flush(const void* address, std::size_t size, site where = site::current()) {
  if (!D::flushes()) return;
  const std::uintptr_t first = base::line_of(address);
  const std::size_t lines = base::lines_touched(address, size);
  for (std::size_t i = 0; i < lines; ++i) {
    D::pwb(reinterpret_cast<const void*>(first + i * base::cache_line_size), where);
  }
  base::this_thread().flush_pending = true;
}

/// Waits for the caller's outstanding flushes, if there are any: a fence that nothing waits for is
/// not issued. Orders earlier stores before later ones on domains without flushes.
template <persistence_domain D>
inline void fence(site where = site::current()) {
  if (!D::flushes()) {
    D::pfence(where);
    return;
  }
  base::thread_context& me = base::this_thread();
  if (!me.flush_pending) return;
  D::pfence(where);
  me.flush_pending = false;
  ++me.fences_issued;
}

/// Flush and fence: durable at return.
template <persistence_domain D>
inline void persist(const void* address, std::size_t size, site where = site::current()) {
  flush<D>(address, size, where);
  fence<D>(where);
}

}  // namespace outlast::domain
