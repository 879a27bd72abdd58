// What the threads of the redo engine share: states, replicas, and what each thread announces.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/tx/detail/helped_request.hpp>
#include <outlast/tx/detail/record.hpp>
#include <outlast/tx/detail/replica_word.hpp>
#include <outlast/tx/detail/write_set.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace outlast::tx::detail {

using redo_word = replica_word;  // numbered by transitions

/// What the engines of the redo kind differ in, each by a step from the one before: redo,
/// redo_timed, redo_opt. [Cor20, section 5]
struct redo_steps {
  /// For a while updates wait for one of two replicas.
  bool two_first;
  /// A line that is repeated or taken back is flushed with the batch that follows, once with what
  /// that writes. Else at once, each time that it is written.
  bool flushes_late;
};
[[nodiscard]] constexpr redo_steps steps_of(engine_kind engine) noexcept {
  const bool is_opt = engine == engine_kind::redo_opt;
  return {is_opt || engine == engine_kind::redo_timed, is_opt};
}

template <domain::persistence_domain D>
struct redo_state;

/// A thread, and whoever inherits its slot.
template <domain::persistence_domain D>
struct alignas(128) redo_participant {
  /// What it may dereference: 0 a state of its own choice, 1 whatever comes along.
  static constexpr std::size_t hazard_count = 2;

  explicit redo_participant(std::uint32_t of) noexcept : slot(of) {}
  ~redo_participant() { delete wanted.load(std::memory_order_relaxed); }
  redo_participant(const redo_participant&) = delete;
  redo_participant& operator=(const redo_participant&) = delete;

  const std::uint32_t slot;
  std::atomic<std::uint64_t> reads{0};   // 0, or 1 + the replica that it is about to read
  std::atomic<std::uint64_t> helped{0};  // 0, or the number of a read that updates have overtaken
  domain::volatile_word<D, std::uint64_t> granted;  // the last such read's number, and its replica
  std::atomic<helped_request<D>*> wanted{nullptr};
  std::array<std::atomic<const void*>, hazard_count> hazards{};
  std::atomic<std::uint64_t> records{0};  // 0, or the transition whose record it writes

  // The thread's own:
  std::uint64_t operations = 0;
  std::unique_ptr<outcome> next_outcome;
  std::unique_ptr<redo_state<D>> next_state;
  redo_state<D>* won = nullptr;  // its transition, until that is settled
  std::uint64_t last_commit = 0;
  std::vector<std::unique_ptr<redo_state<D>>> spare_states;
  std::size_t spare_lines = 0;  // that these count
  std::vector<std::unique_ptr<redo_state<D>>> retired_states;
  std::vector<std::unique_ptr<helped_request<D>>> retired_requests;
  std::size_t retired_lines = 0;  // that retired states count, and retired requests have written
};

/// The consensus object: one transition of the durable word. Immutable once that names it, but for
/// the last two.
template <domain::persistence_domain D>
struct redo_state {
  /// How far the operations of a slot's threads are done.
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

  /// What its log takes is counted in `count`, which outlives it.
  explicit redo_state(byte_count* count) noexcept : log(write_set::keeps::images, count) {}
  ~redo_state() {
    if (told.load(std::memory_order_relaxed) != 0) return;
    for (const answer& each : answers) delete each.out;
  }
  redo_state(const redo_state&) = delete;
  redo_state& operator=(const redo_state&) = delete;

  std::uint64_t number = 0;
  unsigned replica = 0;
  std::uint32_t in_ring = 0;  // lines for which the ring counts it; 0: it is small
  // Behind a log, see logged_word: its record, and what was durable when it was placed.
  std::uint64_t log_at = ~std::uint64_t{0};
  std::uint64_t log_end = 0;
  std::uint64_t durable_before = 0;
  write_set log;                                 // of its batch, with images
  std::vector<mark> marks;                       // by slot
  std::vector<answer> answers;                   // of its batch
  std::vector<grant> grants;                     // of its batch
  domain::volatile_word<D, std::uint32_t> told;  // 1: what it answers may be its callers'
  /// Kept as its callers were promised, in the ring, and they have been told.
  domain::volatile_word<D, std::uint32_t> settled;
};

/// A replica. What is not atomic belongs to the owner.
template <domain::persistence_domain D>
struct alignas(128) redo_replica {
  domain::volatile_word<D, std::uint32_t> owner;  // 1: somebody writes it, or is about to
  domain::volatile_word<D, redo_state<D>*>
      head;  // the state whose content it has, if that is current
  domain::volatile_word<D, std::uint64_t> number;     // of that state
  domain::volatile_word<D, std::uint32_t> stale;      // 1: it may hold anything
  write_set unflushed;                                // its lines that may not be durable
  std::vector<typename redo_state<D>::grant> grants;  // reads that a transition has led here
};

}  // namespace outlast::tx::detail
