// Definitions of redo_session.hpp: who waits for whom, which replica is taken, what a lost batch
// leaves, what happens behind a log, what the ring remembers, what frees.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/tx/detail/redo_session.hpp>

#include <exception>
#include <string>

namespace outlast::tx::detail {

template <domain::persistence_domain D>
void redo_session<D>::sync() {
  if (participants_.forbidden()) {
    throw error(
        errc::forked, this->pool_path(),
        "the transactions '" + this->name() +
            "' were opened before fork() and belong to the parent process; the child may use only "
            "pools that it opens itself");
  }
  if constexpr (is_logged) {
    if (word_.is_strict() || word_.is_all_durable()) return;
    require_intact();
    try {
      word_.sync();
    } catch (const error&) {
      broken_.store(1, std::memory_order_relaxed);
      throw;
    }
  }
}

template <domain::persistence_domain D>
void redo_session<D>::configure(const options& wanted) {
  if constexpr (is_logged) {
    if (word_.is_strict() != (wanted.max_unsynced_time.count() == 0)) {
      throw error(errc::refused, this->pool_path(),
                  "the transactions '" + this->name() + "' were opened in this process " +
                      (word_.is_strict() ? "without a window" : "with a window") +
                      "; close the pool before that is changed");
    }
    max_unsynced_time_ = wanted.max_unsynced_time;
    if (domain::has_real_threads<D> && !word_.is_strict()) {
      using outlook = base::periodic_thread::outlook;
      syncs_.start(
          wanted.max_unsynced_time, [this] { return try_to([this] { sync(); }); },
          [this] { return word_.is_all_durable() ? outlook::nothing : outlook::work; });
      last_rest_ = word_.now().number();
      homes_.start(
          looks_for_rest_every, [this] { return try_to([this] { work_at_home(); }); },
          [this] { return look_for_rest(); });
    }
  }
}

template <domain::persistence_domain D>
auto redo_session<D>::word_of(redo_session& of, const options& wanted) -> word_type {
  if constexpr (is_logged) {
    return word_type(of.state(), of.home_bytes(), of.home(), wanted.max_unsynced_time.count() == 0,
                     &of.held_);
  } else {
    return word_type(of.state());
  }
}

template <domain::persistence_domain D>
bool redo_session<D>::can_retire(participant& me) {
  if (me.retired_states.size() + 2 <= me.retired_states.capacity()) return true;
  try {
    me.retired_states.reserve(2 * me.retired_states.size() + 8);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

template <domain::persistence_domain D>
void redo_session<D>::prepare(participant& me) {
  require_intact();
  if (me.next_outcome == nullptr) me.next_outcome = std::make_unique<outcome>();
  if (me.next_state == nullptr) {
    if (me.spare_states.empty()) {
      me.next_state = std::make_unique<state_type>(&held_);
    } else {
      me.next_state = std::move(me.spare_states.back());
      me.spare_states.pop_back();
      me.spare_lines -= me.next_state->in_ring;
    }
  }
  const std::size_t slots = slots_.load(std::memory_order_acquire);
  me.next_state->marks.reserve(slots);
  me.next_state->answers.reserve(slots);
  me.next_state->grants.reserve(slots);
  if (!can_retire(me)) throw std::bad_alloc();
  me.spare_states.reserve(std::min(reclaim_at(), max_spare_states));
  if (me.retired_requests.size() + 1 >= me.retired_requests.capacity()) {
    me.retired_requests.reserve(2 * me.retired_requests.size() + 8);
  }
}

template <domain::persistence_domain D>
void redo_session<D>::leave_it_to_leader(const participant& me, const request& mine,
                                         domain::backoff<D>& until_free) const {
  if constexpr (!domain::has_real_threads<D>) return;  // caches are not played
  const participant* const last = leader();
  if (last == nullptr || last == &me) return;
  unsigned absent = 0;
  for (unsigned left = rounds_for_leader; left > 0; --left) {
    wait_a_while(mine, until_free);
    if (mine.answer.load(std::memory_order_acquire) != nullptr) return;
    const bool is_there = last->wanted.load(std::memory_order_relaxed) != nullptr;
    absent = is_there ? 0 : absent + 1;
    if (absent > rounds_for_absent_leader) return;
  }
}

template <domain::persistence_domain D>
bool redo_session<D>::take_some(replica_lock& owned, unsigned round) {
  const bool two = steps_.two_first && round < backoff_rounds;
  const unsigned count = two ? 2 : this->replicas();
  const redo_word now = word_.now();
  unsigned refused = now.replica();
  for (unsigned left = 2; left > 0; --left) {
    const unsigned best = freshest_free(replicas_, count, now.replica(), refused);
    const bool may_take = round >= rounds_for_close || is_close(best, now);
    if (may_take && try_to_take(owned, best)) return true;
    refused = best;
  }
  for (unsigned i = 0; i < count && round >= rounds_for_close; ++i) {
    if (try_to_take(owned, i)) return true;
  }
  return false;
}

template <domain::persistence_domain D>
void redo_session<D>::take_back(participant& me, replica_lock& owned) {
  state_type& lost = *me.next_state;
  lost.log.for_each_before([&](line_number line, const line_image& before) {
    write_line(owned, line, before, flushes_late(lost.log));
  });
  owned->grants.clear();
  owned->stale.store(0, std::memory_order_relaxed);
  for (const auto& each : lost.answers) {
    if (each.to == &me) {
      me.next_outcome.reset(each.out);
    } else {
      delete each.out;
    }
  }
  lost.answers.clear();
}

template <domain::persistence_domain D>
bool redo_session<D>::make_room(state_type& next, const state_type& base) {
  try {
    const std::size_t slots =
        std::max<std::size_t>(slots_.load(std::memory_order_acquire), base.marks.size());
    next.marks.resize(slots);
    next.answers.reserve(slots);
    next.grants.reserve(slots);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

template <domain::persistence_domain D>
bool redo_session<D>::repeat_logs(participant& me, replica_lock& owned, state_type& base) {
  const std::uint64_t from = owned->number.load(std::memory_order_relaxed);
  if (base.number - from >= ring_size_) return false;
  for (std::uint64_t number = from + 1; number <= base.number; ++number) {
    const state_type* const next = number == base.number ? &base : protect_number(me, number);
    if (next == nullptr) return false;
    next->log.for_each_after(
        [&](line_number line) { hw::prefetch_for_write(this->line_at(owned.index(), line)); },
        [&](line_number line, const line_image& after) {
          write_line(owned, line, after, flushes_late(next->log));
        });
    owned->number.store(number, std::memory_order_relaxed);
  }
  return true;
}

/// Runs what the log has room for. Nothing has happened before: what has no room could not be made
/// durable.
template <domain::persistence_domain D>
void redo_session<D>::run_what_fits(participant& me, replica_lock& owned, const state_type& base,
                                    const largest_request& largest) {
  if constexpr (is_logged) {
    state_type& next = *me.next_state;
    const auto run_again = [&](auto&& wanted) {
      take_back(me, owned);
      run_requests(me, owned, base, wanted);
      return word_.has_room_for(next);
    };
    if (word_.has_room_for(next, largest.lines) &&
        run_again([&](participant& each) { return &each == largest.of; })) {
      return;
    }
    if (!run_again([&](participant& each) { return &each != largest.of; })) {
      // There is another one like it, which the next transition comes to.
      (void)run_again([](participant&) { return false; });
    }
    const auto refuse = [&](const request&, outcome& out) {
      out.clear();
      out.failure = std::make_exception_ptr(
          out_of_space(this->pool_path() +
                       ": the file system has no room for a transaction that "
                       "changes " +
                       std::to_string(largest.lines * base::cache_line_size >> 10) +
                       " KiB, which the pool's log has to hold in one piece; make room there, or "
                       "change less at a time"));
    };
    if (largest.of != nullptr) answer(me, *largest.of, largest.number, refuse);
  }
}

template <domain::persistence_domain D>
void redo_session<D>::record(participant& me, const state_type& state) {
  if constexpr (is_logged) {
    const auto unless_settled = [&](auto&& write) {
      // A full barrier, as in logged_word::await_records(): that sees the announcement, or this the
      // settled state.
      D::announce(me.records, state.number);
      if (state.settled.load(std::memory_order_seq_cst) == 0) write();
      D::store(me.records, 0, std::memory_order_release, nowhere);
    };
    word_.before_answers(state, unless_settled,
                         [this](std::uint64_t number) { return is_recording(number); });
    syncs_.note_work();
    homes_.note_work();
    if (!word_.should_go_home(state)) return;
    if constexpr (!domain::has_real_threads<D>) return go_home(false);
    const std::uint64_t last = hastened_at_.load(std::memory_order_relaxed);
    if (state.log_end < last + word_.record_room() / 4) return;
    hastened_at_.store(state.log_end, std::memory_order_relaxed);
    homes_.hasten();
  }
}

template <domain::persistence_domain D>
bool redo_session<D>::is_recording(std::uint64_t number) {
  bool any = false;
  participants_.for_each([&](participant& each) {
    const std::uint64_t writes = D::load(each.records, std::memory_order_seq_cst);
    any = any || (writes != 0 && writes <= number);
  });
  return any;
}

template <domain::persistence_domain D>
void redo_session<D>::go_home(bool everything) {
  if constexpr (is_logged) {
    try {
      word_.go_home([this](std::uint64_t number) { return is_recording(number); }, everything);
    } catch (const error&) {
      broken_.store(1, std::memory_order_relaxed);
      throw;
    }
  }
}

template <domain::persistence_domain D>
base::periodic_thread::outlook redo_session<D>::look_for_rest() {
  using outlook = base::periodic_thread::outlook;
  const std::uint64_t now = word_.now().number();
  if (now == last_rest_) return outlook::nothing;
  if (std::exchange(last_seen_, now) != now) return outlook::waiting;
  rests_ = true;
  return outlook::work;
}

template <domain::persistence_domain D>
void redo_session<D>::work_at_home() {
  if constexpr (is_logged) {
    if (!std::exchange(rests_, false)) return go_home(false);
    last_rest_ = last_seen_;
    D::relieve(&this->state());
  }
}

template <domain::persistence_domain D>
template <class Work>
bool redo_session<D>::try_to(Work&& work) {
  try {
    work();
    return true;
  } catch (const std::bad_alloc&) {
    return true;  // the next one may have more luck
  } catch (const error&) {
    return false;  // updates and syncs are told
  }
}

template <domain::persistence_domain D>
void redo_session<D>::append(participant& me, state_type& state) {
  std::atomic<remembered>& place = place_in_ring(state.number);
  remembered there = D::load(place, std::memory_order_seq_cst);
  state_type* const before = state_in(there);
  D::announce(me.hazards[1], static_cast<const void*>(before));
  if (D::load(place, std::memory_order_seq_cst) != there) return;  // another one did
  if ((before != nullptr ? before->number : there >> 1) >= state.number) return;
  // (20) release; synchronizes-with (19).
  if (!D::compare_exchange(place, there, as_remembered(&state), std::memory_order_seq_cst,
                           nowhere)) {
    return;
  }
  const std::uint32_t gone = before == nullptr ? 0 : before->in_ring;
  if (before != nullptr) retire(me, before);
  if ((state.in_ring | gone) != 0) [[unlikely]]
    keep_ring_small(me, state, gone);
}

template <domain::persistence_domain D>
auto redo_session<D>::protect_number(participant& me, std::uint64_t number) -> state_type* {
  std::atomic<remembered>& place = place_in_ring(number);
  // (19) acquire; synchronizes-with (20).
  const remembered there = D::load(place, std::memory_order_seq_cst);
  state_type* const found = state_in(there);
  D::announce(me.hazards[1], static_cast<const void*>(found));
  if (D::load(place, std::memory_order_seq_cst) != there) return nullptr;
  return found != nullptr && found->number == number ? found : nullptr;
}

template <domain::persistence_domain D>
template <class Wanted>
auto redo_session<D>::run_requests(participant& me, replica_lock& owned, const state_type& base,
                                   Wanted&& wanted) -> largest_request {
  state_type& next = *me.next_state;
  next.number = base.number + 1;
  next.replica = owned.index();
  next.log.clear();
  next.answers.clear();
  next.grants.clear();
  owned->grants.clear();
  next.told.store(0, std::memory_order_relaxed);
  next.settled.store(0, std::memory_order_relaxed);
  std::fill(std::copy(base.marks.begin(), base.marks.end(), next.marks.begin()), next.marks.end(),
            typename state_type::mark{});
  owned->stale.store(1, std::memory_order_relaxed);  // until the batch is over
  transaction update = this->writing(owned.index(), next.log);
  largest_request largest;
  if (me.slot < next.marks.size() && wanted(me)) run_request(me, me, update, largest);
  participants_.for_each([&](participant& each) {
    if (each.slot >= next.marks.size()) return;
    if (&each != &me && wanted(each)) run_request(me, each, update, largest);
    grant_read(each, next, *owned);
  });
  next.in_ring = lines_in_ring(next.log);
  next.log.seal([&](line_number line) { return this->line_at(owned.index(), line); });
  ask_for_lines(base.replica, next.log);
  if constexpr (is_logged) word_.place(next, base);
  return largest;
}

template <domain::persistence_domain D>
void redo_session<D>::keep_ring_small(participant& me, const state_type& newest,
                                      std::uint32_t gone) {
  remembered_lines_.fetch_add(std::int64_t{newest.in_ring} - gone, std::memory_order_relaxed);
  const std::uint64_t others = std::min<std::uint64_t>(newest.number, ring_size_ - 1);
  for (std::uint64_t number = newest.number - others; number < newest.number; ++number) {
    if (remembered_lines_.load(std::memory_order_relaxed) <= max_remembered) return;
    if (!can_retire(me)) return;
    state_type* const large = protect_number(me, number);
    if (large == nullptr || large->in_ring == 0) continue;
    remembered there = as_remembered(large);
    if (!D::compare_exchange(place_in_ring(number), there, as_forgotten(number),
                             std::memory_order_seq_cst, nowhere)) {
      continue;
    }
    remembered_lines_.fetch_sub(large->in_ring, std::memory_order_relaxed);
    retire(me, large);
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

/// Counts the lines, if so.
template <domain::persistence_domain D>
bool redo_session<D>::has_spare_room(participant& me, std::uint32_t lines) {
  if (lines > write_set::max_kept_lines || me.spare_lines + lines > max_spare_lines ||
      me.spare_states.size() == me.spare_states.capacity()) {
    return false;
  }
  me.spare_lines += lines;
  return true;
}

template <domain::persistence_domain D>
void redo_session<D>::reclaim(participant& me) {
  release_hazards(me);
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

template <domain::persistence_domain D>
bool redo_session<D>::is_kept(const state_type* state) {
  bool kept = false;
  for (std::size_t i = 0; i < ring_size_; ++i) kept = kept || state_in(ring_[i].load()) == state;
  participants_.for_each([&](participant& each) {
    for (const auto& retired : each.retired_states) kept = kept || retired.get() == state;
  });
  return kept;
}

}  // namespace outlast::tx::detail
