// Flushes and fences of byte ranges. A fence is only issued if a flush is outstanding.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/thread_context.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/watched_blocks.hpp>

#include <atomic>
#include <cstdint>
#include <utility>

namespace outlast::domain {

/// A domain whose `pwb` notes a page, or lines, for a later device sync, which only this domain's
/// fence makes. It counts outstanding notes itself, so that a fence of another domain is never
/// mistaken for one of its own.
template <class D>
concept notes_pages = requires { requires D::notes_pages; };

/// A domain under which memory is a copy of the pool's file. Stores reach the file only by the
/// domain's log, and everything that an opener finds is durable. It has stage() and publish(), so
/// that a word and the lines that it refers to need one device sync.
template <class D>
concept logs_lines = requires { requires D::logs_lines; };

/// True if the domain's fence can throw an exception, because its device can fail.
template <persistence_domain D>
inline constexpr bool fence_can_fail =
    !noexcept(D::pfence(std::declval<site>())) || !noexcept(D::psync(std::declval<site>()));

/// Starts the write-back of each line that the `size` bytes at `address` touch.
template <persistence_domain D>
inline void flush(const void* address, std::size_t size, site where = site::current()) {
  if (!D::flushes()) return;
  if constexpr (watches_blocks<D>) D::flushes_block(address, size, code_line::of(where));
  const std::uintptr_t first = base::line_of(address);
  const std::size_t lines = base::lines_touched(address, size);
  for (std::size_t i = 0; i < lines; ++i) {
    D::pwb(reinterpret_cast<const void*>(first + i * base::cache_line_size), where);
  }
  if constexpr (!notes_pages<D>) base::this_thread().flush_pending = true;
}

namespace detail {

/// Out of line: an operation that has nothing to wait for finds that out in a few instructions.
template <persistence_domain D>
[[gnu::noinline]] inline void fence_now(base::thread_context& me, site where) {
  D::pfence(where);
  me.flush_pending = false;
  ++me.fences_issued;
}

}  // namespace detail

/// Waits for the caller's outstanding flushes, if there are any; otherwise no fence is issued.
/// Orders earlier stores before later ones on domains without flushes.
template <persistence_domain D>
[[gnu::always_inline]] inline void fence(site where = site::current()) {
  if (notes_pages<D> || !D::flushes()) {
    D::pfence(where);
    return;
  }
  base::thread_context& me = base::this_thread();
  if (me.flush_pending) [[unlikely]]
    detail::fence_now<D>(me, where);
}

/// Notes a store that needs no flush. On persistent caches the store may still be in the store
/// buffer, so that an operation has something to wait for. Locked instructions on x86-64 wait by
/// themselves. Under `native`, another pool may have been opened since the caller found that
/// nothing is flushed.
template <persistence_domain D>
inline void note_store() {
  const kind now = D::current_kind();
  if (now == kind::cache_persistent || now == kind::adr) base::this_thread().flush_pending = true;
}

/// Ends an operation: its stores, and those on which it depends, are durable at return.
template <persistence_domain D>
[[gnu::always_inline]] inline void complete(site where = site::current()) {
  if (D::current_kind() != kind::cache_persistent) return fence<D>(where);
  bool& pending = base::this_thread().flush_pending;
  if (pending) D::psync(where);
  pending = false;
}

/// Flushes and fences: durable at return.
template <persistence_domain D>
inline void persist(const void* address, std::size_t size, site where = site::current()) {
  flush<D>(address, size, where);
  fence<D>(where);
}

/// Like persist(), if the operation is acknowledged directly afterwards: nothing stays in a store
/// buffer, which a power cut empties even if caches survive it.
template <persistence_domain D>
inline void persist_before_return(const void* address, std::size_t size,
                                  site where = site::current()) {
  flush<D>(address, size, where);
  D::psync(where);
  if constexpr (!notes_pages<D>) {
    base::thread_context& me = base::this_thread();
    me.flush_pending = false;
    ++me.fences_issued;
  }
}

/// Adds `change` to a persistent counter that every recovery clears before the counter is read. It
/// does not matter whether the store survives a crash, so that the verifier needs only one of the
/// two cases.
template <persistence_domain D>
inline void count(std::atomic<std::uint64_t>& counter, std::uint64_t change,
                  std::memory_order order, site where = site::current()) {
  if constexpr (requires { D::count(counter, change, order, where); }) {
    D::count(counter, change, order, where);
  } else {
    D::fetch_add(counter, change, order, where);
  }
}

}  // namespace outlast::domain
