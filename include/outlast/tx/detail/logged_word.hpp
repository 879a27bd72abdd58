// The durable word of engines whose replicas are in memory, with a write-ahead log to media.
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

/// Names the current replica. See durable_word.
///
/// Threads move a word in memory. Media have one replica, the base image. A batch of the pool's
/// journal brings the base image from one commit to a later one, together with the word on media,
/// whose number is that of the commit.
///
/// Strict, each commit is such a batch, before its callers get their answers. Otherwise a commit is
/// first recorded in the commit log, a write-ahead log in the kernel's page cache, which survives
/// the death of the process. sync() makes the log durable, and a write-back brings the base image
/// up to date when much of the log is full. Readers follow only commits that are recorded.
///
/// `State` is a commit: number, log (of images, sealed), and the place of its record: log_at,
/// log_end (where the record before it ends, if it has none), durable_before. A commit without a
/// record is written back immediately, after all earlier ones.
///
/// Invariants:
///   I1  the base image, the word on media and the start of the commit log change in one batch: a
///       crash finds the outcome of one commit, and the records after it.
///   I2  numbers grow; a commit that is not in the base image has a record, except for the newest.
/// Thread-safety: all members may be called concurrently. Progress: sync() and write_back() wait
/// for other threads and for the device, and so does a commit that finds no room; all other members
/// are wait-free.
template <domain::persistence_domain D, class State>
class logged_word {
 public:
  using log_type = commit_log<D>;
  static constexpr std::uint64_t no_record = log_type::none;

  /// Requires: replica 0 equals the base image, which is replica `index` of those on media. The
  /// memory of lines is counted in `count`, which outlives the word.
  logged_word(std::atomic<std::uint64_t>& on_media, std::byte* base_image, unsigned index,
              bool strict, byte_count* count)
      : on_media_(on_media),
        base_image_(base_image),
        base_index_(index),
        strict_(strict),
        newest_(replica_word(number_of(on_media), 0).bits()),
        durable_(newest_.load(std::memory_order_relaxed)),
        recorded_(newest_.load(std::memory_order_relaxed)),
        lines_(counted_allocator<domain::line_store>(count)),
        seen_(write_set::keeps::lines, count, max_lines_kept) {}

  /// Records commits in `log` from now on, if it is not nullptr. Before the first commit. Throws
  /// error{io_failure}.
  void begin(std::unique_ptr<log_type> log) {
    log_ = std::move(log);
    if (log_ != nullptr) write_back(replica_word(durable_number(), 0), 0);
  }

  /// The word from which the next commit starts.
  [[nodiscard]] replica_word now() const {
    return replica_word(D::load(newest_, std::memory_order_seq_cst));
  }
  /// The word that an announced reader may follow, if it is unchanged then.
  [[nodiscard]] replica_word readable() const {
    return replica_word(recorded_.load(std::memory_order_seq_cst));
  }
  /// Does nothing: a readable commit is recorded.
  void await_readable(replica_word) const noexcept {}
  /// Moves the word from `seen` to `wanted`. If it is something else, returns false and stores that
  /// in `seen`.
  [[nodiscard]] bool move(replica_word& seen, replica_word wanted) {
    std::uint64_t expected = seen.bits();
    if (D::compare_exchange(newest_, expected, wanted.bits(), std::memory_order_seq_cst, nowhere)) {
      return true;
    }
    seen = replica_word(expected);
    return false;
  }
  /// Returns true if readers do not follow replica `i` any more.
  [[nodiscard]] bool may_overwrite(unsigned i, replica_word) const {
    return readable().replica() != i;
  }
  [[nodiscard]] bool is_strict() const noexcept { return strict_; }

  /// Chooses where the record of `state` goes, which follows `base` and is not decided yet.
  void place(State& state, const State& base) {
    state.durable_before = durable_number();
    state.log_at = log_ == nullptr ? no_record : log_->place(base.log_end, state.log.size());
    state.log_end =
        state.log_at == no_record ? base.log_end : state.log_at + record_bytes(state.log.size());
  }

  /// Returns true if `state`, once placed, has a record, or if the pool's journal has room for it
  /// and for the records before it.
  [[nodiscard]] bool has_room_for(const State& state) const {
    return state.log_at != no_record || has_room_for(state, state.log.size());
  }
  /// Returns true if the journal has room for so many lines without a record in place of `state`.
  [[nodiscard]] bool has_room_for(const State& state, std::size_t lines) const {
    const std::uint64_t records = log_ == nullptr ? 0 : log_->unwritten(state.log_end);
    return D::provide(&on_media_, lines + records / base::cache_line_size + 1);
  }

  /// Makes `state`, which the caller protects, survive the death of the process.
  /// `unless_done(write)` calls `write` unless the state has been settled, and `is_writing`
  /// observes that meanwhile. `is_writing(number)`: a thread may be in such a call for a commit up
  /// to that one. Throws error{io_failure}, std::bad_alloc.
  template <class UnlessDone, class IsWriting>
  void before_answers(const State& state, UnlessDone&& unless_done, IsWriting&& is_writing) {
    if (state.log_at == no_record) {
      write_back_with(state, is_writing);
    } else {
      unless_done(
          [&] { log_->write(state.log_at, state.number, state.durable_before, state.log); });
    }
    // (3) release; synchronizes-with (4): the record is whole.
    recorded_.raise_to(replica_word(state.number, state.replica).bits(), std::memory_order_seq_cst);
  }

  /// Returns true if all acknowledged commits are durable.
  [[nodiscard]] bool is_all_durable() const { return durable_number() >= recorded_number(); }
  /// Makes all acknowledged commits durable, by group commit. Throws error{io_failure}.
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
  /// Returns true if the commit log has so many records that a write-back is due.
  [[nodiscard]] bool should_write_back(const State& newest) const {
    return log_ != nullptr && log_->unwritten(newest.log_end) > log_->capacity() / 2;
  }
  /// The size of the commit log, in bytes.
  [[nodiscard]] std::uint64_t log_bytes() const noexcept { return log_->capacity(); }
  /// Brings the base image up to date, except for the newest commit, whose record a thread may be
  /// writing. `everything`: that one too; no thread commits from now on.
  template <class IsWriting>
  void write_back(IsWriting&& is_writing, bool everything) {
    if (log_ == nullptr) return;
    const std::uint64_t recorded = recorded_number();
    const std::uint64_t number = everything ? recorded : recorded - 1;
    if (recorded == 0) return;
    write_backs_.until([&] { return log_->written_back() >= number; },
                       [&] {
                         forget_lines();
                         await_records(number, is_writing);
                         const std::uint64_t end =
                             log_->collect(number, base_image_, seen_, lines_);
                         write_back(replica_word(number, 0), end);
                       });
  }

  [[nodiscard]] std::uint64_t durable_number() const {
    // (6) acquire; synchronizes-with (5).
    return replica_word(durable_.load(std::memory_order_acquire)).number();
  }
  /// A crash of the machine now would keep the commits up to this one, or more.
  [[nodiscard]] std::uint64_t kept_number() const { return durable_number(); }

 private:
  static constexpr domain::site nowhere = domain::site::none();
  /// Lines for which memory is kept between write-backs: about 10 MiB.
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

  /// Writes back the lines of `state`, and all records before it. Durable at return.
  template <class IsWriting>
  void write_back_with(const State& state, IsWriting& is_writing) {
    write_backs_.until([&] { return durable_number() >= state.number; },
                       [&] {
                         forget_lines();
                         add(state.log);
                         if (log_ != nullptr) {
                           await_records(state.number - 1, is_writing);
                           log_->collect(state.number - 1, base_image_, seen_, lines_);
                         }
                         write_back(replica_word(state.number, state.replica), state.log_end);
                       });
  }
  void add(const write_set& log) {
    const line_image* after = log.afters().data();
    log.for_each([&](line_number line) {
      seen_.add(line);
      lines_.push_back({base_image_ + line * base::cache_line_size, after++->data()});
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

  /// Publishes lines_ and the word in one batch of the journal. Called by the leader of
  /// write_backs_. The next record is at `position`.
  void write_back(replica_word to, std::uint64_t position) {
    if (log_ != nullptr) lines_.push_back(log_->start_at(to.number(), position));
    D::publish(on_media_, replica_word(to.number(), base_index_).bits(), lines_);
    if (log_ != nullptr) log_->note_written_back(to.number(), position);
    is_durable(to);
    if (seen_.is_large()) forget_lines();
  }
  /// Returns once no thread writes records up to commit `number`: all of these are settled.
  template <class IsWriting>
  void await_records(std::uint64_t number, IsWriting& is_writing) {
    // A full barrier: a thread that is_writing() does not observe reads that they are settled.
    recorded_.fetch_or(0, std::memory_order_seq_cst);
    domain::backoff<D> until_written;
    while (is_writing(number)) until_written.wait();
  }

  std::atomic<std::uint64_t>& on_media_;
  std::byte* const base_image_;
  const unsigned base_index_;
  const bool strict_;
  std::unique_ptr<log_type> log_;  // nullptr: strict, or the pool had no room
  mutable std::atomic<std::uint64_t> newest_;
  /// Bits of a word that is durable.
  alignas(128) domain::volatile_word<D, std::uint64_t> durable_;
  /// Bits of the newest word whose commit is in the commit log or in the base image. The commit
  /// before it is settled.
  domain::volatile_word<D, std::uint64_t> recorded_;
  domain::group_commit<D> syncs_;
  domain::group_commit<D> write_backs_;
  counted_vector<domain::line_store> lines_;  // of the leader of write_backs_
  write_set seen_;                            // of the same: the lines in lines_
};

}  // namespace outlast::tx::detail
