// The loops of redo_session.hpp over requests, logs and replicas, and its bodies for opening, for
// the commit log, and for lack of space.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/tx/detail/redo_session.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string>

namespace outlast::tx::detail {

// ---- (a) Loops ----

template <domain::persistence_domain D>
void redo_session<D>::leave_it_to_leader(const participant& me, const request& mine,
                                         domain::backoff<D>& until_free) const {
  if constexpr (!domain::has_real_threads<D>) return;  // the simulator has no caches to save
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
  auto outside = base::replica_use::none;
  if (take_one_of(owned, round, two ? 2 : this->replicas(), outside)) return true;
  // A reader in another process may hold one of the two for hours.
  return two && outside == base::replica_use::read_long &&
         take_one_of(owned, backoff_rounds, this->replicas(), outside);
}

template <domain::persistence_domain D>
bool redo_session<D>::take_one_of(replica_lock& owned, unsigned round, unsigned count,
                                  base::replica_use& outside) {
  const redo_word now = word_.now();
  unsigned refused = now.replica();
  for (unsigned left = 2; left > 0; --left) {
    const unsigned best = freshest_free(replicas_, count, now.replica(), refused);
    const bool may_take = round >= rounds_for_close || is_close(best, now);
    if (may_take && try_to_take(owned, best, outside)) return true;
    refused = best;
  }
  for (unsigned i = 0; i < count && round >= rounds_for_close; ++i) {
    if (try_to_take(owned, i, outside)) return true;
  }
  return false;
}

template <domain::persistence_domain D>
bool redo_session<D>::replay_logs(participant& me, replica_lock& owned, state_type& base) {
  const std::uint64_t from = owned->number.load(std::memory_order_relaxed);
  if (base.number - from >= ring_.size()) return false;
  for (std::uint64_t number = from + 1; number <= base.number; ++number) {
    const state_type* const next = number == base.number ? &base : ring_.find(me, number);
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
  next.acknowledged.store(0, std::memory_order_relaxed);
  next.settled.store(0, std::memory_order_relaxed);
  std::fill(std::copy(base.marks.begin(), base.marks.end(), next.marks.begin()), next.marks.end(),
            typename state_type::mark{});
  owned->stale.store(1, std::memory_order_relaxed);  // until the batch is over
  transaction update = this->writing(owned.index(), next.log);
  largest_request largest;
  if (me.slot < next.marks.size() && wanted(me)) run_request(me, me, update, largest);
  threads_.for_each([&](participant& each) {
    if (each.slot >= next.marks.size()) return;
    if (&each != &me && wanted(each)) run_request(me, each, update, largest);
    grant_read(each, next, *owned);
  });
  next.in_ring = commit_ring<D>::counted_lines(next.log);
  next.log.seal([&](line_number line) { return this->line_at(owned.index(), line); });
  prefetch_lines(base.replica, next.log);
  word_.place(next, base);
  return largest;
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

// ---- (b) Opening ----

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
void redo_session<D>::configure(const options& wanted) {
  if constexpr (is_logged) {
    if (word_.is_strict() != (wanted.max_unsynced_time.count() == 0)) {
      throw error(errc::refused, this->pool_path(),
                  "the transactions '" + this->name() + "' were opened in this process " +
                      (word_.is_strict() ? "without a window" : "with a window") +
                      "; close the pool before that is changed");
    }
    max_unsynced_time_ = wanted.max_unsynced_time;
    if (!domain::has_real_threads<D> || word_.is_strict()) return;
    log_threads_.start(wanted.max_unsynced_time,
                       {.sync = [this] { sync(); },
                        .is_synced = [this] { return word_.is_all_durable(); },
                        .write_back = [this] { write_back(false); },
                        .free_memory = [this] { D::relieve(&this->state()); },
                        .newest = [this] { return word_.now().number(); }});
  }
}

// ---- (b) The commit log ----

template <domain::persistence_domain D>
void redo_session<D>::sync() {
  if (threads_.forbidden()) {
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
      // The device failed. It is unknown which commits are durable.
      broken_.store(1, std::memory_order_relaxed);
      throw;
    }
  }
}

template <domain::persistence_domain D>
void redo_session<D>::write_back_if_due(const state_type& newest) {
  log_threads_.note_work();
  if (!word_.should_write_back(newest)) return;
  if constexpr (!domain::has_real_threads<D>) return write_back(false);
  log_threads_.hasten(newest.log_end, word_.log_bytes());
}

template <domain::persistence_domain D>
void redo_session<D>::write_back(bool everything) {
  if constexpr (is_logged) {
    try {
      word_.write_back(is_recording(), everything);
    } catch (const error&) {
      // The device failed. It is unknown which commits are durable.
      broken_.store(1, std::memory_order_relaxed);
      throw;
    }
  }
}

// ---- (b) Lack of space ----

template <domain::persistence_domain D>
bool redo_session<D>::make_room(state_type& next, const state_type& base) {
  try {
    const std::size_t slots = std::max<std::size_t>(threads_.slots(), base.marks.size());
    next.marks.resize(slots);
    next.answers.reserve(slots);
    next.grants.reserve(slots);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

template <domain::persistence_domain D>
void redo_session<D>::run_what_fits(participant& me, replica_lock& owned, const state_type& base,
                                    const largest_request& largest) {
  if constexpr (is_logged) {
    // No operation of the batch has happened yet: a commit without room could not become durable.
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
      // There is another large request, for which the next commit does the same.
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

}  // namespace outlast::tx::detail
