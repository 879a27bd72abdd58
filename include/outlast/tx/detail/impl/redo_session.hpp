// Definitions of redo_session.hpp: what makes durable later, and what frees.
#pragma once

#include <outlast/tx/detail/redo_session.hpp>

namespace outlast::tx::detail {

template <domain::persistence_domain D>
void redo_session<D>::sync() {
  if constexpr (is_logged) {
    if (word_.is_strict()) return;
    const std::uint64_t number = word_.now().number();
    if (word_.durable_number() >= number) return;
    require_intact();
    participant& me = participants_.local();
    try {
      word_.make_durable(number, [&]() -> const state_type& { return protected_current(me); });
    } catch (const error&) {
      broken_.store(1, std::memory_order_relaxed);
      release_hazards(me);
      throw;
    }
    release_hazards(me);
  }
}

template <domain::persistence_domain D>
void redo_session<D>::configure(const options& wanted) {
  if constexpr (is_logged) {
    if (word_.is_strict() != (wanted.window.count() == 0)) {
      throw error(errc::refused, this->pool_path(),
                  "the transactions '" + this->name() + "' were opened in this process " +
                      (word_.is_strict() ? "without a window" : "with a window") +
                      "; close the pool before that is changed");
    }
    window_ = wanted.window;
    if (domain::has_real_threads<D> && !word_.is_strict()) {
      syncs_.start(wanted.window, [this] { return try_to_sync(); });
    }
  }
}

template <domain::persistence_domain D>
void redo_session<D>::keep_close(participant& me) {
  if constexpr (is_logged) {
    if (word_.is_strict() || me.lines_behind <= most_lines_behind) return;
    sync();
    me.lines_behind = 0;  // until it settles another state
  }
}

template <domain::persistence_domain D>
void redo_session<D>::hasten_sync(participant& me, const state_type& settled) {
  if (word_.is_strict() || me.lines_behind <= enough_lines_behind) return;
  const std::uint64_t last = hastened_at_.load(std::memory_order_relaxed);
  if (settled.lines <= last + enough_lines_behind) return;
  hastened_at_.store(settled.lines, std::memory_order_relaxed);
  syncs_.hasten();
}

template <domain::persistence_domain D>
bool redo_session<D>::try_to_sync() {
  try {
    sync();
    return true;
  } catch (const std::bad_alloc&) {
    return true;  // the next one may have more luck
  } catch (const error&) {
    return false;  // updates and syncs are told
  }
}

template <domain::persistence_domain D>
auto redo_session<D>::protected_current(participant& me) -> const state_type& {
  for (redo_word now(0);;) {
    if (state_type* const found = protect_current(me, now)) return *found;
  }
}

template <domain::persistence_domain D>
bool redo_session<D>::is_protected(const void* object) {
  bool held = false;
  participants_.for_each([&](participant& each) {
    for (const auto& hazard : each.hazards) {
      held = held || D::load(hazard, std::memory_order_seq_cst) == object;
    }
  });
  return held;
}

template <domain::persistence_domain D>
void redo_session<D>::reclaim(participant& me) {
  release_hazards(me);
  if (me.retired_requests.size() >= reclaim_at()) {
    std::erase_if(me.retired_requests, [&](auto& each) { return !is_protected(each.get()); });
  }
  // Behind a log states are kept until they are durable, and many are looked at in vain.
  if (me.retired_states.size() < reclaim_at() + 2 * me.kept) return;
  std::erase_if(me.retired_states, [&](auto& each) {
    if (is_needed(*each) || is_protected(each.get())) return false;
    if (me.spare_states.size() < me.spare_states.capacity()) {
      me.spare_states.push_back(std::move(each));
    }
    return true;
  });
  if constexpr (is_logged) me.kept = me.retired_states.size();
}

template <domain::persistence_domain D>
bool redo_session<D>::is_kept(const state_type* state) {
  bool kept = false;
  for (std::size_t i = 0; i < ring_size_; ++i) kept = kept || ring_[i].load() == state;
  participants_.for_each([&](participant& each) {
    for (const auto& retired : each.retired_states) kept = kept || retired.get() == state;
  });
  return kept;
}

}  // namespace outlast::tx::detail
