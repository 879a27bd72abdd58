// The word that names the replica that counts, as threads see it and as it is on media.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/tx/detail/replica_word.hpp>

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace outlast::tx::detail {

/// Where memory is the media, threads move the word on media itself: its lines are durable before
/// that, and whoever sees it makes it durable before he acts upon it. Under a log, threads move a
/// word of their own; its lines and the one on media go to the log as one batch, with one wait for
/// the device, and who only reads keeps to what is durable.
///
/// Invariants:
///   I1  the word on media names a replica every line of which is durable.
///   I2  numbers grow.
/// Thread-safety: all members may be called concurrently. Progress: wait-free where memory is the
/// media; under a log, make_durable() waits for others and for the device.
template <domain::persistence_domain D>
class published_word {
  static constexpr bool runs_ahead = domain::logs_lines<D>;

 public:
  /// Durable at return, as it is found. Throws error{io_failure}.
  explicit published_word(std::atomic<std::uint64_t>& on_media)
      : on_media_(on_media), newest_(D::load(on_media, std::memory_order_acquire)) {
    domain::persist_before_return<D>(&on_media_, sizeof(std::uint64_t));
    durable_.store(newest_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }

  /// What the next transition starts from.
  [[nodiscard]] replica_word now() const {
    return replica_word(D::load(word(), std::memory_order_seq_cst));
  }
  /// What an announced reader may follow if it is still so, and then once make_durable() has
  /// returned. Every answer that was given is in it.
  [[nodiscard]] replica_word readable() const {
    if constexpr (!runs_ahead) return now();
    return replica_word(durable_.load(std::memory_order_seq_cst));
  }

  /// From `seen` to `wanted`; false if it is something else, which `seen` then receives.
  [[nodiscard]] bool move(replica_word& seen, replica_word wanted,
                          domain::site where = domain::site::current()) {
    std::uint64_t expected = seen.bits();
    if (D::compare_exchange(word(), expected, wanted.bits(), std::memory_order_seq_cst, where)) {
      return true;
    }
    seen = replica_word(expected);
    return false;
  }
  /// `seen`, or a later value, is durable at return. Throws error{io_failure}.
  void make_durable(replica_word seen, domain::site where = domain::site::current()) {
    if (durable_.load(std::memory_order_acquire) >= seen.bits()) return;
    if constexpr (runs_ahead) {
      D::publish(on_media_, seen.bits(), where);
    } else {
      domain::persist_before_return<D>(&on_media_, sizeof(std::uint64_t), where);
    }
    durable_.raise_to(seen.bits(), std::memory_order_seq_cst);
  }

 private:
  [[nodiscard]] std::atomic<std::uint64_t>& word() const noexcept {
    if constexpr (runs_ahead) {
      return newest_;
    } else {
      return on_media_;
    }
  }

  std::atomic<std::uint64_t>& on_media_;
  mutable std::atomic<std::uint64_t> newest_;                     // under a log
  alignas(128) domain::volatile_word<D, std::uint64_t> durable_;  // bits of a word that is
};

}  // namespace outlast::tx::detail
