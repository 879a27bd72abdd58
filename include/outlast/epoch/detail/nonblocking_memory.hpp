// The allocation and the reclamation of the nodes of non-blocking buffered structures.
#pragma once

#include <outlast/alloc/arena.hpp>
#include <outlast/base/cache_line.hpp>
#include <outlast/base/per_thread.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/epoch/clock.hpp>
#include <outlast/epoch/detail/version.hpp>
#include <outlast/epoch/operation.hpp>
#include <outlast/reclaim/concept.hpp>
#include <outlast/sets/detail/volatile_blocks.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace outlast::epoch::detail {

/// `Node` derives from version<D>, and has a payload_type. It is made from a payload and its size.
/// An unlinked node is free when no thread can hold it; its payload is free three epochs later.
///
/// Thread-safety: all members may be called concurrently, except collect_all(). Memory bound: a
/// thread that stands still inside an operation delays the reuse of all nodes of this structure
/// that are unlinked from then on. An idle thread delays the reuse of the last few payloads that it
/// has freed.
template <class Node, domain::persistence_domain D, reclaim::reclaimer Reclaimer>
class nonblocking_memory {
  using payload_type = typename Node::payload_type;
  using content_type = typename payload_type::content_type;
  using prepared_type = prepared<content_type, D>;
  static_assert(std::is_trivially_destructible_v<Node>);

 public:
  nonblocking_memory(alloc::arena<D>& arena, epoch::clock<D>& clock, Reclaimer& reclaimer)
      : arena_(arena),
        clock_(clock),
        reclaimer_(reclaimer),
        waiting_([](std::uint32_t) { return std::make_unique<waiting>(); }) {}

  [[nodiscard]] epoch::clock<D>& clock() noexcept { return clock_; }
  [[nodiscard]] Reclaimer& reclaimer() noexcept { return reclaimer_; }
  [[nodiscard]] payload_memory<D> payloads() noexcept { return {arena_, clock_}; }

  /// Makes a node that is not linked. Throws std::bad_alloc.
  [[nodiscard]] Node* make(prepared_type&& its) {
    Node* const made = adopt(*its.get(), its.bytes());
    (void)its.release();
    domain::fence<D>();  // what went past the caches is there before anybody sees it [L6]
    return made;
  }
  /// Makes the node of a recovered payload. Throws std::bad_alloc.
  [[nodiscard]] Node* adopt(payload_type& its, std::size_t bytes) {
    return ::new (nodes_.take()) Node(its, bytes);
  }
  /// Frees a node that was never linked.
  void unmake(Node* node) noexcept {
    arena_.deallocate(&node->stored());
    nodes_.give(node);
  }

  /// Retires an unlinked node.
  void retire(Node* node) { reclaimer_.retire(node, this, dispose, arena_.owner_of_calls()); }

  /// For durable::retry_after_reclaim, outside of operations: passes an epoch and frees what that
  /// permits.
  void collect_for_room() {
    reclaimer_.collect_for_room();
    clock_.sync();
    waiting& mine = waiting_.local();
    waiting_.for_each([&](waiting& each) { free_old(each, &each == &mine); });
  }
  /// Frees all retired nodes. Requires: no operation runs.
  void collect_all() {
    reclaimer_.collect_all();
    clock_.settle();
    waiting_.for_each([this](waiting& each) {
      for (const gone& one : each.recent) free(one);
      each.recent.clear();
      const std::unique_ptr<queue> rest(each.rest.exchange(nullptr, std::memory_order_acquire));
      if (rest == nullptr) return;
      for (const gone& one : *rest) free(one);
    });
  }

  /// For statistics.
  [[nodiscard]] std::size_t volatile_bytes() const { return nodes_.reserved_bytes(); }
  /// The interface that bucket_directory and towers use.
  [[nodiscard]] nonblocking_memory& nodes() noexcept { return *this; }

 private:
  struct gone {
    std::uint64_t epoch;  // in which nobody held it any more, or before
    payload_header* stored;
    Node* node;  // null: it is free
  };
  using queue = std::deque<gone>;
  /// Frees the payload of a node. Two epochs later, on a device three, its retirement is on the
  /// media. No tick reads the node for as long.
  [[nodiscard]] static bool is_old(const gone& one, std::uint64_t now) noexcept {
    return one.epoch + 3 <= now;
  }
  static constexpr std::size_t most_recent = 64;

  /// The payloads whose nodes a thread has freed.
  struct alignas(2 * base::cache_line_size) waiting {
    waiting() { recent.reserve(most_recent); }
    ~waiting() { delete rest.load(std::memory_order_relaxed); }
    waiting(const waiting&) = delete;
    waiting& operator=(const waiting&) = delete;

    [[nodiscard]] bool has_enough(std::uint64_t now) const noexcept {
      return recent.size() == most_recent || (!recent.empty() && is_old(recent.front(), now));
    }

    std::vector<gone> recent;           // its thread's alone
    std::atomic<queue*> rest{nullptr};  // of the thread that has exchanged it for null
  };

  static void dispose(void* context, void* object) noexcept {
    if (object == nullptr) return;
    auto& self = *static_cast<nonblocking_memory*>(context);
    auto* const node = static_cast<Node*>(object);
    try {
      waiting& mine = self.waiting_.local();
      const bool is_helped = self.clock_.nonblocking_epochs().is_helped(*node);
      if (mine.has_enough(self.clock_.now())) self.free_old(mine, true);
      mine.recent.push_back({self.clock_.now(), &node->stored(), is_helped ? node : nullptr});
      if (!is_helped) self.nodes_.give(node);
    } catch (...) {
      // No volatile memory: the payload is found dead by the next recovery.
    }
  }

  /// Frees the payloads of a thread that have waited long enough. If another thread does so
  /// already, returns immediately.
  void free_old(waiting& its, bool is_mine) noexcept {
    const std::uint64_t now = clock_.now();
    // (1) acquire; synchronizes-with (2).
    std::unique_ptr<queue> rest(its.rest.exchange(nullptr, std::memory_order_acquire));
    if (is_mine) {
      try {
        if (rest == nullptr) rest = std::make_unique<queue>();
        rest->insert(rest->end(), its.recent.begin(), its.recent.end());
      } catch (const std::bad_alloc&) {
        // The payloads are found dead by the next recovery.
      }
      its.recent.clear();
    }
    if (rest == nullptr) return;
    while (!rest->empty() && is_old(rest->front(), now)) {
      free(rest->front());
      rest->pop_front();
    }
    give_back(its, std::move(rest));
  }
  static void give_back(waiting& its, std::unique_ptr<queue> rest) noexcept {
    // (2) release; synchronizes-with (1).
    for (queue* none = nullptr; !its.rest.compare_exchange_strong(
             none, rest.get(), std::memory_order_release, std::memory_order_relaxed);
         none = nullptr) {
      // The thread has begun another one meanwhile.
      const std::unique_ptr<queue> other(its.rest.exchange(nullptr, std::memory_order_acquire));
      if (other == nullptr) continue;
      try {
        rest->insert(rest->end(), other->begin(), other->end());
      } catch (const std::bad_alloc&) {
        // As above.
      }
    }
    (void)rest.release();
  }
  void free(const gone& one) noexcept {
    arena_.deallocate(one.stored);
    if (one.node != nullptr) nodes_.give(one.node);
  }

  alloc::arena<D>& arena_;
  epoch::clock<D>& clock_;
  Reclaimer& reclaimer_;
  sets::detail::volatile_blocks<Node, D> nodes_;
  base::per_thread<waiting> waiting_;
};

}  // namespace outlast::epoch::detail
