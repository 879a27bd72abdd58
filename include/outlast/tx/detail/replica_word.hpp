// The content of the durable word of the wait-free engines, and the lock of a replica.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace outlast::tx::detail {

/// The content of the durable word: the current replica, and a number that only grows.
class replica_word {
 public:
  static constexpr unsigned replica_bits = 16;

  explicit replica_word(std::uint64_t bits) noexcept : bits_(bits) {}
  replica_word(std::uint64_t number, unsigned replica) noexcept
      : bits_(number << replica_bits | replica) {}

  [[nodiscard]] std::uint64_t bits() const noexcept { return bits_; }
  [[nodiscard]] std::uint64_t number() const noexcept { return bits_ >> replica_bits; }
  [[nodiscard]] unsigned replica() const noexcept {
    return static_cast<unsigned>(bits_ & ((std::uint64_t{1} << replica_bits) - 1));
  }

 private:
  std::uint64_t bits_;
};

/// Exclusive use of a replica, by its word `owner`; or of none.
/// Thread-safety: used by the thread that owns.
template <class Replica>
class replica_lock {
 public:
  replica_lock() = default;
  ~replica_lock() { release(); }
  replica_lock(const replica_lock&) = delete;
  replica_lock& operator=(const replica_lock&) = delete;

  /// Locks the replica. Returns false if another thread owns it. Requires: this lock has none.
  [[nodiscard]] bool try_begin(Replica& of, unsigned index) noexcept {
    // (1) acquire; synchronizes-with (2).
    if (of.owner.exchange(1, std::memory_order_seq_cst) != 0) return false;
    begin(of, index);
    return true;
  }
  /// Adopts a replica that the thread owns already.
  void begin(Replica& of, unsigned index) noexcept {
    of_ = &of;
    index_ = index;
  }
  void take_over(replica_lock& from) noexcept {
    begin(*from.of_, from.index_);
    from.of_ = nullptr;
  }
  void release() noexcept {
    // (2) release; synchronizes-with (1).
    if (of_ != nullptr) of_->owner.store(0, std::memory_order_release);
    of_ = nullptr;
  }
  /// Leaves the replica to another owner.
  void pass_on() noexcept { of_ = nullptr; }

  [[nodiscard]] explicit operator bool() const noexcept { return of_ != nullptr; }
  [[nodiscard]] Replica& operator*() const noexcept { return *of_; }
  [[nodiscard]] Replica* operator->() const noexcept { return of_; }
  [[nodiscard]] unsigned index() const noexcept { return index_; }

 private:
  Replica* of_ = nullptr;
  unsigned index_ = 0;
};

/// Returns the freshest of the first `count` replicas that are free, and are neither `current` nor
/// `refused`.
template <class Replica>
[[nodiscard]] unsigned freshest_free(const std::vector<Replica>& replicas, unsigned count,
                                     unsigned current, unsigned refused) {
  const auto freshness = [](const Replica& it) -> std::uint64_t {
    if (it.owner.load(std::memory_order_relaxed) != 0) return 0;
    if (it.stale.load(std::memory_order_relaxed) != 0) return 1;
    return 2 + it.number.load(std::memory_order_relaxed);
  };
  unsigned best = 0;
  std::uint64_t best_freshness = 0;
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t here = i == current || i == refused ? 0 : freshness(replicas[i]);
    if (here <= best_freshness) continue;
    best = i;
    best_freshness = here;
  }
  return best;
}

}  // namespace outlast::tx::detail
