// The objects that the threads of the redo engines share: commits, replicas, and per-thread
// announcements.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/reclaim/hazards.hpp>
#include <outlast/tx/detail/helped_request.hpp>
#include <outlast/tx/detail/record.hpp>
#include <outlast/tx/detail/replica_word.hpp>
#include <outlast/tx/detail/write_set.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace outlast::tx::detail {

using redo_word = replica_word;  // numbered by commits

/// The differences between the redo engines. Each engine adds a step to the one before: redo,
/// redo_timed, redo_opt. [Cor20, section 5]
struct redo_steps {
  /// For some rounds updates wait for one of two replicas.
  bool two_first;
  /// A line that is replayed or taken back is flushed with the batch that follows, once together
  /// with the lines of that batch. Otherwise it is flushed immediately, each time that it is
  /// written.
  bool flushes_late;
};
[[nodiscard]] constexpr redo_steps steps_of(engine_kind engine) noexcept {
  const bool is_opt = engine == engine_kind::redo_opt;
  return {is_opt || engine == engine_kind::redo_timed, is_opt};
}

template <domain::persistence_domain D>
struct redo_state;

/// A thread, or a later thread that inherits its slot.
template <domain::persistence_domain D>
struct alignas(128) redo_participant {
  /// The hazard pointer of the state from which the thread starts, and that of the states and
  /// requests of other threads that it visits.
  static constexpr std::size_t chosen = 0;
  static constexpr std::size_t visited = 1;

  explicit redo_participant(std::uint32_t of) noexcept : slot(of) {}
  ~redo_participant() { delete wanted.load(std::memory_order_relaxed); }
  redo_participant(const redo_participant&) = delete;
  redo_participant& operator=(const redo_participant&) = delete;

  /// Returns true if there is memory to retire two more states, which an attempt does at most.
  [[nodiscard]] bool can_retire() {
    if (retired_states.size() + 2 <= retired_states.capacity()) return true;
    try {
      retired_states.reserve(2 * retired_states.size() + 8);
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  void retire(redo_state<D>* state) {
    retired_lines += state->in_ring;
    retired_states.emplace_back(state);
  }

  const std::uint32_t slot;
  std::atomic<std::uint64_t> reads{0};   // 0, or 1 + the replica that it is about to read
  std::atomic<std::uint64_t> helped{0};  // 0, or the number of a read that updates have overtaken
  domain::volatile_word<D, std::uint64_t> granted;  // the last such read's number, and its replica
  std::atomic<helped_request<D>*> wanted{nullptr};
  reclaim::hazards<D, 2> hazards;
  std::atomic<std::uint64_t> records{0};  // 0, or the commit whose record it writes

  // Used by the thread alone:
  std::uint64_t operations = 0;
  std::unique_ptr<outcome> next_outcome;
  std::unique_ptr<redo_state<D>> next_state;
  redo_state<D>* won = nullptr;  // its commit, until that is settled
  std::uint64_t last_commit = 0;
  std::vector<std::unique_ptr<redo_state<D>>> spare_states;
  std::size_t spare_lines = 0;  // that these count
  std::vector<std::unique_ptr<redo_state<D>>> retired_states;
  std::vector<std::unique_ptr<helped_request<D>>> retired_requests;
  std::size_t retired_lines = 0;  // that retired states count, and retired requests have written
};

/// The consensus object: one commit, which the durable word names by its number and replica. It is
/// immutable once the word names it, except for the last two members.
template <domain::persistence_domain D>
struct redo_state {
  /// The number of the last operation, and of the last granted read, of a slot's threads.
  struct mark {
    std::uint64_t applied = 0;
    std::uint64_t granted = 0;
  };
  struct answer {
    redo_participant<D>* to;
    helped_request<D>* request;
    std::uint64_t number;
    outcome* out;
  };
  struct grant {
    redo_participant<D>* to;
    std::uint64_t number;
  };

  /// The memory of the log is counted in `count`, which outlives the state.
  explicit redo_state(byte_count* count) noexcept : log(write_set::keeps::images, count) {}
  ~redo_state() {
    if (acknowledged.load(std::memory_order_relaxed) != 0) return;
    for (const answer& each : answers) delete each.out;
  }
  redo_state(const redo_state&) = delete;
  redo_state& operator=(const redo_state&) = delete;

  std::uint64_t number = 0;
  unsigned replica = 0;
  std::uint32_t in_ring = 0;  // lines for which the ring counts it; 0: it is small
  // With a commit log, see logged_word: its record, and the newest durable commit when the record
  // was placed.
  std::uint64_t log_at = ~std::uint64_t{0};
  std::uint64_t log_end = 0;
  std::uint64_t durable_before = 0;
  write_set log;                // of its batch, with images
  std::vector<mark> marks;      // by slot
  std::vector<answer> answers;  // of its batch
  std::vector<grant> grants;    // of its batch
  /// 1: its callers may own its answers.
  domain::volatile_word<D, std::uint32_t> acknowledged;
  /// 1: it survives what its callers were promised, is in the ring, and is acknowledged.
  domain::volatile_word<D, std::uint32_t> settled;
};

/// A replica. Members that are not atomic belong to the owner.
template <domain::persistence_domain D>
struct alignas(128) redo_replica {
  domain::volatile_word<D, std::uint32_t> owner;      // 1: a thread writes it, or is about to
  domain::volatile_word<D, redo_state<D>*> head;      // the state that it holds, if it is current
  domain::volatile_word<D, std::uint64_t> number;     // of that state
  domain::volatile_word<D, std::uint32_t> stale;      // 1: it may hold anything
  write_set unflushed;                                // its lines that may not be durable
  std::vector<typename redo_state<D>::grant> grants;  // reads that a commit has sent here
};

}  // namespace outlast::tx::detail
