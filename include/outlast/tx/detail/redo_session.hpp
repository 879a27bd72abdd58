// The in-memory state of the wait-free redo engines, and their commit protocol. [Cor20]
//
// The engines are described in redo_opt.hpp, and the protocol in
// docs/papers/universal-constructions.md. Its mechanisms, by their standard names: helping (a
// thread runs the announced requests of all threads as one batch), group commit (a batch needs one
// fence or sync), hazard pointers (reclamation of requests and states), a leader hint.
//
// Where bodies are: this file has the steps of the protocol, with their orderings, in the order in
// which a commit takes them. impl/redo_session.hpp has (a) loops over requests, logs and replicas
// that these steps call, out of class so that compilers get no inline hint for them, and (b) the
// bodies that only opening, a commit log, and lack of space need.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/base/outside_readers.hpp>
#include <outlast/domain/backoff.hpp>
#include <outlast/domain/hardware_access.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/hw/flush.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/tx/detail/changed_pages.hpp>
#include <outlast/tx/detail/commit_ring.hpp>
#include <outlast/tx/detail/durable_word.hpp>
#include <outlast/tx/detail/helped_request.hpp>
#include <outlast/tx/detail/log_threads.hpp>
#include <outlast/tx/detail/logged_word.hpp>
#include <outlast/tx/detail/published_word.hpp>
#include <outlast/tx/detail/redo_state.hpp>
#include <outlast/tx/detail/redo_threads.hpp>
#include <outlast/tx/detail/replica_session.hpp>
#include <outlast/tx/detail/replica_word.hpp>
#include <outlast/tx/options.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
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

/// On a domain with a journal the replicas are in ordinary memory: see logged_word.
///
/// Invariants:
///   I1  the durable word names a replica every line of which is durable.
///   I2  no thread writes a replica that the durable word names, on the media or in a cache.
///   I3  a replica that is not stale holds the outcome of the commit with its number; its lines
///       that may not be durable are in its `unflushed`, or its owner has flushed them, and fences
///       before it releases the replica.
///   I4  before the word leaves a state, that state is settled: the word was durable, the state is
///       in the ring, its pages are noted as changed, and the callers of its operations have their
///       answers. With a bound on unsynced time the word need not have been durable, but survives
///       the death of the process.
template <domain::persistence_domain D>
class redo_session final : public replica_session<D> {
  using base_type = replica_session<D>;
  using participant = redo_participant<D>;
  using state_type = redo_state<D>;
  using replica_type = redo_replica<D>;
  using request = helped_request<D>;
  using replica_lock = detail::replica_lock<replica_type>;
  static constexpr bool is_logged = domain::logs_lines<D>;
  using word_type = std::conditional_t<is_logged, logged_word<D, state_type>, published_word<D>>;
  static_assert(durable_word<word_type, state_type>);
  using owned_ptr = std::unique_ptr<outcome>;

 public:
  /// `engine`: one of the redo kind; see redo_steps.
  redo_session(basic_pool<D>& in, const attached_root& root, const std::string& name,
               engine_kind engine, const options& wanted)
      : base_type(in, root, name, engine, wanted.replicas, wanted,
                  is_logged ? replica_place::memory : replica_place::media),
        steps_(steps_of(engine)),
        replicas_(this->replicas()),
        ring_(this->bytes()),
        changed_(this->bytes()),
        // (P1) persisted-before (P5): a word that a killed process left in a cache becomes durable
        // before the replica that an older one names is written.
        word_(word_of(*this, wanted)) {
    if constexpr (!is_logged) this->require_named();
    if constexpr (!is_logged && domain::has_real_threads<D>) this->use_two_at_first();
    if constexpr (is_logged) {
      if (!word_.is_strict()) word_.begin(this->open_commit_log());
    }
    const redo_word found = word_.now();
    auto first = std::make_unique<state_type>(&held_);
    first->number = found.number();
    first->replica = found.replica();
    first->settled.store(1, std::memory_order_relaxed);
    const bool all_equal = this->is_fresh() && !is_logged;
    for (unsigned i = 0; i < replicas_.size(); ++i) {
      const bool equal = i == found.replica() || all_equal;
      replicas_[i].stale.store(equal ? 0 : 1, std::memory_order_relaxed);
      replicas_[i].number.store(found.number(), std::memory_order_relaxed);
    }
    replicas_[found.replica()].head.store(first.get(), std::memory_order_relaxed);
    ring_.begin(std::move(first));
  }
  ~redo_session() override {
    log_threads_.stop();
    // A thread that stopped between its commit and append() left a state that no other object owns.
    threads_.for_each([this](participant& each) {
      if (each.won == nullptr || ring_.holds(each.won) || threads_.has_retired(each.won)) return;
      delete each.won;
    });
  }

  /// Runs `wanted` as an operation, and returns its outcome. Wait-free with enough replicas.
  owned_ptr update(std::unique_ptr<request> wanted) {
    participant& me = threads_.local();
    require_intact();
    threads_.prepare(me);
    const request& mine = publish(me, std::move(wanted));
    domain::backoff<D> until_free;
    leave_it_to_leader(me, mine, until_free);
    unsigned rounds = 0;
    replica_lock owned;
    try {
      // (2) acquire; synchronizes-with (1): the answer exists, and is durable.
      while (mine.answer.load(std::memory_order_acquire) == nullptr) {
        if (!advance(me, owned, rounds++)) wait_a_while(mine, until_free);
      }
      give_up(owned);
    } catch (...) {
      // A device failed. It is unknown which commits are durable.
      broken_.store(1, std::memory_order_relaxed);
      withdraw(me);
      throw;
    }
    owned_ptr out(mine.answer.load(std::memory_order_relaxed));
    me.last_commit = out->commit;
    me.retired_lines += out->lines;
    withdraw(me);
    // The commit of another thread was faster. The next update may be far away.
    if (me.next_state != nullptr && me.next_state->log.is_large()) me.next_state->log.clear();
    return out;
  }

  /// Makes all acknowledged commits durable. Throws error{io_failure}, std::bad_alloc.
  void sync();

  /// Starts the threads that `wanted` requires. Throws error{refused} if the session was created
  /// with other options.
  void configure(const options& wanted);
  /// The bound on unsynced time. 0: commits are durable when they are acknowledged.
  [[nodiscard]] std::chrono::microseconds max_unsynced_time() const noexcept {
    return max_unsynced_time_;
  }

  /// The bytes of ordinary memory for the last commits, and for updates.
  [[nodiscard]] std::size_t ring_bytes() const noexcept {
    return held_.now() + sizeof(*this) + ring_.bytes();
  }
  /// The bytes of replicas in ordinary memory, and of the journal in front of the base image; 0 if
  /// the replicas are in the pool. `pages_end`: as in replica_memory().
  [[nodiscard]] std::size_t memory_behind_log(std::size_t pages_end) const {
    if constexpr (is_logged) {
      return this->replica_memory(pages_end) + D::counters(&this->state()).memory_bytes;
    }
    return 0;
  }

  // ---- For verification ----

  /// Returns the commit of the calling thread's last update, and forgets it; 0: there is none.
  [[nodiscard]] std::uint64_t take_last_commit() {
    return std::exchange(threads_.local().last_commit, 0);
  }
  /// A crash of the machine now would keep the commits up to this one, or more.
  [[nodiscard]] std::uint64_t durable_commit() const { return word_.kept_number(); }

  /// Runs f(transaction&) on a replica that no thread writes, once, on the calling thread.
  /// Wait-free, apart from f.
  template <class F>
  decltype(auto) read(F&& f) {
    participant& me = threads_.local();
    reading_scope at(me);
    transaction reader = this->reading(choose(me));
    const running_scope now(reader);
    return f(reader);
  }

  [[nodiscard]] bool before_close() override {
    this->stop_growing();
    log_threads_.stop();
    if (is_broken()) return false;
    write_back(true);
    if constexpr (is_logged) this->give_back_space();
    return true;
  }
  void forbid() noexcept override {
    threads_.forbid();
    this->abandon_growing();
    log_threads_.abandon();
  }

 private:
  // In the simulator small limits make rare cases frequent.
  static constexpr unsigned tries_alone = domain::has_real_threads<D> ? 4 : 0;
  static constexpr unsigned looks_per_wait = domain::has_real_threads<D> ? 16 : 1;
  static constexpr unsigned backoff_rounds = 64;
  static constexpr unsigned rounds_for_close = domain::has_real_threads<D> ? 4 : 0;
  static constexpr unsigned rounds_for_leader = 32;
  static constexpr unsigned rounds_for_absent_leader = 2;
  static constexpr std::uint64_t close_commits = 16;
  static constexpr std::size_t max_flushed_late = domain::has_real_threads<D> ? 8 : 4;
  static constexpr std::size_t max_prefetched = 32;

  /// Releases the replica that a thread reads at the end.
  class reading_scope {
   public:
    explicit reading_scope(participant& me) noexcept : me_(me) {}
    ~reading_scope() {
      // (6) release; synchronizes-with (13, 5): the loads are over.
      D::store(me_.reads, 0, std::memory_order_release, nowhere);
      if (me_.helped.load(std::memory_order_relaxed) == 0) return;
      D::store(me_.helped, 0, std::memory_order_release, nowhere);
    }
    reading_scope(const reading_scope&) = delete;
    reading_scope& operator=(const reading_scope&) = delete;

   private:
    participant& me_;
  };

  static constexpr domain::site nowhere = domain::site::none();

  [[nodiscard]] bool is_broken() const { return broken_.load(std::memory_order_relaxed) != 0; }

  [[nodiscard]] static word_type word_of(redo_session& of, const options& wanted);
  void require_intact() const {
    if (!is_broken()) return;
    throw error(errc::io_failure, this->pool_path(),
                "the device failed in an earlier transaction; open the pool again");
  }

  // ---- The caller of an update ----

  const request& publish(participant& me, std::unique_ptr<request> wanted) {
    wanted->number = ++me.operations;
    request* const published = wanted.release();
    // (8) full barrier; synchronizes-with (7): a thread that reads the durable word afterwards
    // finds the request.
    D::announce(me.wanted, published);
    return *published;
  }

  /// Ends the request. Threads that still run it protect it.
  void withdraw(participant& me) {
    request* const over = me.wanted.load(std::memory_order_relaxed);
    D::announce(me.wanted, nullptr);
    me.retired_requests.emplace_back(over);
    threads_.reclaim(me);
  }

  /// Waits briefly for the thread that committed last to include this request. That thread has the
  /// working set in its cache. It must be active, or soon return with another operation; meanwhile
  /// this thread polls only the answer of its own request.
  void leave_it_to_leader(const participant& me, const request& mine,
                          domain::backoff<D>& until_free) const;

  [[nodiscard]] const participant* leader() const noexcept {
    // (22) acquire; synchronizes-with (21): it has been constructed.
    return leader_.load(std::memory_order_acquire);
  }

  /// Waits while other threads work, which may run this request too. Reads nothing that they write,
  /// except for the answer.
  static void wait_a_while(const request& mine, domain::backoff<D>& until_free) {
    for (unsigned left = looks_per_wait; left > 0; --left) {
      until_free.wait();
      if (mine.answer.load(std::memory_order_acquire) != nullptr) return;
    }
  }

  // ---- Readers ----

  /// Returns the replica to read. Wait-free: after some tries one of the next two commits grants
  /// its replica to the reader.
  [[nodiscard]] unsigned choose(participant& me) {
    for (unsigned left = tries_alone; left > 0; --left) {
      if (try_to_read(me)) return reads(me);
    }
    const std::uint64_t number = ++me.operations;
    // (10) full barrier; synchronizes-with (9).
    D::announce(me.helped, number);
    for (;;) {
      if (try_to_read(me)) {
        D::store(me.helped, 0, std::memory_order_release, nowhere);
        return reads(me);
      }
      // (12) acquire; synchronizes-with (11).
      const redo_word granted(me.granted.load(std::memory_order_acquire));
      if (granted.number() != number) continue;
      D::store(me.reads, 0, std::memory_order_release, nowhere);
      return granted.replica();
    }
  }
  [[nodiscard]] static unsigned reads(const participant& me) noexcept {
    return static_cast<unsigned>(me.reads.load(std::memory_order_relaxed) - 1);
  }

  /// Announces that the thread reads the current replica. Returns false if another replica has
  /// become current.
  [[nodiscard]] bool try_to_read(participant& me) {
    const redo_word seen = word_.readable();
    // (14) full barrier; synchronizes-with (13): the replica is not taken, or the word has changed.
    D::announce(me.reads, std::uint64_t{seen.replica()} + 1);
    if (word_.readable().bits() != seen.bits()) return false;
    word_.await_readable(seen);
    return true;
  }

  // ---- Commits ----

  /// Makes one attempt to move the durable word. Returns false if no replica is free, or if there
  /// is no memory: other threads have to make progress first.
  [[nodiscard]] bool advance(participant& me, replica_lock& owned, unsigned round) {
    if (!me.can_retire()) return false;
    redo_word now(0);
    state_type* const base = protect_current(me, now);
    if (base == nullptr) return true;
    settle(me, *base);
    if (me.wanted.load(std::memory_order_relaxed)->answer.load(std::memory_order_acquire) !=
        nullptr) {
      return true;
    }
    if (!owned && !take_some(owned, round)) return false;
    if (!make_room(*me.next_state, *base)) {
      give_up(owned);
      return false;
    }
    if (!bring_up_to_date(me, owned, *base, now)) return true;
    run_batch(me, owned, *base);
    flush_all(owned, me.next_state->log);
    decide(me, owned, now);
    return true;
  }

  /// Returns the state that the word names, protected; nullptr if the word changed meanwhile.
  [[nodiscard]] state_type* protect_current(participant& me, redo_word& now) {
    now = word_.now();
    // (16) acquire; synchronizes-with (15).
    state_type* const head = replicas_[now.replica()].head.load(std::memory_order_acquire);
    me.hazards.announce(participant::chosen, head);
    return word_.now().bits() == now.bits() ? head : nullptr;
  }

  /// Completes the commit `state`, which is protected, on behalf of its owner: I4. Any thread may,
  /// which is the helping that makes updates wait-free.
  void settle(participant& me, state_type& state) {
    // (18) acquire; synchronizes-with (17).
    if (state.settled.load(std::memory_order_acquire) != 0) return;
    // (P3) persisted-before (P4): no caller gets an answer that a crash could take back.
    keep(me, state);
    note_changes(state);
    ring_.append(me, state);
    state.acknowledged.store(1, std::memory_order_relaxed);
    for (const auto& each : state.answers) acknowledge(me, each);
    for (const auto& each : state.grants) {
      // (11) release; synchronizes-with (12).
      each.to->granted.raise_to(redo_word(each.number, state.replica).bits(),
                                std::memory_order_acq_rel);
    }
    // (17) release; synchronizes-with (18).
    state.settled.store(1, std::memory_order_release);
  }

  /// Makes `state` survive what its callers were promised.
  void keep(participant& me, const state_type& state) {
    const auto unless_settled = [&](auto&& write) {
      // A full barrier, as in logged_word::await_records(): either that reads this announcement, or
      // this thread reads that the state is settled.
      D::announce(me.records, state.number);
      if (state.settled.load(std::memory_order_seq_cst) == 0) write();
      D::store(me.records, 0, std::memory_order_release, nowhere);
    };
    word_.before_answers(state, unless_settled, is_recording());
    if constexpr (is_logged) write_back_if_due(state);
  }
  /// A function of a number: true if a thread may be writing the record of a commit up to that one.
  [[nodiscard]] auto is_recording() {
    return [this](std::uint64_t number) {
      bool any = false;
      threads_.for_each([&](participant& each) {
        const std::uint64_t writes = D::load(each.records, std::memory_order_seq_cst);
        any = any || (writes != 0 && writes <= number);
      });
      return any;
    };
  }

  /// Records the pages changed by this commit, for later partial copies. Idempotent.
  void note_changes(const state_type& state) {
    state.log.for_each([&](line_number line) { changed_.note(line, state.number); });
  }

  void acknowledge(participant& me, const typename state_type::answer& each) {
    me.hazards.announce(participant::visited, each.request);
    if (D::load(each.to->wanted, std::memory_order_seq_cst) != each.request) return;
    if (each.request->number != each.number) return;
    // (1) release; synchronizes-with (2). (P4) The caller may return.
    each.request->answer.store(each.out, std::memory_order_release);
  }

  // ---- Replicas ----

  /// Takes a replica that no thread reads and no word names, preferably one that has missed few
  /// commits. In the first rounds takes none that has missed many: a better one will soon be free.
  [[nodiscard]] bool take_some(replica_lock& owned, unsigned round);
  [[nodiscard]] bool is_close(unsigned i, redo_word now) const {
    const replica_type& it = replicas_[i];
    return it.stale.load(std::memory_order_relaxed) == 0 &&
           it.number.load(std::memory_order_relaxed) + close_commits >= now.number();
  }

  [[nodiscard]] bool take_one_of(replica_lock& owned, unsigned round, unsigned count,
                                 base::replica_use& outside);
  /// `outside`: raised to the use of the replica by readers in other processes.
  [[nodiscard]] bool try_to_take(replica_lock& owned, unsigned i, base::replica_use& outside) {
    replica_type& it = replicas_[i];
    if (it.owner.load(std::memory_order_relaxed) != 0 || word_.now().replica() == i) return false;
    if (!this->use_replica(i)) return false;
    replica_lock mine;
    if (!mine.try_begin(it, i)) return false;
    const redo_word now = word_.now();
    if (now.replica() == i) return false;
    // (P5) persisted-before any store to the replica: the word that names another one. I2.
    if (!word_.may_overwrite(i, now)) return false;
    if (is_read(i)) return false;
    if (const base::replica_use use = use_outside(i); use != base::replica_use::none) {
      outside = std::max(outside, use);
      return false;
    }
    owned.take_over(mine);
    return true;
  }
  /// The use of replica `i` by readers in other processes, in addition to is_read().
  [[nodiscard]] base::replica_use use_outside(unsigned i) {
    if constexpr (!is_logged) {  // pools with a log have no such readers
      if (base::outside_readers* const readers = this->pool().outside_readers()) {
        return readers->use_of_replica(this->offset_of_replica(i));
      }
    }
    return base::replica_use::none;
  }
  /// Returns true if a thread reads replica `i`. Requires: the word names another one, durably.
  [[nodiscard]] bool is_read(unsigned i) {
    bool read = false;
    threads_.for_each([&](participant& each) {
      // (13) acquire; synchronizes-with (14, 6).
      read = read || D::load(each.reads, std::memory_order_seq_cst) == i + 1;
    });
    for (const auto& each : replicas_[i].grants) {
      // (5) acquire; synchronizes-with (6).
      read = read || D::load(each.to->helped, std::memory_order_seq_cst) == each.number;
    }
    return read;
  }

  /// Provides all memory that a batch needs, except for that of its operations. Allocates none
  /// unless a thread has come since prepare(). Returns false if there is none.
  [[nodiscard]] bool make_room(state_type& next, const state_type& base);

  /// Brings the replica to the state `base`. Returns false if the word changed before it could.
  [[nodiscard]] bool bring_up_to_date(participant& me, replica_lock& owned, state_type& base,
                                      redo_word now) {
    const bool is_known = owned->stale.load(std::memory_order_relaxed) == 0;
    if (is_known && replay_logs(me, owned, base)) return true;
    D::announce(me.reads, std::uint64_t{now.replica()} + 1);
    const reading_scope at(me);
    if (word_.now().bits() != now.bits()) return false;
    owned->stale.store(1, std::memory_order_relaxed);  // until the copy is complete
    if (is_known) {
      this->copy_changed(now.replica(), owned.index(), changed_,
                         owned->number.load(std::memory_order_relaxed));
    } else {
      this->copy_differing(now.replica(), owned.index());
    }
    owned->number.store(now.number(), std::memory_order_relaxed);
    owned->stale.store(0, std::memory_order_relaxed);
    return true;
  }

  /// Replays the logs of the commits that the replica has missed. Returns false if the ring does
  /// not have all of them any more.
  [[nodiscard]] bool replay_logs(participant& me, replica_lock& owned, state_type& base);

  /// Writes a line that becomes durable before the word names the replica: I3.
  void write_line(replica_lock& owned, line_number line, const line_image& content, bool late) {
    D::write(this->line_at(owned.index(), line), content.data(), content.size());
    if constexpr (is_logged) return;
    if (late && flush_later(*owned, line)) return;
    this->flush_line(owned.index(), line);
  }
  /// Many lines are flushed while the next ones are written: the next batch will write few of them.
  [[nodiscard]] bool flushes_late(const write_set& log) const noexcept {
    return steps_.flushes_late && log.size() <= max_flushed_late;
  }
  /// Returns false if there is no memory to remember the line.
  [[nodiscard]] static bool flush_later(replica_type& owned, line_number line) {
    try {
      owned.unflushed.add(line);
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  /// Releases the replica. The next owner does not wait for flushes of this one.
  void give_up(replica_lock& owned) {
    if (!owned) return;
    this->stage_lines();
    owned.release();
  }

  // ---- Batches ----

  /// The request that has written most lines.
  struct largest_request {
    participant* of = nullptr;
    std::uint64_t number = 0;
    std::size_t lines = 0;
  };

  /// Runs all announced requests that are not applied in `base`.
  void run_batch(participant& me, replica_lock& owned, const state_type& base) {
    const largest_request largest = run_requests(me, owned, base, [](auto&) { return true; });
    if (!word_.has_room_for(*me.next_state)) run_what_fits(me, owned, base, largest);
  }
  /// Runs a smaller batch, because the pool's journal has no room for all. A request that is too
  /// large alone fails with out_of_space.
  void run_what_fits(participant& me, replica_lock& owned, const state_type& base,
                     const largest_request& largest);

  /// Runs the requests of the `wanted` participants.
  template <class Wanted>
  largest_request run_requests(participant& me, replica_lock& owned, const state_type& base,
                               Wanted&& wanted);

  /// Prefetches the lines of the batch in replica `i`, where the next batch replays them if the
  /// replica is free by then.
  void prefetch_lines(unsigned i, const write_set& log) const noexcept {
    if (log.size() > max_prefetched) return;
    log.for_each([&](line_number line) { hw::prefetch_for_write(this->line_at(i, line)); });
  }

  void run_request(participant& me, participant& of, transaction& update,
                   largest_request& largest) {
    const std::size_t before = me.next_state->log.size();
    const auto run = [&](const request& wanted, outcome& out) {
      wanted.run(update, out);
      const std::size_t lines = me.next_state->log.size() - before;
      out.lines = lines;
      if (lines >= largest.lines) largest = {&of, wanted.number, lines};
    };
    answer(me, of, ~std::uint64_t{0}, run);
  }
  /// Has `run` answer the request of `of`, unless it is applied or its number is above `last`.
  template <class Run>
  void answer(participant& me, participant& of, std::uint64_t last, Run&& run) {
    state_type& next = *me.next_state;
    // (7) acquire; synchronizes-with (8).
    request* const wanted = D::load(of.wanted, std::memory_order_seq_cst);
    if (wanted == nullptr) return;
    if (&of != &me) {  // no other thread frees the thread's own request
      me.hazards.announce(participant::visited, wanted);
      if (D::load(of.wanted, std::memory_order_seq_cst) != wanted) return;
    }
    std::uint64_t& applied = next.marks[of.slot].applied;
    if (applied >= wanted->number) return;
    if (wanted->number > last) return;
    outcome* const out = &of == &me ? me.next_outcome.release() : new (std::nothrow) outcome;
    if (out == nullptr) return;  // another attempt, or its caller, will run it
    run(*wanted, *out);
    out->commit = next.number;
    applied = wanted->number;
    next.answers.push_back({&of, wanted, wanted->number, out});
  }

  /// Grants this replica to a read that updates have overtaken: until the read ends, no thread
  /// takes the replica.
  void grant_read(participant& each, state_type& next, replica_type& owned) {
    // (9) acquire; synchronizes-with (10).
    const std::uint64_t number = D::load(each.helped, std::memory_order_seq_cst);
    std::uint64_t& granted = next.marks[each.slot].granted;
    if (number <= granted) return;
    try {
      owned.grants.push_back({&each, number});
    } catch (const std::bad_alloc&) {
      return;  // another attempt will
    }
    granted = number;
    next.grants.push_back({&each, number});
  }

  void flush_all(replica_lock& owned, const write_set& written) {
    if constexpr (is_logged) return;  // the commit log gets the lines from the state
    // (P6) persisted-before (P7): lines that were replayed, taken back, copied and run.
    owned->unflushed.for_each([&](line_number line) { this->flush_line(owned.index(), line); });
    written.for_each([&](line_number line) {
      if (!owned->unflushed.contains(line)) this->flush_line(owned.index(), line);
    });
    this->stage_lines();
    owned->unflushed.clear();
  }

  /// Makes the batch the next commit. If another thread was faster, takes the batch back.
  void decide(participant& me, replica_lock& owned, redo_word now) {
    state_type& next = *me.next_state;
    me.hazards.announce(participant::chosen, &next);
    // (15) release; synchronizes-with (16).
    owned->head.store(&next, std::memory_order_release);
    const redo_word wanted(next.number, owned.index());
    // (P7) persisted-before (P3, P5): the batch has happened.
    if (!word_.move(now, wanted)) return take_back(me, owned);
    me.won = me.next_state.release();
    if (next.log.is_large()) next.log.keep_only_afters();
    owned->number.store(next.number, std::memory_order_relaxed);
    owned->stale.store(0, std::memory_order_relaxed);
    owned.release();
    // (21) release; synchronizes-with (22).
    if (leader() != &me) leader_.store(&me, std::memory_order_release);
    settle(me, next);
    me.won = nullptr;
  }

  void take_back(participant& me, replica_lock& owned);

  // ---- With a commit log ----

  /// Has the base image brought up to date if the log is half full.
  void write_back_if_due(const state_type& newest);
  /// Brings the base image up to date. `everything`: no thread commits from now on.
  void write_back(bool everything);

  byte_count held_;  // by states; ends last
  const redo_steps steps_;
  std::vector<replica_type> replicas_;
  commit_ring<D> ring_;
  changed_pages<D> changed_;  // by commits
  word_type word_;
  std::chrono::microseconds max_unsynced_time_{0};
  domain::volatile_word<D, std::uint32_t> broken_;
  /// The leader hint: the thread that committed last. Read by all threads, and seldom written.
  alignas(128) std::atomic<const participant*> leader_{nullptr};
  redo_threads<D> threads_{&held_};
  log_threads<D> log_threads_;  // ends first
};

}  // namespace outlast::tx::detail

#include <outlast/tx/detail/impl/redo_session.hpp>
