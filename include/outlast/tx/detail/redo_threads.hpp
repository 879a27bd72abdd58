// The threads of a redo engine, and the memory of their operations: provision and reclamation.
#pragma once

#include <outlast/base/per_thread.hpp>
#include <outlast/reclaim/hazards.hpp>
#include <outlast/tx/detail/redo_state.hpp>
#include <outlast/tx/detail/write_set.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace outlast::tx::detail {

/// A participant for each thread. Requests and states that other threads may use are retired, and
/// freed or used again once no hazard pointer protects them: two per thread are protected at most.
///
/// Thread-safety: all members may be called concurrently, each with the caller's own participant.
template <domain::persistence_domain D>
class redo_threads {
 public:
  using participant = redo_participant<D>;
  using state_type = redo_state<D>;

  /// The memory of states is counted in `held`.
  explicit redo_threads(byte_count* held) : held_(held) {}

  [[nodiscard]] participant& local() { return all_.local(); }
  template <class Visit>
  void for_each(Visit&& visit) const {
    all_.for_each(visit);
  }
  void forbid() noexcept { all_.forbid(); }
  [[nodiscard]] bool forbidden() const noexcept { return all_.forbidden(); }
  /// The slots of all threads that ever took part are below this number.
  [[nodiscard]] std::size_t slots() const { return slots_.load(std::memory_order_acquire); }

  /// Provides the memory that an operation must not lack later. Throws std::bad_alloc.
  void prepare(participant& me);
  /// Frees or keeps what `me` has retired, if that is much.
  void reclaim(participant& me);
  /// Returns true if a thread has retired `state`. No other thread runs.
  [[nodiscard]] bool has_retired(const state_type* state) const {
    bool found = false;
    all_.for_each([&](participant& each) {
      for (const auto& retired : each.retired_states) found = found || retired.get() == state;
    });
    return found;
  }

 private:
  static constexpr std::size_t max_spare_lines = 4 * write_set::max_kept_lines;
  static constexpr std::size_t max_spare_states = 16;

  [[nodiscard]] std::size_t reclaim_at() const {
    return 2 + 4 * std::size_t{slots_.load(std::memory_order_relaxed)};
  }
  [[nodiscard]] bool is_protected(const void* object) const {
    return reclaim::is_protected(all_, object);
  }
  /// Returns true if a state of so many lines is kept for use, and counts the lines.
  [[nodiscard]] static bool has_spare_room(participant& me, std::uint32_t lines);

  byte_count* const held_;
  std::atomic<std::uint32_t> slots_{0};
  base::per_thread<participant> all_{[this](std::uint32_t slot) {
    auto made = std::make_unique<participant>(slot);
    std::uint32_t slots = slots_.load(std::memory_order_relaxed);
    while (slots <= slot && !slots_.compare_exchange_weak(slots, slot + 1)) {
    }
    return made;
  }};
};

template <domain::persistence_domain D>
void redo_threads<D>::prepare(participant& me) {
  if (me.next_outcome == nullptr) me.next_outcome = std::make_unique<outcome>();
  if (me.next_state == nullptr) {
    if (me.spare_states.empty()) {
      me.next_state = std::make_unique<state_type>(held_);
    } else {
      me.next_state = std::move(me.spare_states.back());
      me.spare_states.pop_back();
      me.spare_lines -= me.next_state->in_ring;
    }
  }
  const std::size_t enough = slots();
  me.next_state->marks.reserve(enough);
  me.next_state->answers.reserve(enough);
  me.next_state->grants.reserve(enough);
  if (!me.can_retire()) throw std::bad_alloc();
  me.spare_states.reserve(std::min(reclaim_at(), max_spare_states));
  if (me.retired_requests.size() + 1 >= me.retired_requests.capacity()) {
    me.retired_requests.reserve(2 * me.retired_requests.size() + 8);
  }
}

template <domain::persistence_domain D>
bool redo_threads<D>::has_spare_room(participant& me, std::uint32_t lines) {
  if (lines > write_set::max_kept_lines || me.spare_lines + lines > max_spare_lines ||
      me.spare_states.size() == me.spare_states.capacity()) {
    return false;
  }
  me.spare_lines += lines;
  return true;
}

template <domain::persistence_domain D>
void redo_threads<D>::reclaim(participant& me) {
  me.hazards.withdraw();
  const bool is_much = me.retired_lines > write_set::max_kept_lines;
  if (me.retired_requests.size() >= reclaim_at() || is_much) {
    std::erase_if(me.retired_requests, [&](auto& each) { return !is_protected(each.get()); });
  }
  if (me.retired_states.size() < reclaim_at() && !is_much) return;
  std::erase_if(me.retired_states, [&](auto& each) {
    if (is_protected(each.get())) return false;
    if (each->in_ring != 0 && !has_spare_room(me, each->in_ring)) [[unlikely]]
      return true;
    if (me.spare_states.size() < me.spare_states.capacity()) {
      me.spare_states.push_back(std::move(each));
    }
    return true;
  });
  if (!is_much) return;
  me.retired_lines = 0;
  for (const auto& each : me.retired_states) me.retired_lines += each->in_ring;
}

}  // namespace outlast::tx::detail
