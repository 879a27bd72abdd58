// The common base of the CX engines: replicas that run operations in the order of a queue. [Cor20]
// docs/papers/universal-constructions.md describes the protocol.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/domain/backoff.hpp>
#include <outlast/domain/hardware_access.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/tx/baselines/detail/cx_queue.hpp>
#include <outlast/tx/detail/helped_request.hpp>
#include <outlast/tx/detail/published_word.hpp>
#include <outlast/tx/detail/replica_session.hpp>
#include <outlast/tx/detail/replica_word.hpp>
#include <outlast/tx/detail/write_set.hpp>
#include <outlast/tx/options.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace outlast::tx::detail {

/// A replica: a Combined of the paper. Members that are not atomic belong to the owner.
template <domain::persistence_domain D>
struct alignas(128) cx_replica {
  domain::volatile_word<D, std::uint32_t> owner;   // 1: a thread writes it, or is about to
  domain::volatile_word<D, std::uint64_t> number;  // of the last operation that it includes
  domain::volatile_word<D, std::uint32_t> stale;   // 1: it may hold anything
  write_set unflushed;  // its lines that may not be durable, if the engine notes them
};

/// The effect of an operation in one replica.
enum class cx_effect {
  whole,    ///< it has run, and has an outcome
  none,     ///< it has failed without effect
  unknown,  ///< it has failed, and the replica may hold anything
};

/// Invariants:
///   I1  the durable word names a replica every line of which is durable.
///   I2  no thread writes a replica that the durable word names, on the media or in a cache.
///   I3  a replica that is not stale has the outcome of the operations up to its number.
///   I4  the durable word's number is that of an operation in order; those up to it are over.
///
/// `Engine`, which derives from it, has
///   cx_effect run(unsigned replica, cx_replica<D>&, const cx_node<D>&, outcome&),
///   bool undo(unsigned replica, cx_replica<D>&): the last one that ran; false if it cannot,
///   bool copy(unsigned from, unsigned to, cx_replica<D>&, bool is_known): false if there is no
///     memory; is_known: `to` holds what the operations up to its number led to,
///   void flush_written(unsigned replica, cx_replica<D>&): all that is not durable, and the fence.
template <class Engine, domain::persistence_domain D>
class cx_session : public replica_session<D> {
  using base_type = replica_session<D>;

 protected:
  using node = cx_node<D>;
  using participant = cx_participant<D>;
  using replica_type = cx_replica<D>;

 private:
  using replica_lock = detail::replica_lock<replica_type>;

 public:
  cx_session(basic_pool<D>& in, const attached_root& root, const std::string& name,
             engine_kind engine, const options& wanted)
      : base_type(in, root, name, engine, wanted.replicas, wanted),
        replicas_(this->replicas()),
        // (P1) persisted-before (P5): a word that a killed process left in a cache becomes durable
        // before the replica that an older one names is written.
        word_(this->state()),
        queue_(places, word_.now().number()) {
    const replica_word found = word_.now();
    this->require_named();
    for (unsigned i = 0; i < replicas_.size(); ++i) {
      const bool equal = i == found.replica() || this->is_fresh();
      replicas_[i].stale.store(equal ? 0 : 1, std::memory_order_relaxed);
      replicas_[i].number.store(found.number(), std::memory_order_relaxed);
    }
  }

  /// Runs a copy of `f` as an operation, and returns its result. Durable at return. Wait-free with
  /// enough replicas, apart from f. Throws the exceptions of f, std::bad_alloc without effect,
  /// error{io_failure}.
  template <class Result, class F>
  Result run_update(F&& f) {
    using operation = operation_of<node, Result, std::remove_cvref_t<F>>;
    participant& me = queue_.local();
    prepare(me);
    // Not make_unique: an owner of each operation's own type is compiled for each operation.
    const node& mine = queue_.publish(me, std::unique_ptr<node>(new operation(std::forward<F>(f))));
    const leaving at_end(queue_, me);
    see_through(me, mine);
    const outcome& out = *mine.answer.load(std::memory_order_acquire);
    if (out.failure != nullptr) std::rethrow_exception(out.failure);
    if constexpr (!std::is_void_v<Result>) return out.template kept<Result>();
  }

  /// Runs f(transaction&) on a replica that no thread writes, once, on the calling thread.
  /// Wait-free with enough replicas, apart from f.
  template <class F>
  decltype(auto) read(F&& f) {
    participant& me = queue_.local();
    reading_scope at(*this, me);
    transaction reader = this->reading(at.choose());
    const running_scope now(reader);
    return f(reader);
  }

  [[nodiscard]] bool before_close() override { return !is_broken(); }
  void forbid() noexcept override { queue_.forbid(); }

 protected:
  [[nodiscard]] replica_word word_now() const { return word_.now(); }

 private:
  // In the simulator small limits make rare cases frequent.
  static constexpr std::size_t places = domain::has_real_threads<D> ? 1024 : 2;
  [[nodiscard]] static constexpr unsigned tries_alone(const participant& me) noexcept {
    return domain::has_real_threads<D> ? 4 : me.slot % 2;
  }
  static constexpr domain::site nowhere = domain::site::none();

  /// Withdraws the hazard pointers of the thread at the end.
  class leaving {
   public:
    leaving(cx_queue<D>& queue, participant& me) noexcept : queue_(queue), me_(me) {}
    ~leaving() { queue_.leave(me_); }
    leaving(const leaving&) = delete;
    leaving& operator=(const leaving&) = delete;

   private:
    cx_queue<D>& queue_;
    participant& me_;
  };

  /// Releases the replica that a thread reads at the end.
  class reading_scope {
   public:
    reading_scope(cx_session& in, participant& me) noexcept : in_(in), me_(me) {}
    ~reading_scope() {
      // (6) release; synchronizes-with (13): the loads are over.
      D::store(me_.reads, 0, std::memory_order_release, nowhere);
      if (asks_) stop_asking();
    }
    reading_scope(const reading_scope&) = delete;
    reading_scope& operator=(const reading_scope&) = delete;

    /// Returns the replica to read. Wait-free: an update that overtakes the read leaves it one.
    [[nodiscard]] unsigned choose() {
      for (unsigned left = tries_alone(me_); left > 0; --left) {
        if (in_.try_to_read(me_)) return announced();
      }
      const std::uint64_t question = asking(in_.word_.now().number());
      asks_ = true;
      // (7) release; synchronizes-with (8).
      me_.asks.store(question, std::memory_order_release);
      while (!in_.try_to_read(me_) && me_.asks.load(std::memory_order_relaxed) == question) {
      }
      stop_asking();
      return given_ ? given_.index() : announced();
    }

   private:
    /// Ends the request for a replica. If one was left to this read, adopts it.
    void stop_asking() {
      asks_ = false;
      // (9) acquire, twice; synchronizes-with (10): the content of the replica is visible.
      std::uint64_t now = me_.asks.load(std::memory_order_acquire);
      if (replica_word(now).replica() == no_replica &&
          me_.asks.compare_exchange(now, participant::idle, std::memory_order_seq_cst)) {
        return;
      }
      const unsigned given = replica_word(now).replica();
      given_.begin(in_.replicas_[given], given);
      me_.asks.store(participant::idle, std::memory_order_relaxed);
    }
    [[nodiscard]] unsigned announced() const noexcept {
      return static_cast<unsigned>(me_.reads.load(std::memory_order_relaxed) - 1);
    }

    cx_session& in_;
    participant& me_;
    bool asks_ = false;
    replica_lock given_;  // a replica that an update has left to this read
  };

  /// The word by which a read requests a replica with the operations up to `number`.
  [[nodiscard]] static std::uint64_t asking(std::uint64_t number) noexcept {
    return replica_word(number, no_replica).bits();
  }
  static constexpr unsigned no_replica = (1U << replica_word::replica_bits) - 1;

  [[nodiscard]] Engine& engine() noexcept { return static_cast<Engine&>(*this); }
  [[nodiscard]] bool is_broken() const { return broken_.load(std::memory_order_relaxed) != 0; }
  void require_whole() const {
    if (!is_broken()) return;
    throw error(errc::io_failure, this->pool_path(),
                "the device failed in an earlier transaction; open the pool again");
  }

  /// Provides the memory that an operation must not lack later. Throws std::bad_alloc,
  /// error{io_failure}.
  void prepare(participant& me) {
    require_whole();
    if (me.spare == nullptr) me.spare = std::make_unique<outcome>();
  }

  // ---- Operations ----

  void see_through(participant& me, const node& mine) {
    try {
      append(me, mine);
      complete(me, mine.number.load(std::memory_order_relaxed));
    } catch (...) {
      // A device failed. It is unknown which operations are durable.
      broken_.store(1, std::memory_order_relaxed);
      throw;
    }
  }

  /// Gives `mine` its place in the order.
  void append(participant& me, const node& mine) {
    while (mine.number.load(std::memory_order_acquire) == node::unknown) {
      const std::uint64_t over = word_.now().number();
      queue_.append_next(me, over);
      const std::uint64_t next = queue_.last() + 1;
      if (next > over + places) complete(me, next - places);
    }
    queue_.stop_waiting(me);
  }

  /// Returns once the operations up to `target` are durable.
  void complete(participant& me, std::uint64_t target) {
    replica_lock owned;
    domain::backoff<D> until_free;
    while (word_.now().number() < target) {
      require_whole();
      if (!advance(me, owned, target)) until_free.wait();
    }
    // (P3) persisted-before (P4): no caller gets an outcome that a crash could take back.
    word_.make_durable(word_.now());
    // (P4) The caller may return.
  }

  // ---- Transitions ----

  /// Makes one attempt to move the durable word to `target`, or beyond it. Returns false if other
  /// threads have to make progress first.
  [[nodiscard]] bool advance(participant& me, replica_lock& owned, std::uint64_t target) {
    if (!owned && !take_some(owned)) return false;
    if (!bring_up_to_date(me, owned, target)) return false;
    if (word_.now().number() >= target) return true;
    // (P6) persisted-before (P7): lines that were copied, run, and undone.
    engine().flush_written(owned.index(), *owned);
    decide(me, owned);
    return true;
  }

  /// Takes a replica that no thread reads and no word names, the freshest one if it is free.
  [[nodiscard]] bool take_some(replica_lock& owned) {
    const unsigned current = word_.now().replica();
    unsigned refused = current;
    for (unsigned left = 2; left > 0; --left) {
      refused = freshest_free(replicas_, this->replicas(), current, refused);
      if (try_to_take(owned, refused)) return true;
    }
    for (unsigned i = 0; i < this->replicas(); ++i) {
      if (try_to_take(owned, i)) return true;
    }
    return false;
  }

  [[nodiscard]] bool try_to_take(replica_lock& owned, unsigned i) {
    replica_type& it = replicas_[i];
    if (it.owner.load(std::memory_order_relaxed) != 0 || word_.now().replica() == i) return false;
    replica_lock mine;
    if (!mine.try_begin(it, i)) return false;
    const replica_word now = word_.now();
    if (now.replica() == i) return false;
    // (P5) persisted-before any store to the replica: the word that names another one. I2.
    word_.make_durable(now);
    if (is_read(i)) return false;
    owned.take_over(mine);
    return true;
  }
  /// Returns true if a thread reads replica `i`. Requires: the word names another one, durably.
  [[nodiscard]] bool is_read(unsigned i) const {
    bool read = false;
    queue_.for_each([&](participant& each) {
      // (13) acquire; synchronizes-with (14, 6).
      read = read || D::load(each.reads, std::memory_order_seq_cst) == i + 1;
    });
    return read;
  }

  /// Announces that the thread reads the current replica. Returns false if another one has become
  /// current.
  [[nodiscard]] bool try_to_read(participant& me) {
    const replica_word seen = word_.readable();
    // (14) full barrier; synchronizes-with (13): the replica is not taken, or the word has changed.
    D::announce(me.reads, std::uint64_t{seen.replica()} + 1);
    if (word_.readable().bits() != seen.bits()) return false;
    word_.make_durable(seen);
    return true;
  }

  /// Makes the replica the current one, unless the current one includes as many operations.
  void decide(participant& me, replica_lock& owned) {
    const replica_word wanted(owned->number.load(std::memory_order_relaxed), owned.index());
    replica_word now = word_.now();
    while (now.number() < wanted.number()) {
      // (11) release; synchronizes-with (12). (P7) persisted-before (P3, P5): the operations have
      // happened.
      if (word_.move(now, wanted)) {
        word_.make_durable(wanted);
        return give(me, owned);
      }
    }
    owned.release();
  }

  /// Leaves the replica, which is durable, to a read that was overtaken, or releases it.
  void give(participant& me, replica_lock& owned) {
    const std::uint64_t number = owned->number.load(std::memory_order_relaxed);
    participant* first = nullptr;
    participant* next = nullptr;
    queue_.for_each([&](participant& each) {
      // (8) acquire; synchronizes-with (7).
      const replica_word asked(each.asks.load(std::memory_order_seq_cst));
      if (asked.replica() != no_replica || asked.number() > number) return;
      participant*& place = each.slot > me.served_last ? next : first;
      if (place == nullptr) place = &each;
    });
    participant* const to = next != nullptr ? next : first;
    if (to == nullptr) return owned.release();
    me.served_last = to->slot;
    std::uint64_t question = to->asks.load(std::memory_order_seq_cst);
    const replica_word asked(question);
    if (asked.replica() != no_replica || asked.number() > number) return owned.release();
    // (10) release; synchronizes-with (9).
    const std::uint64_t given = replica_word(asked.number(), owned.index()).bits();
    if (!to->asks.compare_exchange(question, given, std::memory_order_seq_cst)) {
      return owned.release();
    }
    owned.pass_on();
  }

  // ---- The owner's side ----

  /// Runs the operations up to `target` in the replica. Returns false if other threads have to make
  /// progress first.
  [[nodiscard]] bool bring_up_to_date(participant& me, replica_lock& owned, std::uint64_t target) {
    if (owned->stale.load(std::memory_order_relaxed) == 0 && repeat(me, owned, target)) return true;
    return copy_current(me, owned) && repeat(me, owned, target);
  }

  [[nodiscard]] bool copy_current(participant& me, replica_lock& owned) {
    const replica_word now = word_.now();
    D::announce(me.reads, std::uint64_t{now.replica()} + 1);
    const reading_scope at(*this, me);
    // (12) acquire; synchronizes-with (11).
    if (word_.now().bits() != now.bits()) return false;
    // The replica may hold anything until the copy is complete.
    const bool is_known = owned->stale.exchange(1, std::memory_order_relaxed) == 0;
    if (!engine().copy(now.replica(), owned.index(), *owned, is_known)) return false;
    owned->number.store(now.number(), std::memory_order_relaxed);
    owned->stale.store(0, std::memory_order_relaxed);
    return true;
  }

  /// Runs the operations that the replica has missed. Returns false if the queue does not have them
  /// any more. Also returns false if the replica is stale now, because an operation had another
  /// effect here than in its first run.
  [[nodiscard]] bool repeat(participant& me, replica_lock& owned, std::uint64_t target) {
    std::uint64_t number = owned->number.load(std::memory_order_relaxed);
    while (number < target) {
      node* const next = queue_.find(me, number + 1);
      if (next == nullptr) return false;
      if (!apply(me, owned, *next)) {
        owned->stale.store(1, std::memory_order_relaxed);
        return false;
      }
      owned->number.store(++number, std::memory_order_relaxed);
    }
    return true;
  }

  /// Runs `next`, unless its first run has failed. Returns false if the replica may hold anything.
  [[nodiscard]] bool apply(participant& me, replica_lock& owned, node& next) {
    const outcome* known = next.answer.load(std::memory_order_acquire);
    if (known == nullptr && !has_spare(me)) known = settle(next, &node::no_memory());
    if (known != nullptr && known->failure != nullptr) return true;
    outcome& mine = known != nullptr ? me.repeated : *me.spare;
    const cx_effect did = engine().run(owned.index(), *owned, next, mine);
    if (known == nullptr) {
      known = settle(next, &mine);
      if (known == &mine) static_cast<void>(me.spare.release());
    }
    const bool has_happened = known->failure == nullptr;
    switch (did) {
      case cx_effect::whole: return has_happened || engine().undo(owned.index(), *owned);
      case cx_effect::none: return !has_happened;
      case cx_effect::unknown: break;
    }
    return false;
  }
  [[nodiscard]] static bool has_spare(participant& me) noexcept {
    if (me.spare == nullptr) me.spare.reset(new (std::nothrow) outcome);
    return me.spare != nullptr;
  }
  /// Returns the outcome of `of`, which is `mine` if that is the first one.
  [[nodiscard]] static const outcome* settle(node& of, const outcome* mine) {
    const outcome* known = nullptr;
    return of.answer.compare_exchange(known, mine, std::memory_order_seq_cst) ? mine : known;
  }

  std::vector<replica_type> replicas_;
  published_word<D> word_;
  cx_queue<D> queue_;
  domain::volatile_word<D, std::uint32_t> broken_;
};

}  // namespace outlast::tx::detail
