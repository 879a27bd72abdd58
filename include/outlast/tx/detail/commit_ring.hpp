// The ring of the last commits, whose logs bring other replicas up to date.
#pragma once

#include <outlast/tx/detail/redo_state.hpp>
#include <outlast/tx/detail/write_set.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace outlast::tx::detail {

/// Places for the last commits, by number. A place holds a state, or the number of one that was too
/// large to keep: so the number of a place never falls, and a thread that comes late with an older
/// state detects that.
///
/// Thread-safety: all members may be called concurrently, each with the caller's own participant.
/// Progress: wait-free. A state that leaves the ring is retired by the caller, and protected by
/// hazard pointers.
template <domain::persistence_domain D>
class commit_ring {
 public:
  using participant = redo_participant<D>;
  using state_type = redo_state<D>;

  /// For replicas of `replica_bytes` bytes.
  explicit commit_ring(std::size_t replica_bytes)
      : size_(replica_bytes <= short_ring_bytes ? short_ring : long_ring),
        places_(std::make_unique<std::atomic<remembered>[]>(size_)) {}
  commit_ring(const commit_ring&) = delete;
  commit_ring& operator=(const commit_ring&) = delete;
  ~commit_ring() {
    for (std::size_t i = 0; i < size_; ++i) {
      delete state_in(places_[i].load(std::memory_order_relaxed));
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return size_ * sizeof(places_[0]); }

  /// Begins with `first`. Before other threads use the ring.
  void begin(std::unique_ptr<state_type> first) {
    std::atomic<remembered>& place = place_of(first->number);
    place.store(as_remembered(first.release()), std::memory_order_relaxed);
  }
  /// Adds `state`, which `me` protects, unless that was done before.
  void append(participant& me, state_type& state);
  /// Returns the commit `number`, protected by the hazard pointer `visited`; nullptr if the ring
  /// does not have it any more.
  [[nodiscard]] state_type* find(participant& me, std::uint64_t number);
  /// Returns true if a place holds `state`. No other thread uses the ring.
  [[nodiscard]] bool holds(const state_type* state) const {
    bool found = false;
    for (std::size_t i = 0; i < size_; ++i) found = found || state_in(places_[i].load()) == state;
    return found;
  }

  /// The lines for which a state with `log` counts; 0: it is small.
  [[nodiscard]] static std::uint32_t counted_lines(const write_set& log) noexcept {
    constexpr std::size_t most = ~std::uint32_t{0};
    return log.room() < min_counted ? 0 : static_cast<std::uint32_t>(std::min(most, log.room()));
  }

 private:
  static constexpr std::size_t short_ring_bytes = std::size_t{64} << 10;
  static constexpr std::size_t short_ring = 4;  // a small replica is copied as fast
  static constexpr std::size_t long_ring = 128;
  /// Commits of at least min_counted lines count, and the ring keeps max_remembered such lines
  /// in addition to the newest commit: about 16 MiB, and at most 8 MiB of small commits. Small
  /// limits in the simulator make rare cases frequent.
  static constexpr std::size_t min_counted = domain::has_real_threads<D> ? 256 : 4;
  static constexpr std::int64_t max_remembered = domain::has_real_threads<D> ? 96 << 10 : 8;
  static constexpr domain::site nowhere = domain::site::none();

  /// A state, or, with the lowest bit set, the number of one that is not kept.
  using remembered = std::uint64_t;
  [[nodiscard]] static remembered as_remembered(const state_type* state) noexcept {
    return reinterpret_cast<std::uintptr_t>(state);
  }
  [[nodiscard]] static remembered as_forgotten(std::uint64_t n) noexcept { return n << 1 | 1; }
  [[nodiscard]] static state_type* state_in(remembered what) noexcept {
    return what % 2 != 0 ? nullptr : reinterpret_cast<state_type*>(what);
  }
  [[nodiscard]] std::atomic<remembered>& place_of(std::uint64_t number) const noexcept {
    return places_[number % size_];
  }
  /// Forgets large commits while the ring counts too many lines. `newest` has taken the place of a
  /// state that counted `gone`. The word named `newest`, so that no commit starts from an older
  /// one.
  void keep_small(participant& me, const state_type& newest, std::uint32_t gone);

  const std::size_t size_;
  std::unique_ptr<std::atomic<remembered>[]> places_;
  std::atomic<std::int64_t> counted_{0};  // lines
};

// Out of class: no inline hint, so that the size of a body decides whether it is inlined.

template <domain::persistence_domain D>
void commit_ring<D>::append(participant& me, state_type& state) {
  std::atomic<remembered>& place = place_of(state.number);
  remembered there = D::load(place, std::memory_order_seq_cst);
  state_type* const before = state_in(there);
  me.hazards.announce(participant::visited, before);
  if (D::load(place, std::memory_order_seq_cst) != there) return;  // another thread did
  if ((before != nullptr ? before->number : there >> 1) >= state.number) return;
  // (2) release; synchronizes-with (1).
  if (!D::compare_exchange(place, there, as_remembered(&state), std::memory_order_seq_cst,
                           nowhere)) {
    return;
  }
  const std::uint32_t gone = before == nullptr ? 0 : before->in_ring;
  if (before != nullptr) me.retire(before);
  if ((state.in_ring | gone) != 0) [[unlikely]]
    keep_small(me, state, gone);
}

template <domain::persistence_domain D>
auto commit_ring<D>::find(participant& me, std::uint64_t number) -> state_type* {
  std::atomic<remembered>& place = place_of(number);
  // (1) acquire; synchronizes-with (2).
  const remembered there = D::load(place, std::memory_order_seq_cst);
  state_type* const found = state_in(there);
  me.hazards.announce(participant::visited, found);
  if (D::load(place, std::memory_order_seq_cst) != there) return nullptr;
  return found != nullptr && found->number == number ? found : nullptr;
}

template <domain::persistence_domain D>
void commit_ring<D>::keep_small(participant& me, const state_type& newest, std::uint32_t gone) {
  counted_.fetch_add(std::int64_t{newest.in_ring} - gone, std::memory_order_relaxed);
  const std::uint64_t others = std::min<std::uint64_t>(newest.number, size_ - 1);
  for (std::uint64_t number = newest.number - others; number < newest.number; ++number) {
    if (counted_.load(std::memory_order_relaxed) <= max_remembered) return;
    if (!me.can_retire()) return;
    state_type* const large = find(me, number);
    if (large == nullptr || large->in_ring == 0) continue;
    remembered there = as_remembered(large);
    if (!D::compare_exchange(place_of(number), there, as_forgotten(number),
                             std::memory_order_seq_cst, nowhere)) {
      continue;
    }
    counted_.fetch_sub(large->in_ring, std::memory_order_relaxed);
    me.retire(large);
  }
}

}  // namespace outlast::tx::detail
