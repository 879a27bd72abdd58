// The word that names the replica that counts, where replicas lie in memory and a log in front of
// the one on media.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/domain/logged_file.hpp>
#include <outlast/pool/volatile_word.hpp>
#include <outlast/tx/detail/device_turns.hpp>
#include <outlast/tx/detail/replica_word.hpp>
#include <outlast/tx/detail/write_set.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace outlast::tx::detail {

/// Threads move a word in memory. What its transitions wrote goes to the log from their own notes,
/// all that is not durable yet as one batch with the word on media, whose number says how far the
/// home has come. The home holds nothing else: until a batch is appended, what the last one led to.
///
/// `State` is a transition: number, replica, log (of images, sealed), previous (the one before it)
/// and lines (in all logs up to it). Who frees states keeps those that may_free() does not name.
///
/// Strict: nobody acts upon a transition that is not durable, and readers keep to those that are.
/// Else they see it at once, and it becomes durable when somebody asks for that.
///
/// Invariants:
///   I1  home and word on media change in one batch: a crash finds the outcome of one transition.
///   I2  numbers grow; the chain of states from the newest to durable_number() + 1 is whole.
/// Thread-safety: all members may be called concurrently. Progress: what makes durable waits for
/// others and for the device, the rest is wait-free.
template <domain::persistence_domain D, class State>
class logged_word {
 public:
  /// What the media have is in replica 0. `home`: its bytes on media, in the replica `home_index`.
  logged_word(std::atomic<std::uint64_t>& on_media, std::byte* home, unsigned home_index,
              bool strict)
      : on_media_(on_media),
        home_(home),
        home_index_(home_index),
        strict_(strict),
        newest_(replica_word(number_of(on_media), 0).bits()),
        durable_(newest_.load(std::memory_order_relaxed)) {}

  /// What the next transition starts from.
  [[nodiscard]] replica_word now() const {
    return replica_word(D::load(newest_, std::memory_order_seq_cst));
  }
  /// What an announced reader may follow, if it is still so.
  [[nodiscard]] replica_word readable() const {
    return strict_ ? replica_word(durable_.load(std::memory_order_seq_cst)) : now();
  }
  [[nodiscard]] bool move(replica_word& seen, replica_word wanted) {
    std::uint64_t expected = seen.bits();
    if (D::compare_exchange(newest_, expected, wanted.bits(), std::memory_order_seq_cst, nowhere)) {
      return true;
    }
    seen = replica_word(expected);
    return false;
  }

  /// Before callers are told what `state` answered, which the caller keeps. Throws
  /// error{io_failure}, std::bad_alloc.
  void before_answers(const State& state) {
    if (strict_) make_durable(state.number, [&]() -> const State& { return state; });
  }
  [[nodiscard]] bool is_strict() const noexcept { return strict_; }

  /// Transitions up to `number`, and what `newest()` answers, are durable at return. newest() names
  /// one that has happened, not before `number`, and that the caller keeps; it is called if that
  /// is needed, when nobody else makes anything durable. Throws error{io_failure}, std::bad_alloc.
  template <class Newest>
  void make_durable(std::uint64_t number, Newest&& newest) {
    if (durable_number() >= number) return;
    turns_.until([&] { return durable_number() >= number; }, [&] { append(newest()); });
  }

  [[nodiscard]] std::uint64_t durable_number() const {
    // (2) acquire; synchronizes-with (1).
    return replica_word(durable_.load(std::memory_order_acquire)).number();
  }
  [[nodiscard]] bool may_free(const State& state) const { return state.number <= durable_number(); }
  /// Lines of transitions up to `newest` that are not durable.
  [[nodiscard]] std::uint64_t lines_behind(const State& newest) const {
    const std::uint64_t durable = lines_durable_.load(std::memory_order_relaxed);
    return newest.lines - std::min(newest.lines, durable);
  }

 private:
  static constexpr domain::site nowhere = domain::site::none();

  [[nodiscard]] static std::uint64_t number_of(const std::atomic<std::uint64_t>& word) {
    return replica_word(D::load(word, std::memory_order_acquire)).number();
  }

  /// Makes what has happened up to `last` durable. One thread at a time.
  void append(const State& last) {
    const std::uint64_t from = durable_number();
    if (from >= last.number) return;
    collect(last, from);
    D::publish(on_media_, replica_word(last.number, home_index_).bits(), lines_);
    lines_durable_.store(last.lines, std::memory_order_relaxed);
    // (1) release; synchronizes-with (2): the states are not needed here any more.
    durable_.raise_to(replica_word(last.number, last.replica).bits(), std::memory_order_seq_cst);
  }

  /// What the states behind `from` up to `last` wrote, of each line what it was last.
  void collect(const State& last, std::uint64_t from) {
    lines_.clear();
    seen_.clear();
    for (const State* at = &last;; at = at->previous) {
      at->log.for_each_after(
          [](line_number) {},
          [&](line_number line, const line_image& after) {
            if (at != &last && seen_.contains(line)) return;
            if (last.number > from + 1) seen_.add(line);
            lines_.push_back({home_ + line * base::cache_line_size, after.data()});
          });
      if (at->number == from + 1) return;
    }
  }

  std::atomic<std::uint64_t>& on_media_;
  std::byte* const home_;
  const unsigned home_index_;
  const bool strict_;
  mutable std::atomic<std::uint64_t> newest_;
  alignas(128) volatile_word<D, std::uint64_t> durable_;  // bits of a word that is
  volatile_word<D, std::uint64_t> lines_durable_;
  device_turns<D> turns_;
  std::vector<domain::line_store> lines_;  // whose turn it is
  write_set seen_;                         // the same
};

}  // namespace outlast::tx::detail
