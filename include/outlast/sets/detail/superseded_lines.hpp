// Lines with the state "superseded" that no thread has waited for yet.
//
// A version that was replaced gets the state "superseded" in its line. If a power failure undoes
// that, the version that replaced it outranks it nevertheless, also once it is dead: so an update
// need not wait. But before the block of the dead version gets other content, everything that it
// outranks must be superseded on the media. Each thread records such lines here and flushes them
// with its next wait. That costs little: on x86 the next locked instruction would wait for a
// separate flush. A thread that reuses the blocks of dead nodes flushes the remaining lines of all
// threads, and waits once for all of them. So an idle thread delays nothing.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/per_thread.hpp>
#include <outlast/base/thread_context.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/domain/watched_blocks.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace outlast::sets::detail {

/// The lines of one root. All state is volatile. Thread-safety: all members may be called
/// concurrently. Progress: wait-free after a thread's first call.
template <domain::persistence_domain D>
class superseded_lines {
  using site = domain::site;

 public:
  superseded_lines() : notes_([](std::uint32_t) { return std::make_unique<note>(); }) {}

  /// Records the line at `address`, in which the caller has stored "superseded". Waits once per 16
  /// calls, if the caller has not waited meanwhile.
  void add(const void* address, site where = site::current()) {
    if (!D::flushes()) return;
    note* const mine = notes_.local_or_null();
    if (mine == nullptr) {  // no room for word of it
      domain::flush<D>(address, 1, where.at(1));
      domain::fence<D>(where.at(2));
      return;
    }
    const std::uint64_t written = mine->written.load(std::memory_order_relaxed);
    if (written - mine->settled.load(std::memory_order_relaxed) == most) {
      flush_mine(*mine, where.at(1));
      domain::fence<D>(where.at(2));
      mine->settled.raise_to(written, std::memory_order_relaxed);
    }
    mine->lines[written % most].store(base::line_of(address), std::memory_order_relaxed);
    // (1) release; synchronizes-with (2).
    mine->written.store(written + 1, std::memory_order_release);
  }

  /// Flushes the recorded lines of the caller, which is about to wait.
  void flush_before_wait(site where = site::current()) {
    if (!D::flushes()) return;
    note* const mine = notes_.local_or_null();
    if (mine == nullptr) return;  // it has left word of none
    if (mine->flushed != mine->written.load(std::memory_order_relaxed)) flush_mine(*mine, where);
  }

  /// Makes all states "superseded" durable that operations which have ended have stored.
  void settle(site where = site::current()) {
    if (!D::flushes()) return;
    const may_be_free its_lines;
    std::array<std::pair<note*, std::uint64_t>, settled_at_once> flushed;
    std::size_t count = 0;
    const auto wait = [&] {
      if (count == 0) return;
      domain::fence<D>(where.at(1));
      for (std::size_t i = 0; i < count; ++i) {
        flushed[i].first->settled.raise_to(flushed[i].second, std::memory_order_relaxed);
      }
      count = 0;
    };
    notes_.for_each([&](note& each) {
      // (2) acquire; synchronizes-with (1).
      const std::uint64_t written = each.written.load(std::memory_order_acquire);
      std::uint64_t at = each.settled.load(std::memory_order_relaxed);
      if (at >= written) return;
      for (; at < written; ++at) {
        // A line that its thread has replaced here meanwhile is one that it has waited for.
        const std::uintptr_t line = each.lines[at % most].load(std::memory_order_relaxed);
        domain::flush<D>(reinterpret_cast<const void*>(line), 1, where);
      }
      flushed[count++] = {&each, written};
      if (count == flushed.size()) wait();
    });
    wait();
  }

 private:
  /// A node may be freed and reused before its line is flushed here. Then the line has the state of
  /// the next node, and is flushed once more than needed.
  using may_be_free = domain::tolerates_freed<D>;

  static constexpr std::uint64_t most = 16;
  static constexpr std::size_t settled_at_once = 128;  // threads; takes no memory

  struct alignas(2 * base::cache_line_size) note {
    domain::volatile_word<D, std::uint64_t> written{0};
    domain::volatile_word<D, std::uint64_t> settled{0};
    std::array<domain::volatile_word<D, std::uintptr_t>, most> lines{};
    // The owner's alone:
    std::uint64_t flushed = 0;
    std::uint64_t fences_seen = 0;  // when it flushed last
  };

  static void flush_mine(note& mine, site where) {
    const may_be_free its_lines;
    // The thread has waited since it flushed these, for whatever reason.
    if (mine.fences_seen != base::this_thread().fences_issued) {
      mine.settled.raise_to(mine.flushed, std::memory_order_relaxed);
    }
    const std::uint64_t written = mine.written.load(std::memory_order_relaxed);
    for (; mine.flushed < written; ++mine.flushed) {
      const std::uintptr_t line = mine.lines[mine.flushed % most].load(std::memory_order_relaxed);
      domain::flush<D>(reinterpret_cast<const void*>(line), 1, where);
    }
    mine.fences_seen = base::this_thread().fences_issued;
  }

  base::per_thread<note> notes_;
};

}  // namespace outlast::sets::detail
