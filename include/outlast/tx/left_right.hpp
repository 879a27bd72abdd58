// The blocking engine: two replicas, wait-free readers, and flat combining of updates. [Cor18]
//
// When to use: fewest flushes and fences, and half of the space of a wait-free engine. When not to:
// a thread that stops in the middle of an update blocks all updates, and so does a reader that does
// not return. Readers never block.
//
// The protocol, left-right: docs/papers/universal-constructions.md. A batch of updates runs in the
// replica that no thread reads, and flushes its lines. One durable word then names that replica,
// and readers follow the word. The next batch first copies the lines to the other replica. So a
// batch takes two fences, and each line that it writes is flushed once in each replica.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/base/per_thread.hpp>
#include <outlast/domain/backoff.hpp>
#include <outlast/domain/hardware_access.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/root/root_session.hpp>
#include <outlast/tx/detail/attached_session.hpp>
#include <outlast/tx/detail/record.hpp>
#include <outlast/tx/detail/replica_session.hpp>
#include <outlast/tx/detail/request.hpp>
#include <outlast/tx/manager.hpp>
#include <outlast/tx/options.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace outlast::tx {

namespace detail {

/// Invariants:
///   I1  the durable word names a replica every line of which is durable.
///   I2  that replica is not written before a durable word names the other one.
///   I3  the other replica differs from it in the lines of previous_ at most, unless it is stale_.
///   I4  of the other replica's lines those in previous_ at most are not durable.
template <domain::persistence_domain D>
class left_right_session final : public replica_session<D> {
  using base_type = replica_session<D>;

 public:
  static constexpr unsigned replicas = 2;

  left_right_session(basic_pool<D>& in, const attached_root& root, const std::string& name,
                     engine_kind engine, const options& wanted)
      : base_type(in, root, name, engine, replicas, wanted) {
    const std::uint64_t found = D::load(this->state(), std::memory_order_acquire);
    batches_ = found >> 2;
    current_.store(found & current_bit, std::memory_order_relaxed);
    stale_ = !this->is_fresh() && (found & equal_bit) == 0;
    this->require_named();
    // (P3) persisted-before (P4): a word that a killed process left in a cache becomes durable
    // before the replica that an older one names is written; and from now on they may differ.
    write_state(found & ~equal_bit);
  }

  /// Runs `wanted` as an operation: announces it, and waits until this thread or another one, as
  /// the combiner, has run it. Durable at return.
  void update(any_request& wanted) {
    participant& me = participants_.local();
    // (1) release; synchronizes-with (2): the combiner reads the whole request.
    me.wanted.store(&wanted, std::memory_order_release);
    domain::backoff<D> until_done;
    for (;;) {
      if (try_lock()) {
        combine();
        unlock();
      }
      // (4) acquire; synchronizes-with (3): the result is there.
      if (me.wanted.load(std::memory_order_acquire) == nullptr) break;
      until_done.wait();
    }
    if (wanted.failure != nullptr) std::rethrow_exception(wanted.failure);
  }

  /// Runs f(transaction&) on a replica that no thread writes. Wait-free, apart from f.
  template <class F>
  decltype(auto) read(F&& f) {
    participant& me = participants_.local();
    const std::uint64_t version = D::load(version_, std::memory_order_acquire);
    // (5) full barrier: a combiner that reads the announcements later finds this one, and one that
    // has read them before has already chosen the replica that is read below.
    D::announce(me.reads_, version + 1);
    const leaving at_end(me);
    // (7) acquire; synchronizes-with (6): the content of the replica is visible.
    const auto replica = static_cast<unsigned>(D::load(current_, std::memory_order_seq_cst));
    transaction reader = this->reading(replica);
    const running_scope now(reader);
    return f(reader);
  }

  [[nodiscard]] bool before_close() override {
    if (broken_) return false;
    repeat_previous();
    const unsigned other = 1 - now_current();
    previous_->for_each([&](line_number line) { this->flush_line(other, line); });
    domain::fence<D>();
    write_state(batches_ << 2 | now_current() | equal_bit);
    return true;
  }
  void forbid() noexcept override { participants_.forbid(); }

 private:
  /// The durable word: the current replica, then whether the other one is equal to it, then a count
  /// of batches.
  static constexpr std::uint64_t current_bit = 1;
  static constexpr std::uint64_t equal_bit = 2;

  struct alignas(128) participant {
    domain::volatile_word<D, any_request*> wanted;
    std::atomic<std::uint64_t> reads_{0};  // 0: outside; else 1 + the version
    bool in_batch = false;                 // under the lock
  };

  class leaving {
   public:
    explicit leaving(participant& me) noexcept : me_(me) {}
    // (8) release; synchronizes-with (9): the reader's loads are over.
    ~leaving() { D::store(me_.reads_, 0, std::memory_order_release, domain::site::none()); }
    leaving(const leaving&) = delete;
    leaving& operator=(const leaving&) = delete;

   private:
    participant& me_;
  };

  [[nodiscard]] unsigned now_current() const noexcept {
    return static_cast<unsigned>(current_.load(std::memory_order_relaxed));
  }

  /// `word` is durable at return, and not before the lines that were staged.
  void publish_state(std::uint64_t word, domain::site where = domain::site::current()) {
    if constexpr (domain::logs_lines<D>) {
      D::publish(this->state(), word, where);
    } else {
      write_state(word, where);
    }
  }
  /// The same where nothing is staged.
  void write_state(std::uint64_t word, domain::site where = domain::site::current()) {
    D::store(this->state(), word, std::memory_order_release, where);
    domain::persist_before_return<D>(&this->state(), sizeof(std::uint64_t), where);
  }

  [[nodiscard]] bool try_lock() {
    if (taken_.load(std::memory_order_relaxed) != 0) return false;
    // (10) acquire; synchronizes-with (11).
    return taken_.exchange(1, std::memory_order_acquire) == 0;
  }
  void unlock() {
    // (11) release; synchronizes-with (10).
    taken_.store(0, std::memory_order_release);
  }

  /// Runs all updates that wait, as one batch. With the lock.
  void combine() {
    std::exception_ptr failure;
    try {
      run_batch();
    } catch (...) {
      // A device failed. It is unknown which batches are durable.
      broken_ = true;
      failure = std::current_exception();
    }
    participants_.for_each([&](participant& each) {
      if (!each.in_batch) return;
      each.in_batch = false;
      if (failure != nullptr) each.wanted.load(std::memory_order_relaxed)->failure = failure;
      // (3) release; synchronizes-with (4).
      each.wanted.store(nullptr, std::memory_order_release);
    });
    try_to_part_readers();
  }

  void run_batch() {
    const bool any = take_requests();
    if (!any) return;
    if (broken_) {
      throw error(errc::io_failure, this->pool_path(),
                  "the device failed in an earlier transaction; open the pool again");
    }
    repeat_previous();
    const unsigned next = 1 - now_current();
    written_->clear();
    transaction update = this->writing(next, *written_);
    participants_.for_each([&](participant& each) {
      if (each.in_batch) each.wanted.load(std::memory_order_relaxed)->run(update);
    });
    if (!written_->empty()) publish(next);
  }

  [[nodiscard]] bool take_requests() {
    bool any = false;
    participants_.for_each([&](participant& each) {
      // (2) acquire; synchronizes-with (1).
      if (each.wanted.load(std::memory_order_acquire) == nullptr) return;
      each.in_batch = true;
      any = true;
    });
    return any;
  }

  /// Makes the other replica equal to the current one: I3. Its lines are flushed together with
  /// those of the next batch, each once.
  void repeat_previous() {
    if (repeated_) return;
    const unsigned from = now_current();
    const unsigned to = 1 - from;
    wait_for_readers();
    if (stale_) {
      this->copy_differing(from, to);
      stale_ = false;
    } else {
      previous_->for_each([&](line_number line) {
        D::write(this->line_at(to, line), this->line_at(from, line), base::cache_line_size);
      });
    }
    repeated_ = true;
  }

  /// The batch in replica `next` becomes durable, and is then seen.
  void publish(unsigned next) {
    // (P1) persisted-before (P2): what the batch wrote, and what was repeated before it.
    written_->for_each([&](line_number line) { this->flush_line(next, line); });
    previous_->for_each([&](line_number line) {
      if (!written_->contains(line)) this->flush_line(next, line);
    });
    this->stage_lines();
    ++batches_;
    // (P2) persisted-before (P4): the batch is durable before a thread reads it, before its callers
    // return, and before the replica that was current is written.
    publish_state(batches_ << 2 | next);
    // (6) full barrier; synchronizes-with (7).
    D::announce(current_, next);
    std::swap(written_, previous_);
    parted_ = false;
    repeated_ = false;  // (P4) the replica that was current is written in the next batch.
  }

  /// Returns once no thread reads the other replica.
  void wait_for_readers() {
    if (!parted_) {
      wait_for_version(1 - version_now());
      part_readers();
    }
    wait_for_version(1 - version_now());
  }

  /// Distinguishes readers that announce themselves from now on from earlier ones, which may have
  /// chosen the other replica. Requires: no reader that announced the other version is left.
  void part_readers() {
    D::announce(version_, 1 - version_now());
    parted_ = true;
  }
  /// Tries to do so after a batch, without waiting. Then the next batch does not wait for readers
  /// that come in between.
  void try_to_part_readers() {
    if (!parted_ && nobody_reads_under(1 - version_now())) part_readers();
  }

  [[nodiscard]] std::uint64_t version_now() const noexcept {
    return version_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool nobody_reads_under(std::uint64_t version) {
    bool nobody = true;
    participants_.for_each([&](participant& each) { nobody = nobody && !reads(each, version); });
    return nobody;
  }
  [[nodiscard]] static bool reads(const participant& each, std::uint64_t version) {
    // (9) acquire; synchronizes-with (8).
    return D::load(each.reads_, std::memory_order_seq_cst) == version + 1;
  }
  void wait_for_version(std::uint64_t version) {
    participants_.for_each([&](participant& each) {
      domain::backoff<D> until_left;
      while (reads(each, version)) until_left.wait();
    });
  }

  base::per_thread<participant> participants_{
      [](std::uint32_t) { return std::make_unique<participant>(); }};
  alignas(128) domain::volatile_word<D, std::uint32_t> taken_;
  alignas(128) std::atomic<std::uint64_t> current_{0};  // the replica that readers choose
  std::atomic<std::uint64_t> version_{0};
  // Under the lock:
  alignas(128) std::uint64_t batches_ = 0;
  bool parted_ = false;    // readers of before the last batch announced the other version
  bool stale_ = false;     // the other replica may differ anywhere
  bool repeated_ = false;  // the other replica holds what the last batch wrote
  bool broken_ = false;
  write_set sets_[2];
  write_set* written_ = &sets_[0];
  write_set* previous_ = &sets_[1];  // the lines of the last batch
};

}  // namespace detail

/// Transactions with two replicas. [Cor18]
///
/// Thread-safety: all members may be called concurrently. Progress: update() blocks, read() is
/// wait-free. Durability: when update() or read() returns, its result and all updates on which it
/// depends are durable. Space: twice the data. Memory: the lines of a batch.
template <domain::persistence_domain D = domain::native>
class left_right : public detail::manager_calls<left_right<D>> {
 public:
  using pool_type = basic_pool<D>;
  using domain_type = D;

  /// The name of the engine, for reports.
  [[nodiscard]] static constexpr std::string_view engine_name() noexcept { return "left_right"; }

  /// Attaches the manager `name` of `pool`, and creates an empty one if there is none. `name`: at
  /// most 44 bytes. After a crash the first update writes the lines that differ between the
  /// replicas. Throws error{root_type_mismatch} if another engine owns the manager,
  /// error{header_damaged, newer_version, already_open, already_exists, bad_argument, refused,
  /// too_small}, corruption, out_of_space.
  left_right(basic_pool<D>& pool, std::string_view name, const options& wanted = {})
      : session_(pool, name, wanted, true, detail::engine_kind::left_right) {}

 private:
  friend class detail::manager_calls<left_right<D>>;
  friend class detail::read_calls<left_right<D>>;

  template <class Result, class F>
  Result run_update(F&& f) {
    detail::request_of<Result, std::remove_reference_t<F>> wanted(f);
    session_->update(wanted);
    return wanted.result();
  }
  template <class Result, class F>
  Result run_read(F&& f) {
    return session_->read(f);
  }
  [[nodiscard]] const void* id() const noexcept { return session_.id(); }
  [[nodiscard]] std::string where() const { return session_.where(); }

  detail::attached_session<detail::left_right_session<D>, D> session_;
};

static_assert(transaction_manager<left_right<>>);

}  // namespace outlast::tx
