// The word that names the replica that counts, where replicas lie in memory and a log in front of
// the one on media.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/domain/backoff.hpp>
#include <outlast/domain/group_commit.hpp>
#include <outlast/domain/logged_file.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/tx/detail/commit_log.hpp>
#include <outlast/tx/detail/replica_word.hpp>
#include <outlast/tx/detail/write_set.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace outlast::tx::detail {

/// Threads move a word in memory. The home, the replica on media, is brought from one transition's
/// outcome to a later one's by a batch of the pool's log, together with the word on media, whose
/// number says how far it has come.
///
/// Strict: that happens transition by transition, before anybody acts upon one. Else its lines go
/// to the log of transitions before that, into the kernel's hands, which survives a kill. Syncs
/// make durable what that log holds, and the home follows when much of it is full. Readers keep to
/// what is kept so.
///
/// `State` is a transition: number, log (of images, sealed), and where its record is in the log of
/// transitions: log_at, log_end (where the record before it ends, if it has none), durable_before.
/// A transition without a record goes home at once, behind all others.
///
/// Invariants:
///   I1  home, word on media and the start of the log of transitions change in one batch: a crash
///       finds the outcome of one transition, and the records behind it.
///   I2  numbers grow; what has happened behind the home has a record, but for the newest.
/// Thread-safety: all members may be called concurrently. Progress: what makes durable waits for
/// others and for the device, and so does a transition that finds no room; the rest is wait-free.
template <domain::persistence_domain D, class State>
class logged_word {
 public:
  using log_type = commit_log<D>;
  static constexpr std::uint64_t no_record = log_type::none;

  /// What the media have is in replica 0. `home`: its bytes on media, in the replica `home_index`.
  /// What it holds of lines is counted in `count`, which outlives it.
  logged_word(std::atomic<std::uint64_t>& on_media, std::byte* home, unsigned home_index,
              bool strict, byte_count* count)
      : on_media_(on_media),
        home_(home),
        home_index_(home_index),
        strict_(strict),
        newest_(replica_word(number_of(on_media), 0).bits()),
        durable_(newest_.load(std::memory_order_relaxed)),
        recorded_(newest_.load(std::memory_order_relaxed)),
        lines_(counted_allocator<domain::line_store>(count)),
        seen_(write_set::keeps::lines, count, max_lines_kept) {}

  /// Before the first transition: they are recorded in `log`, if there is one. Throws
  /// error{io_failure}.
  void begin(std::unique_ptr<log_type> log) {
    log_ = std::move(log);
    if (log_ != nullptr) go_home(replica_word(durable_number(), 0), 0);
  }

  /// What the next transition starts from.
  [[nodiscard]] replica_word now() const {
    return replica_word(D::load(newest_, std::memory_order_seq_cst));
  }
  /// What an announced reader may follow, if it is still so.
  [[nodiscard]] replica_word readable() const {
    return replica_word(recorded_.load(std::memory_order_seq_cst));
  }
  [[nodiscard]] bool move(replica_word& seen, replica_word wanted) {
    std::uint64_t expected = seen.bits();
    if (D::compare_exchange(newest_, expected, wanted.bits(), std::memory_order_seq_cst, nowhere)) {
      return true;
    }
    seen = replica_word(expected);
    return false;
  }
  [[nodiscard]] bool is_strict() const noexcept { return strict_; }

  /// Where the record of `state` goes, which comes after `base` and has happened for nobody yet.
  void place(State& state, const State& base) {
    state.durable_before = durable_number();
    state.log_at = log_ == nullptr ? no_record : log_->place(base.log_end, state.log.size());
    state.log_end =
        state.log_at == no_record ? base.log_end : state.log_at + record_bytes(state.log.size());
  }

  /// Once it is placed and before it happens: whether the pool's log has room for it, by itself if
  /// it has no record, and then with the records that go home before it.
  [[nodiscard]] bool has_room_for(const State& state) const {
    return state.log_at != no_record || has_room_for(state, state.log.size());
  }
  /// Whether it has room for so many lines without a record, in the place of `state`.
  [[nodiscard]] bool has_room_for(const State& state, std::size_t lines) const {
    const std::uint64_t records = log_ == nullptr ? 0 : log_->behind(state.log_end);
    return D::provide(&on_media_, lines + records / base::cache_line_size + 1);
  }

  /// Before callers are told what `state` answered, which the caller keeps: it survives a kill.
  /// `unless_done`, called with a function, calls that unless the state has been settled, and is
  /// seen by `is_writing` meanwhile; `is_writing(number)`: a thread may be in such a call for a
  /// transition up to that one. Throws error{io_failure}, std::bad_alloc.
  template <class UnlessDone, class IsWriting>
  void before_answers(const State& state, UnlessDone&& unless_done, IsWriting&& is_writing) {
    if (state.log_at == no_record) {
      go_home_with(state, is_writing);
    } else {
      unless_done(
          [&] { log_->write(state.log_at, state.number, state.durable_before, state.log); });
    }
    // (3) release; synchronizes-with (4): the record is whole.
    recorded_.raise_to(replica_word(state.number, state.replica).bits(), std::memory_order_seq_cst);
  }

  /// What anybody has been told is durable.
  [[nodiscard]] bool is_all_durable() const { return durable_number() >= recorded_number(); }
  /// It is at return. Throws error{io_failure}.
  void sync() {
    const std::uint64_t number = recorded_number();
    if (durable_number() >= number) return;
    syncs_.until([&] { return durable_number() >= number; },
                 [&] {
                   const std::uint64_t last = recorded_number();
                   log_->sync();
                   is_durable(replica_word(last, 0));
                 });
  }
  /// Enough is in the log of transitions for the home to follow.
  [[nodiscard]] bool should_go_home(const State& newest) const {
    return log_ != nullptr && log_->behind(newest.log_end) > log_->capacity() / 2;
  }
  /// Bytes of the log of transitions.
  [[nodiscard]] std::uint64_t record_room() const noexcept { return log_->capacity(); }
  /// The home gets everything but the newest transition, which somebody may still write down, or,
  /// `everything`, that as well: nothing happens meanwhile, nor later.
  template <class IsWriting>
  void go_home(IsWriting&& is_writing, bool everything) {
    if (log_ == nullptr) return;
    const std::uint64_t recorded = recorded_number();
    const std::uint64_t number = everything ? recorded : recorded - 1;
    if (recorded == 0) return;
    homes_.until([&] { return log_->home_number() >= number; },
                 [&] {
                   forget_lines();
                   await_records(number, is_writing);
                   const std::uint64_t end = log_->collect(number, home_, seen_, lines_);
                   go_home(replica_word(number, 0), end);
                 });
  }

  [[nodiscard]] std::uint64_t durable_number() const {
    // (6) acquire; synchronizes-with (5).
    return replica_word(durable_.load(std::memory_order_acquire)).number();
  }

 private:
  static constexpr domain::site nowhere = domain::site::none();
  /// What goes home at a time, if it is not a large transition: about 10 MiB.
  static constexpr std::size_t max_lines_kept = std::size_t{256} << 10;

  [[nodiscard]] static std::uint64_t number_of(const std::atomic<std::uint64_t>& word) {
    return replica_word(D::load(word, std::memory_order_acquire)).number();
  }
  [[nodiscard]] std::uint64_t recorded_number() const {
    // (4) acquire; synchronizes-with (3).
    return replica_word(recorded_.load(std::memory_order_acquire)).number();
  }
  void is_durable(replica_word word) {
    // (5) release; synchronizes-with (6).
    durable_.raise_to(word.bits(), std::memory_order_seq_cst);
  }

  /// The home gets what `state` wrote, and all before it. Durable at return.
  template <class IsWriting>
  void go_home_with(const State& state, IsWriting& is_writing) {
    homes_.until([&] { return durable_number() >= state.number; },
                 [&] {
                   forget_lines();
                   add(state.log);
                   if (log_ != nullptr) {
                     await_records(state.number - 1, is_writing);
                     log_->collect(state.number - 1, home_, seen_, lines_);
                   }
                   go_home(replica_word(state.number, state.replica), state.log_end);
                 });
  }
  void add(const write_set& log) {
    const line_image* after = log.afters().data();
    log.for_each([&](line_number line) {
      seen_.add(line);
      lines_.push_back({home_ + line * base::cache_line_size, after++->data()});
    });
  }
  void forget_lines() {
    if (seen_.is_large()) {
      give_back(lines_);
    } else {
      lines_.clear();
    }
    seen_.clear();
  }

  /// Whoever has the turn of homes_, with lines_: what the home gets. The next record is at
  /// `position`.
  void go_home(replica_word to, std::uint64_t position) {
    if (log_ != nullptr) lines_.push_back(log_->start_at(to.number(), position));
    D::publish(on_media_, replica_word(to.number(), home_index_).bits(), lines_);
    if (log_ != nullptr) log_->home_is_at(to.number(), position);
    is_durable(to);
    if (seen_.is_large()) forget_lines();
  }
  /// Nobody writes records up to transition `number` from now on: all of them have been settled.
  template <class IsWriting>
  void await_records(std::uint64_t number, IsWriting& is_writing) {
    // A full barrier: who is not seen to write from here on sees that they are.
    recorded_.fetch_or(0, std::memory_order_seq_cst);
    domain::backoff<D> until_written;
    while (is_writing(number)) until_written.wait();
  }

  std::atomic<std::uint64_t>& on_media_;
  std::byte* const home_;
  const unsigned home_index_;
  const bool strict_;
  std::unique_ptr<log_type> log_;  // none where it is strict, or the pool had no room
  mutable std::atomic<std::uint64_t> newest_;
  alignas(128) domain::volatile_word<D, std::uint64_t> durable_;  // bits of a word that is
  /// Bits of the newest word whose transition is in the log of transitions, or home. The one before
  /// it is settled.
  domain::volatile_word<D, std::uint64_t> recorded_;
  domain::group_commit<D> syncs_;
  domain::group_commit<D> homes_;
  counted_vector<domain::line_store> lines_;  // whose turn it is to go home
  write_set seen_;                            // the same: what lines_ has
};

}  // namespace outlast::tx::detail
