// Flush and fence in terms of bytes, and the fence that is only issued where something waits for
// it.
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
/// fence makes. It keeps count itself, so that a fence of another domain never passes for one of
/// its own.
template <class D>
concept notes_pages = requires { requires D::notes_pages; };

/// A domain under which memory is a copy of the pool's file: what is stored reaches the file by the
/// domain's log alone, and nothing that an opener finds is not durable yet. It has stage() and
/// publish(), so that a word and the lines that it speaks of need one device sync.
template <class D>
concept logs_lines = requires { requires D::logs_lines; };

/// A domain whose fence can throw: one with a device behind it that can fail.
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

/// Out of line: an operation that has nothing to wait for should find that out in a few
/// instructions.
template <persistence_domain D>
[[gnu::noinline]] inline void fence_now(base::thread_context& me, site where) {
  D::pfence(where);
  me.flush_pending = false;
  ++me.fences_issued;
}

}  // namespace detail

/// Waits for the caller's outstanding flushes, if there are any: a fence that nothing waits for is
/// not issued. Orders earlier stores before later ones on domains without flushes.
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

/// A store that needs no flush was made: on persistent caches it may still be in the store buffer,
/// so an operation has something to wait for. Locked instructions on x86-64 wait by themselves. Of
/// `native`, another pool may have been opened since the caller found that nothing is flushed.
template <persistence_domain D>
inline void note_store() {
  const kind now = D::current_kind();
  if (now == kind::cache_persistent || now == kind::adr) base::this_thread().flush_pending = true;
}

/// The end of an operation: what it stored and what it depends on is durable at return.
template <persistence_domain D>
[[gnu::always_inline]] inline void complete(site where = site::current()) {
  if (D::current_kind() != kind::cache_persistent) return fence<D>(where);
  bool& pending = base::this_thread().flush_pending;
  if (pending) D::psync(where);
  pending = false;
}

/// Flush and fence: durable at return.
template <persistence_domain D>
inline void persist(const void* address, std::size_t size, site where = site::current()) {
  flush<D>(address, size, where);
  fence<D>(where);
}

/// The same where the world is told right afterwards: nothing stays in a store buffer, which a
/// power cut empties though caches may survive it.
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

/// Adds `change` to a persistent counter that every recovery clears before anybody reads it:
/// whether a crash keeps the store makes no difference, and the verifier need not look at both.
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
