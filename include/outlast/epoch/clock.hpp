// The clock of a pool: it divides the execution of all its buffered structures into epochs, so that
// a crash removes whole epochs only. [Wen21, 3.2, 5]
//
//   epoch::clock<D>& clock = epoch::clock_of(pool);
//   clock.sync();  // every operation that has returned is durable
//   if (clock.durable_epoch() >= clock.last_epoch()) answer();  // waits for nothing
//
// An operation belongs to the epoch in which it began. The tick from epoch e to e + 1 waits for the
// operations of e - 1, writes back all that they left, and only then stores e + 1. So the clock e
// in an image means that everything up to e - 2 is there, complete. Operations never wait: not for
// the tick, not for a fence. A sync passes two epochs. The clock stops while nothing changes.
//
// When not to use: an operation that lasts long delays the durability of all others, but not their
// progress.
//
// Memory: per thread, the changes of the last epochs. Literature: Wen et al., A Fast, General
// System for Buffered Persistent Data Structures (ICPP 2021).
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/callers.hpp>
#include <outlast/base/error.hpp>
#include <outlast/base/per_thread.hpp>
#include <outlast/base/periodic_thread.hpp>
#include <outlast/base/thread_context.hpp>
#include <outlast/domain/backoff.hpp>
#include <outlast/domain/hardware_access.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/spin_lock.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/domain/watched_blocks.hpp>
#include <outlast/epoch/detail/clock_record.hpp>
#include <outlast/epoch/detail/leftovers.hpp>
#include <outlast/epoch/detail/line_writer.hpp>
#include <outlast/epoch/detail/loss_window.hpp>
#include <outlast/epoch/detail/nonblocking_epochs.hpp>
#include <outlast/epoch/detail/verified_exchange.hpp>
#include <outlast/epoch/options.hpp>
#include <outlast/epoch/payload.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/root/attached.hpp>
#include <outlast/root/root_session.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace outlast::epoch {

/// The clock records the payloads that a thread changes during its operations.
///
/// Thread-safety: each thread calls enter(), leave() and the members in between for itself. Any
/// thread may call tick(), sync(), hasten(), now(), durable_epoch(), last_epoch(), has_failed(),
/// boundary() and configure() concurrently. The other members require that no other thread uses
/// the clock. Progress: enter() repeats only if the clock has ticked meanwhile; leave(), written()
/// and given_up() never wait. tick() and sync() wait for running operations, and for each other.
///
/// Invariants:
///   I1  an operation that is announced in epoch e ends before the clock is e + 2.
///   I2  the clock on the media is e only if all changes of epochs up to e - 2 are there. During a
///       sync, the clock that operations see may be one ahead of it.
///   I3  a payload given up in epoch e, or before, is reused only when the media have at least
///       e + 2, and no running operation can have seen it: when the clock is e + 3.
template <domain::persistence_domain D>
class clock final : private base::thread_exit_listener {
  using session_type = detail::clock_session<D>;
  using outlook = base::periodic_thread::outlook;

 public:
  using pool_type = basic_pool<D>;
  using arena_type = alloc::arena<D>;
  class record;

  /// Makes the clock: a service of the pool, which clock_of() makes on first use. Durable at
  /// return. Starts a thread that ticks, in real domains. Throws what attaching a root throws.
  explicit clock(pool_type& pool)
      : session_(pool, session_type::root_name, session_type::type()),
        now_(session_->now()),
        durable_(session_->boundary()),
        nonblocking_epochs_(now_, ticks_),
        exchanges_([](std::uint32_t) { return std::make_unique<detail::verified_exchange<D>>(); }),
        path_(pool.path()),
        records_([this](std::uint32_t) { return std::make_unique<record>(buffer()); }) {
    if (domain::has_real_threads<D>) configure({});
    // The pool may keep these although what follows fails.
    pool.on_fork_child([this, alive = std::weak_ptr<bool>(alive_)] {
      if (alive.expired()) return;
      records_.forbid();
      nonblocking_epochs_.forbid();
      exchanges_.forbid();
    });
    pool.on_close([this, alive = std::weak_ptr<bool>(alive_)] {
      if (!alive.expired()) close();
    });
    listen_for_exits();
  }
  clock(const clock&) = delete;
  clock& operator=(const clock&) = delete;
  /// Stops the thread. Writes nothing.
  ~clock() {
    stop_listening();
    ticks_.stop();
  }

  /// Changes the options from now on. Throws error{bad_argument}.
  void configure(const clock_options& options) {
    if (options.buffer < 2) {
      throw error(errc::bad_argument, path_, "a buffer of payloads holds at least 2");
    }
    if (options.epoch_length.count() < 0) {
      throw error(
          errc::bad_argument, path_,
          "clock_options::epoch_length is negative; 0 lets tick() and sync() alone move the "
          "clock");
    }
    ticks_.stop();
    epoch_length_.store(options.epoch_length, std::memory_order_relaxed);
    buffer_.store(options.buffer, std::memory_order_relaxed);
    writes_.store(options.writes, std::memory_order_relaxed);
    reclaims_.store(options.reclaims, std::memory_order_relaxed);
    nonblocking_epochs_.configure(options.buffer, options.writes);
    stream_from_.store(options.stream_from_bytes == 0 ? ~std::size_t{0} : options.stream_from_bytes,
                       std::memory_order_relaxed);
    if (options.epoch_length.count() == 0) return;
    ticks_.start(options.epoch_length, [this] { return move(); }, [this] { return look(); });
  }

  /// Returns the present epoch.
  [[nodiscard]] std::uint64_t now() const { return now_.load(std::memory_order_acquire); }
  /// Returns the present epoch, ordered after all earlier stores of the caller.
  [[nodiscard]] std::uint64_t present() const { return now_.load(std::memory_order_seq_cst); }
  /// Returns the last epoch that the recovery at this clock's opening found complete.
  [[nodiscard]] std::uint64_t boundary() const noexcept { return session_->boundary(); }
  /// Returns the last durable epoch: a crash from now on removes no operation of it or of earlier
  /// epochs. It grows, and not after a failure of the device. With write_back::none it is a claim
  /// that does not hold for media.
  [[nodiscard]] std::uint64_t durable_epoch() const {
    return durable_.load(std::memory_order_acquire);  // (12)
  }
  /// Returns the epoch of the calling thread's last change of a buffered structure; 0 before the
  /// first. The change is durable when durable_epoch() has reached it.
  [[nodiscard]] std::uint64_t last_epoch() {
    return std::max(records_.local().epoch_, nonblocking_epochs_.effect());
  }
  /// Returns true if the device has failed: no operation begins, and no epoch becomes durable.
  [[nodiscard]] bool has_failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  /// Lets the clock's thread make `epoch` durable without its usual pauses. Waits for nothing.
  /// Without such a thread nothing happens: see clock_options::epoch_length. Many calls for one
  /// epoch cost two ticks together.
  void hasten(std::uint64_t epoch) {
    if (durable_epoch() >= epoch) return;
    if (wanted_.load(std::memory_order_relaxed) >= epoch) return;
    wanted_.raise_to(epoch, std::memory_order_relaxed);
    ticks_.hasten();
  }

  /// Returns a few sentences for users and their logs: the failures that the data survives, and the
  /// time that a crash may remove.
  [[nodiscard]] std::string guarantee() const {
    // With a device the clock of the last tick becomes durable with the next.
    return detail::loss_window(domain::notes_pages<D> ? 3 : 2, ticks_twice,
                               epoch_length_.load(std::memory_order_relaxed),
                               writes_.load(std::memory_order_relaxed)) +
           " " + session_->pool().guarantee();
  }

  // ---- For operations ----

  /// Begins an operation of the calling thread. May free payloads that the thread gave up three
  /// epochs ago. Throws error{io_failure} if the device has failed, error{forked}, error{refused}
  /// inside another operation of the thread, std::bad_alloc.
  record& enter() {
    record& mine = records_.local();
    if (mine.active_.load(std::memory_order_relaxed) != 0) throw_nested();
    const std::uint64_t epoch = now_.load(std::memory_order_acquire);
    D::announce(mine.active_, epoch);  // (1)
    return begin(mine, epoch);
  }

  /// Announces an operation: the first half of enter(), for threads that take a lock between the
  /// halves, which saves a fence. Ticks wait for announced operations. Throws error{forked},
  /// error{refused}.
  record& begin() {
    record& mine = records_.local();
    if (mine.active_.load(std::memory_order_relaxed) != 0) throw_nested();
    D::announce_before_exchange(mine.active_, now_.load(std::memory_order_acquire));  // (1)
    return mine;
  }
  /// Begins an announced operation. Throws as enter(), and cancels the operation then.
  record& begin(record& mine) { return begin(mine, mine.active_.load(std::memory_order_relaxed)); }
  /// Cancels an announced operation.
  void cancel(record& mine) {
    D::store(mine.active_, 0, std::memory_order_release, domain::site::none());
  }

  /// Ends the operation.
  void leave(record& mine) {
    if (mine.writes_at_once_) [[unlikely]]
      write_back_present(mine);
    // (3) release; synchronizes-with (4, 10): the tick sees what the operation noted.
    D::store(mine.active_, 0, std::memory_order_release, domain::site::none());
  }

  /// The operation has stored to `bytes` bytes of a payload.
  void written(record& mine, const void* first, std::size_t bytes) {
    mine.changed_in_.store(mine.epoch_, std::memory_order_relaxed);
    ticks_.note_work();
    if (!D::flushes()) return;
    mine.note(first, bytes);
    if (mine.present_->ranges.size() >= mine.max_ranges_) [[unlikely]]
      write_back_oldest(mine);
  }

  /// Records that the operation has marked a payload, a block of `from`, as given up.
  void given_up(record& mine, arena_type& from, void* block) noexcept { mine.give_up(from, block); }

  /// Returns the epochs of non-blocking operations, for which no tick waits.
  [[nodiscard]] detail::nonblocking_epochs<D>& nonblocking_epochs() noexcept {
    return nonblocking_epochs_;
  }
  /// Begins a non-blocking operation. Throws error{io_failure} if the device has failed,
  /// error{forked}, std::bad_alloc.
  [[nodiscard]] typename detail::nonblocking_epochs<D>::record& enter_nonblocking() {
    require_device();
    return nonblocking_epochs_.local();
  }

  /// Returns the exchanges of verified_pointer: one per thread.
  [[nodiscard]] auto& exchanges() noexcept { return exchanges_; }

  [[nodiscard]] std::size_t stream_from_bytes() const noexcept {
    return stream_from_.load(std::memory_order_relaxed);
  }

  // ---- For the rest of the world ----

  /// Passes one epoch. The operations of the epoch before the last are durable at return; on
  /// domains with a device, one tick later. Throws error{io_failure}.
  void tick() {
    require_outside();
    const std::lock_guard lock(ticking_);
    tick_alone();
  }

  /// Blocks until every operation that has returned is durable. The caller itself writes back the
  /// changes of other threads. Throws error{io_failure}, error{refused} inside an operation.
  void sync() {
    require_outside();
    make_durable(now());
    if constexpr (!domain::notes_pages<D>) D::psync(domain::site::current());
  }

  /// Lets no epoch pass while the result exists: all operations meanwhile are of one epoch.
  /// Requires: the calling thread neither ticks nor syncs, and is in no operation.
  [[nodiscard]] auto hold() {
    require_outside();
    return std::unique_lock(ticking_);
  }

  // ---- For the sessions of structures ----

  [[nodiscard]] session_type& session() noexcept { return *session_; }

  /// Prepares the close of the pool. Everything is durable at return, and nothing waits to be
  /// freed. Requires: no operation runs.
  void settle() {
    sync();
    sync();  // what was given up in the present is free when the clock is three epochs on
    const std::lock_guard lock(ticking_);
    records_.for_each([](record& each) {
      for (leftovers& one : each.left_) free_all(one);
    });
  }

  /// Returns the epoch of the calling thread's last operation, or 0 if there was none since the
  /// last call. For verification.
  [[nodiscard]] std::uint64_t take_last_epoch() {
    return std::max(std::exchange(records_.local().epoch_, 0), nonblocking_epochs_.take_effect());
  }
  /// Returns the number of payloads that wait to be freed. For tests; exact only while no operation
  /// runs.
  [[nodiscard]] std::size_t waiting() const {
    std::size_t sum = 0;
    records_.for_each([&](const record& each) { sum += each.waiting(); });
    return sum;
  }

 private:
  using leftovers = detail::leftovers<D>;
  using range = typename leftovers::range;
  using given = typename leftovers::given;
  static constexpr std::size_t slots = 4;
  static constexpr std::size_t room = 16;  // for what most operations leave
  /// With a device the clock of the last tick may not be durable yet: no block of two epochs ago
  /// can be reused before it is.
  static constexpr bool ticks_twice = !domain::notes_pages<D>;

 public:
  /// The announcement of a thread, and its changes.
  class alignas(2 * base::cache_line_size) record {
   public:
    explicit record(std::size_t buffer) : max_ranges_(buffer) {}

    [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }

   private:
    friend class clock;

    [[nodiscard]] bool has_room() const noexcept {
      return present_->ranges.capacity() - present_->ranges.size() >= room &&
             present_->blocks.has_room(room);
    }

    void note(const void* first, std::size_t bytes) {
      std::vector<range>& ranges = present_->ranges;
      if (!ranges.empty() && ranges.back().first == first && ranges.back().bytes >= bytes) return;
      if (ranges.size() < ranges.capacity()) [[likely]] {
        ranges.push_back({first, bytes});
        return;
      }
      try {
        ranges.push_back({first, bytes});
      } catch (const std::bad_alloc&) {
        domain::persist<D>(first, bytes);  // no room to remember it
      }
    }

    /// Without volatile memory the block is lost until the next recovery finds it. That is better
    /// than an operation that fails although it took effect.
    void give_up(arena_type& from, void* block) noexcept {
      try {
        present_->blocks.emplace_back(from.owner_of_calls(), &from, block);
      } catch (const std::bad_alloc&) {
        from.note_lost_block();
      }
    }

    [[nodiscard]] std::size_t waiting() const noexcept {
      std::size_t sum = 0;
      for (const leftovers& each : left_) sum += each.blocks.size();
      return sum;
    }

    std::atomic<std::uint64_t> active_{0};
    std::atomic<std::uint64_t> changed_in_{0};
    std::uint64_t epoch_ = 0;         // of the last operation
    std::uint64_t prepared_for_ = 0;  // present_ is of this epoch
    std::size_t max_ranges_;
    bool writes_at_once_ = false;
    std::array<leftovers, slots> left_;
    leftovers* present_ = left_.data();
  };

 private:
  [[nodiscard]] std::size_t buffer() const noexcept {
    return buffer_.load(std::memory_order_relaxed);
  }

  /// Begins an operation whose `epoch` is announced.
  record& begin(record& mine, std::uint64_t epoch) {
    for (;;) {
      // (1) announced before the clock is read again; synchronizes-with (2, 4, 7, 8, 9, 10): either
      // the tick sees the announcement, or this thread sees the tick.
      const std::uint64_t seen = now_.load(std::memory_order_seq_cst);
      if (seen == epoch) [[likely]]
        break;
      epoch = seen;
      D::announce(mine.active_, epoch);
    }
    mine.epoch_ = epoch;
    if (mine.prepared_for_ != epoch || !mine.has_room()) [[unlikely]]
      prepare(mine, epoch);
    return mine;
  }

  [[noreturn]] void throw_nested() const {
    throw error(
        errc::refused, path_,
        "an operation on a buffered structure was begun, or a sync or a tick, inside another "
        "one of the same thread; end that one first");
  }
  void require_outside() {
    if (records_.local().active_.load(std::memory_order_relaxed) != 0) throw_nested();
  }

  /// Prepares the first operation of a thread in an epoch, or one that may need more room. If it
  /// throws, no operation has begun.
  [[gnu::noinline]] void prepare(record& mine, std::uint64_t epoch) {
    try {
      require_device();
      leftovers& present = mine.left_[epoch % slots];
      if (present.epoch != epoch) {
        free_older(mine, epoch);
        present.epoch = epoch;
        present.ranges.clear();  // written back by a tick
        mine.max_ranges_ = domain::notes_pages<D> ? ~std::size_t{0} : buffer();
        const write_back writes = writes_.load(std::memory_order_relaxed);
        mine.writes_at_once_ = writes == write_back::each_operation && !domain::notes_pages<D>;
      }
      make_room(present.ranges, std::min(mine.max_ranges_, std::size_t{1} << 10));
      present.blocks.make_room(room);
      mine.present_ = &present;
      mine.prepared_for_ = epoch;
    } catch (...) {
      D::store(mine.active_, 0, std::memory_order_release, domain::site::none());
      throw;
    }
  }

  static void make_room(std::vector<range>& in, std::size_t more) {
    if (in.capacity() - in.size() >= room) return;
    in.reserve(std::max(2 * in.size(), in.size() + more + room));
  }

  void require_device() {
    if (!failed_.load(std::memory_order_acquire)) return;
    throw error(errc::io_failure, path_,
                "the device failed while an epoch was made durable; what was synced before "
                "survives. Close the pool, check the device, and open it again");
  }

  /// Writes back half of a full buffer, with one fence.
  [[gnu::noinline]] void write_back_oldest(record& mine) {
    if (writes_.load(std::memory_order_relaxed) == write_back::none) {
      mine.present_->ranges.clear();
      return;
    }
    std::vector<range>& ranges = mine.present_->ranges;
    const auto end = ranges.begin() + static_cast<std::ptrdiff_t>(ranges.size() / 2);
    flush(ranges.begin(), end);
    // (P1) persisted-before (P3): the epoch, in part.
    domain::fence<D>();
    ranges.erase(ranges.begin(), end);
  }

  void write_back_present(record& mine) {
    if (!D::flushes()) return;
    flush(mine.present_->ranges.begin(), mine.present_->ranges.end());
    domain::fence<D>();  // (P6) persisted-before (P3): the epoch, in part.
    mine.present_->ranges.clear();
  }

  template <class Iterator>
  static void flush(Iterator first, Iterator last, domain::site where = domain::site::current()) {
    // A payload that was made and given up in one epoch is freed before its lines are flushed: one
    // flush more than needed.
    const domain::tolerates_freed<D> its_lines;
    detail::line_writer<D> writer;
    for (; first != last; ++first) writer.flush(first->first, first->bytes, where);
  }

  /// Passes epochs until the media have `target`, or the device is about to write it. Reads
  /// the clock under the lock, because the clock may be ahead of the media without it (I2).
  void pass_until(std::uint64_t target) {
    const std::lock_guard lock(ticking_);
    while (now() < target) {
      if (ticks_twice && now() + 1 < target) {
        tick_twice_alone();
      } else {
        tick_alone();
      }
    }
  }

  /// Passes epochs until `epoch` is durable.
  void make_durable(std::uint64_t epoch) {
    pass_until(epoch + 2);
    if constexpr (domain::notes_pages<D>) {
      // The last tick wrote the clock, and left it to the next to make that durable.
      const std::lock_guard lock(ticking_);
      unless_it_fails([&] {
        session_->flush();
        D::psync(domain::site::current());
        note_on_media(now_.load(std::memory_order_relaxed));
      });
    }
  }

  /// Publishes what is durable. Requires: the media have the clock `time` after a fence of this
  /// thread, and ticking_ is held.
  void note_on_media(std::uint64_t time) {
    const std::uint64_t boundary = session_->boundary_at(time);  // I2
    if (boundary <= durable_.load(std::memory_order_relaxed)) return;
    // (11) seq_cst: the fence has ended, also for this thread's own next load. Synchronizes-with
    // (12): a thread that reads the epoch may answer for it.
    durable_.store(boundary, std::memory_order_seq_cst);
  }

  void tick_alone() {
    unless_it_fails([&] {
      const std::uint64_t epoch = now_.load(std::memory_order_relaxed);
      end_operations_before(epoch);
      write_back_epoch(epoch - 1);
      wait_for_write_back();
      if (domain::notes_pages<D>) note_on_media(epoch);
      written_back(epoch - 1);
      write_clock(epoch + 1);
      free_given_up_in(epoch - 2);
      // (2) seq_cst; synchronizes-with (1).
      now_.store(epoch + 1, std::memory_order_seq_cst);
    });
  }

  /// Passes two epochs with the fences of one. Operations may begin in the first of them before it
  /// is on the media: its changes and those of the two epochs before are lost together in a crash.
  void tick_twice_alone() {
    unless_it_fails([&] {
      const std::uint64_t epoch = now_.load(std::memory_order_relaxed);
      end_operations_before(epoch);
      // The media say `epoch`, so it may be freed. Once the clock moves, threads may free it too.
      free_given_up_in(epoch - 2);
      // (8) seq_cst; synchronizes-with (1).
      now_.store(epoch + 1, std::memory_order_seq_cst);
      end_operations_before(epoch + 1);
      write_back_epoch(epoch - 1);
      write_back_epoch(epoch);
      wait_for_write_back();
      written_back(epoch - 1);
      written_back(epoch);
      write_clock(epoch + 2);
      free_given_up_in(epoch - 1);
      // (9) seq_cst; synchronizes-with (1).
      now_.store(epoch + 2, std::memory_order_seq_cst);
    });
  }

  /// Ends the non-blocking operations of earlier epochs in this thread.
  void end_operations_before(std::uint64_t epoch) {
    wait_for_operations_before(epoch);
    nonblocking_epochs_.pass(epoch);
  }

  /// Requires: the caller holds ticking_. After a failure of the device no operation begins: the
  /// clock moves, so that a thread that begins one checks for the failure.
  template <class Work>
  void unless_it_fails(Work&& work) {
    require_device();
    try {
      work();
    } catch (const error&) {
      failed_.store(true, std::memory_order_release);
      // (7) seq_cst; synchronizes-with (1).
      now_.store(now_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
      throw;
    }
  }

  void wait_for_operations_before(std::uint64_t epoch) {
    D::schedule_point();
    records_.for_each([&](record& each) {
      domain::backoff<D> waiting;
      for (;;) {
        // (4) seq_cst; synchronizes-with (1, 3).
        const std::uint64_t active = D::load(each.active_, std::memory_order_seq_cst);
        if (active == 0 || active >= epoch) return;
        waiting.wait();
      }
    });
  }

  void write_back_epoch(std::uint64_t epoch) {
    const bool writes = writes_.load(std::memory_order_relaxed) != write_back::none;
    records_.for_each([&](record& each) {
      leftovers& left = each.left_[epoch % slots];
      if (left.epoch != epoch) return;
      if (writes) flush(left.ranges.begin(), left.ranges.end());
    });
  }

  /// Forgets the changes of `epoch`, which are durable. Not earlier, because a tick may run out of
  /// memory half-way. The next one, by whichever thread, must then find all of them.
  void written_back(std::uint64_t epoch) {
    records_.for_each([&](record& each) {
      leftovers& left = each.left_[epoch % slots];
      if (left.epoch == epoch) left.ranges.clear();
    });
  }

  void wait_for_write_back() {
    if constexpr (domain::notes_pages<D>) session_->flush();
    // (P2) persisted-before (P3): the epoch, and on a device the clock that the last tick wrote.
    domain::fence<D>();
  }

  void write_clock(std::uint64_t next) {
    session_->write(next);  // (P3) the promise that what came before is there.
    if constexpr (domain::notes_pages<D>) return;
    session_->flush();
    // (P4) persisted-before (P5): what the clock allows to be used again is used after it.
    domain::fence<D>();
    note_on_media(next);
  }

  void free_given_up_in(std::uint64_t epoch) {
    if (reclaims_.load(std::memory_order_relaxed) == reclamation::workers) return;
    records_.for_each([&](record& each) {
      leftovers& left = each.left_[epoch % slots];
      if (left.epoch == epoch) free_all(left);
    });
  }

  void free_older(record& mine, std::uint64_t epoch) {
    for (leftovers& each : mine.left_) {
      if (each.epoch + 3 <= epoch) free_all(each);
    }
  }

  static void free_all(leftovers& left) noexcept {
    // (P5) others may write there.
    left.blocks.call_all([](const given& each) { each.from->deallocate(each.block); });
  }

  /// Ticks in the clock's thread: once, or until what hasten() demanded is durable. Returns false
  /// if no further tick is possible.
  bool move() {
    try {
      const std::uint64_t wanted = wanted_.load(std::memory_order_relaxed);
      if (durable_epoch() < wanted && wanted <= now()) {
        make_durable(wanted);
      } else {
        tick();
      }
    } catch (const error&) {
      return false;  // failed_ tells those who begin an operation or sync
    } catch (const std::bad_alloc&) {
      // The next tick does the work for which there was no memory.
    }
    return true;
  }

  /// The changes of epoch e are durable, and its given-up payloads are free, when the clock is e +
  /// 3. A tick without a need would write to the device for nothing.
  [[nodiscard]] outlook look() const {
    bool is_used = nonblocking_epochs_.is_used();
    records_.for_each([&](const record& each) {
      // (10) seq_cst; synchronizes-with (1, 3).
      is_used = is_used || each.active_.load(std::memory_order_seq_cst) != 0;
    });
    std::uint64_t last = nonblocking_epochs_.last_change();
    records_.for_each([&](const record& each) {
      last = std::max(last, each.changed_in_.load(std::memory_order_relaxed));
    });
    if (last + 3 > now()) return outlook::work;
    return is_used ? outlook::waiting : outlook::nothing;
  }

  /// Ends the clock before the roots are detached.
  void close() {
    ticks_.stop();
    settle();
    session_->release();
  }

  /// Ends the announcement of an exiting thread. The next tick processes its changes.
  void thread_exited(std::uint32_t slot) noexcept override {
    if (records_.forbidden()) return;
    if (record* const gone = records_.of_slot(slot)) {
      gone->active_.store(0, std::memory_order_release);
    }
  }

  roots::attached<session_type> session_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  alignas(2 * base::cache_line_size) domain::volatile_word<D, std::uint64_t> now_;
  domain::volatile_word<D, std::uint64_t> durable_;
  domain::volatile_word<D, std::uint64_t> wanted_{0};  // by hasten()
  std::atomic<bool> failed_{false};
  std::atomic<std::chrono::microseconds> epoch_length_{std::chrono::microseconds{0}};
  std::atomic<std::size_t> buffer_{clock_options().buffer};
  std::atomic<write_back> writes_{write_back::buffered};
  std::atomic<reclamation> reclaims_{reclamation::tick};
  std::atomic<std::size_t> stream_from_{clock_options().stream_from_bytes};
  detail::nonblocking_epochs<D> nonblocking_epochs_;
  base::per_thread<detail::verified_exchange<D>> exchanges_;
  std::string path_;
  alignas(2 * base::cache_line_size) domain::spin_lock<D> ticking_;
  base::per_thread<record> records_;
  base::periodic_thread ticks_;  // ends first
};

/// Returns the clock of `pool`. Thread-safety: may be called concurrently. Throws what the
/// constructor of clock throws.
template <domain::persistence_domain D>
[[nodiscard]] clock<D>& clock_of(basic_pool<D>& pool) {
  return pool.template service<roots::root_sessions<D>>().template service<clock<D>>();
}

}  // namespace outlast::epoch
