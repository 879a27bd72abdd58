// The wait-free engine: see redo.hpp, and docs/papers/universal-constructions.md for its protocol.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/base/per_thread.hpp>
#include <outlast/base/periodic_thread.hpp>
#include <outlast/domain/backoff.hpp>
#include <outlast/domain/hardware_access.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/hw/flush.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/tx/detail/changed_pages.hpp>
#include <outlast/tx/detail/helped_request.hpp>
#include <outlast/tx/detail/logged_word.hpp>
#include <outlast/tx/detail/published_word.hpp>
#include <outlast/tx/detail/redo_state.hpp>
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

/// Behind a log replicas lie in ordinary memory: see logged_word.
///
/// Invariants:
///   I1  the durable word names a replica every line of which is durable.
///   I2  nobody writes a replica that the durable word names, on the media or in a cache.
///   I3  a replica that is not stale holds what the state of its number led to; its lines that may
///       not be durable are in its `unflushed`, or its owner has flushed them, and waits before it
///       gives it up.
///   I4  before the word leaves a state, that is settled: the word was durable, the state is in the
///       ring, its pages are noted as changed, and the callers of its operations have their
///       answers. With a window it need not have been durable, but survives a kill.
template <domain::persistence_domain D>
class redo_session final : public replica_session<D> {
  using base_type = replica_session<D>;
  using participant = redo_participant<D>;
  using state_type = redo_state<D>;
  using replica_type = redo_replica<D>;
  using request = helped_request<D>;
  using replica_lock = replica_lock<replica_type>;
  static constexpr bool is_logged = domain::logs_lines<D>;
  using word_type = std::conditional_t<is_logged, logged_word<D, state_type>, published_word<D>>;
  using owned_ptr = std::unique_ptr<outcome>;

 public:
  /// `engine`: one of the redo kind; see redo_steps.
  redo_session(basic_pool<D>& in, const attached_root& root, const std::string& name,
               engine_kind engine, const options& wanted)
      : base_type(in, root, name, engine, wanted.replicas, wanted,
                  is_logged ? replica_place::memory : replica_place::media),
        steps_(steps_of(engine)),
        replicas_(this->replicas()),
        ring_size_(this->bytes() <= short_ring_bytes ? short_ring : long_ring),
        ring_(std::make_unique<std::atomic<remembered>[]>(ring_size_)),
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
    place_in_ring(found.number()).store(as_remembered(first.release()), std::memory_order_relaxed);
  }
  ~redo_session() override {
    homes_.stop();
    syncs_.stop();
    // A thread that was stopped between its transition and the ring's entry left a state behind.
    participants_.for_each([this](participant& each) {
      if (each.won != nullptr && !is_kept(each.won)) delete each.won;
    });
    for (std::size_t i = 0; i < ring_size_; ++i) {
      delete state_in(ring_[i].load(std::memory_order_relaxed));
    }
  }

  /// Runs `wanted` as an operation, and gives what it answered. Wait-free with enough replicas.
  owned_ptr update(std::unique_ptr<request> wanted) {
    participant& me = participants_.local();
    prepare(me);
    const request& mine = publish(me, std::move(wanted));
    domain::backoff<D> until_free;
    leave_it_to_leader(me, mine, until_free);
    unsigned rounds = 0;
    replica_lock owned;
    try {
      // (2) acquire; synchronizes-with (1): the answer is there, and durable.
      while (mine.answer.load(std::memory_order_acquire) == nullptr) {
        if (!advance(me, owned, rounds++)) wait_a_while(mine, until_free);
      }
      give_up(owned);
    } catch (...) {
      // A device failed: nobody knows what is durable.
      broken_.store(1, std::memory_order_relaxed);
      withdraw(me);
      throw;
    }
    owned_ptr out(mine.answer.load(std::memory_order_relaxed));
    me.last_commit = out->commit;
    me.retired_lines += out->lines;
    withdraw(me);
    // Another thread's transition has overtaken it. There may be no next one for long.
    if (me.next_state != nullptr && me.next_state->log.is_large()) me.next_state->log.clear();
    return out;
  }

  /// What has happened by now is durable at return. Throws error{io_failure}, std::bad_alloc.
  void sync();

  /// Starts what `wanted` asks for. Throws error{refused} if the session has begun otherwise.
  void configure(const options& wanted);
  /// 0: nothing waits.
  [[nodiscard]] std::chrono::microseconds max_unsynced_time() const noexcept {
    return max_unsynced_time_;
  }

  /// Bytes that remembered transitions, and what updates need besides, take in ordinary memory.
  [[nodiscard]] std::size_t ring_bytes() const noexcept {
    return held_.now() + sizeof(*this) + ring_size_ * sizeof(ring_[0]);
  }
  /// What replicas take there, behind a log, and what that keeps; otherwise 0. As replica_memory().
  [[nodiscard]] std::size_t memory_behind_log(std::size_t pages_end) const {
    if constexpr (is_logged) {
      return this->replica_memory(pages_end) + D::counters(&this->state()).memory_bytes;
    }
    return 0;
  }

  // ---- For verification ----

  /// Of the calling thread's last update; 0 if there was none since it asked last.
  [[nodiscard]] std::uint64_t take_last_commit() {
    return std::exchange(participants_.local().last_commit, 0);
  }
  /// Up to which a crash of the machine now would keep transitions, or more.
  [[nodiscard]] std::uint64_t durable_commit() const {
    if constexpr (is_logged) return word_.durable_number();
    return word_.now().number();
  }

  /// Runs f(transaction&) on a replica that nobody writes, once, on the calling thread. Wait-free,
  /// apart from f.
  template <class F>
  decltype(auto) read(F&& f) {
    participant& me = participants_.local();
    reading_scope at(me);
    transaction reader = this->reading(choose(me));
    const running_scope now(reader);
    return f(reader);
  }

  [[nodiscard]] bool before_close() override {
    this->stop_growing();
    homes_.stop();
    syncs_.stop();
    if (is_broken()) return false;
    go_home(true);
    if constexpr (is_logged) this->give_back_space();
    return true;
  }
  void forbid() noexcept override {
    participants_.forbid();
    this->abandon_growing();
    homes_.abandon();
    syncs_.abandon();
  }

 private:
  static constexpr std::size_t short_ring_bytes = std::size_t{64} << 10;
  static constexpr std::size_t short_ring = 4;  // small replicas are copied as fast
  static constexpr std::size_t long_ring = 128;
  // In the simulator rare things are made frequent.
  /// Transitions of so many lines count in the ring, and so many it remembers besides the newest:
  /// about 16 MiB, and at most 8 MiB of small ones.
  static constexpr std::size_t min_counted = domain::has_real_threads<D> ? 256 : 4;
  static constexpr std::int64_t max_remembered = domain::has_real_threads<D> ? 96 << 10 : 8;
  static constexpr std::size_t max_spare_lines = 4 * write_set::max_kept_lines;
  static constexpr unsigned tries_alone = domain::has_real_threads<D> ? 4 : 0;
  static constexpr unsigned waits_at_once = domain::has_real_threads<D> ? 16 : 1;
  static constexpr unsigned backoff_rounds = 64;
  static constexpr unsigned rounds_for_close = domain::has_real_threads<D> ? 4 : 0;
  static constexpr unsigned rounds_for_leader = 32;
  static constexpr unsigned rounds_for_absent_leader = 2;
  static constexpr std::uint64_t close_commits = 16;
  static constexpr std::size_t max_flushed_late = domain::has_real_threads<D> ? 8 : 4;
  static constexpr std::size_t max_spare_states = 16;
  static constexpr std::size_t max_asked_for = 32;
  static constexpr std::chrono::seconds looks_for_rest_every{1};

  /// The replica that a thread reads is given back at the end.
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

  /// In a place of the ring: a state, or, odd, the number of one that was too large to be kept. So
  /// a place's number never falls, and who comes late with an older state sees that.
  using remembered = std::uint64_t;
  [[nodiscard]] static remembered as_remembered(const state_type* state) noexcept {
    return reinterpret_cast<std::uintptr_t>(state);
  }
  [[nodiscard]] static remembered as_forgotten(std::uint64_t n) noexcept { return n << 1 | 1; }
  /// Null: there is none.
  [[nodiscard]] static state_type* state_in(remembered what) noexcept {
    return what % 2 != 0 ? nullptr : reinterpret_cast<state_type*>(what);
  }

  [[nodiscard]] std::atomic<remembered>& place_in_ring(std::uint64_t number) const noexcept {
    return ring_[number % ring_size_];
  }
  [[nodiscard]] bool is_broken() const { return broken_.load(std::memory_order_relaxed) != 0; }

  [[nodiscard]] static word_type word_of(redo_session& of, const options& wanted);
  void require_intact() const {
    if (!is_broken()) return;
    throw error(errc::io_failure, this->pool_path(),
                "the device failed in an earlier transaction; open the pool again");
  }

  // ---- The caller's side ----

  /// Memory that must not be missing later. Throws std::bad_alloc, error{io_failure}.
  void prepare(participant& me);
  /// An attempt retires two states at most.
  [[nodiscard]] static bool can_retire(participant& me);

  const request& publish(participant& me, std::unique_ptr<request> wanted) {
    wanted->number = ++me.operations;
    request* const published = wanted.release();
    // (8) full barrier; synchronizes-with (7): who looks at the durable word afterwards is told.
    D::announce(me.wanted, published);
    return *published;
  }

  /// The request is over. Those who still run it keep it.
  void withdraw(participant& me) {
    request* const over = me.wanted.load(std::memory_order_relaxed);
    D::announce(me.wanted, nullptr);
    me.retired_requests.emplace_back(over);
    reclaim(me);
  }

  /// Who made the last transition has in his caches what the next one needs. If he is at work, or
  /// soon back with an operation, this one becomes a part of that: it waits a little, and looks at
  /// nothing that he writes meanwhile but for its answer.
  void leave_it_to_leader(const participant& me, const request& mine,
                          domain::backoff<D>& until_free) const;

  [[nodiscard]] const participant* leader() const noexcept {
    // (22) acquire; synchronizes-with (21): it has been constructed.
    return leader_.load(std::memory_order_acquire);
  }

  /// Others are at work, and may do this one, too. What they write is left alone meanwhile.
  static void wait_a_while(const request& mine, domain::backoff<D>& until_free) {
    for (unsigned left = waits_at_once; left > 0; --left) {
      until_free.wait();
      if (mine.answer.load(std::memory_order_acquire) != nullptr) return;
    }
  }

  // ---- Readers ----

  /// The replica to read. Wait-free: after some tries the next transition but one chooses it.
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

  /// Announces the replica that counts; false if that is another one by then.
  [[nodiscard]] bool try_to_read(participant& me) {
    const redo_word seen = word_.readable();
    // (14) full barrier; synchronizes-with (13): the replica is not taken, or the word has changed.
    D::announce(me.reads, std::uint64_t{seen.replica()} + 1);
    if (word_.readable().bits() != seen.bits()) return false;
    if constexpr (!is_logged) word_.make_durable(seen);
    return true;
  }

  // ---- Transitions ----

  /// One attempt to move the durable word. False if there is no replica, or no memory, to do it
  /// with: others have to go on first.
  [[nodiscard]] bool advance(participant& me, replica_lock& owned, unsigned round) {
    if (!can_retire(me)) return false;
    redo_word now(0);
    state_type* const base = protect_current(me, now);
    if (base == nullptr) return true;
    settle(me, *base, now);
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

  /// The state survives a kill at return, behind a log.
  void record(participant& me, const state_type& state);
  /// A thread may be writing the record of a transition up to `number`.
  [[nodiscard]] bool is_recording(std::uint64_t number);
  /// The home follows, so that there is room for records. `everything`: nothing happens any more.
  void go_home(bool everything);
  /// By the thread that has the home follow: what it finds to do now and then, which is to free
  /// memory once nothing happens for a while; and its work.
  [[nodiscard]] base::periodic_thread::outlook look_for_rest();
  void work_at_home();
  /// By the threads that do `work` again and again. False: never again.
  template <class Work>
  [[nodiscard]] static bool try_to(Work&& work);

  /// The state that the word names; null if that changed in between.
  [[nodiscard]] state_type* protect_current(participant& me, redo_word& now) {
    now = word_.now();
    // (16) acquire; synchronizes-with (15).
    state_type* const head = replicas_[now.replica()].head.load(std::memory_order_acquire);
    D::announce(me.hazards[0], static_cast<const void*>(head));
    return word_.now().bits() == now.bits() ? head : nullptr;
  }

  /// Keeps I4. `state` is protected.
  void settle(participant& me, state_type& state, redo_word word) {
    // (18) acquire; synchronizes-with (17).
    if (state.settled.load(std::memory_order_acquire) != 0) return;
    // (P3) persisted-before (P4): nobody is told what a crash could take back.
    if constexpr (is_logged) {
      record(me, state);
    } else {
      word_.make_durable(word);
    }
    note_changes(state);
    append(me, state);
    state.told.store(1, std::memory_order_relaxed);
    for (const auto& each : state.answers) tell(me, each);
    for (const auto& each : state.grants) {
      // (11) release; synchronizes-with (12).
      each.to->granted.raise_to(redo_word(each.number, state.replica).bits(),
                                std::memory_order_acq_rel);
    }
    // (17) release; synchronizes-with (18).
    state.settled.store(1, std::memory_order_release);
  }

  /// Whoever copies what a replica has missed finds the pages by this. Again is the same.
  void note_changes(const state_type& state) {
    state.log.for_each([&](line_number line) { changed_.note(line, state.number); });
  }

  void append(participant& me, state_type& state);
  static void retire(participant& me, state_type* state) {
    me.retired_lines += state->in_ring;
    me.retired_states.emplace_back(state);
  }
  /// `newest` has taken the place of a state that counted `gone`. The word named it, so that no
  /// older one is what a transition starts from.
  void keep_ring_small(participant& me, const state_type& newest, std::uint32_t gone);

  void tell(participant& me, const typename state_type::answer& each) {
    D::announce(me.hazards[1], static_cast<const void*>(each.request));
    if (D::load(each.to->wanted, std::memory_order_seq_cst) != each.request) return;
    if (each.request->number != each.number) return;
    // (1) release; synchronizes-with (2). (P4) The caller may return.
    each.request->answer.store(each.out, std::memory_order_release);
  }

  /// A replica that nobody reads and no word names, preferably one that misses little. In the first
  /// rounds none that misses much: a close one will soon be free.
  [[nodiscard]] bool take_some(replica_lock& owned, unsigned round);
  [[nodiscard]] bool is_close(unsigned i, redo_word now) const {
    const replica_type& it = replicas_[i];
    return it.stale.load(std::memory_order_relaxed) == 0 &&
           it.number.load(std::memory_order_relaxed) + close_commits >= now.number();
  }

  [[nodiscard]] bool try_to_take(replica_lock& owned, unsigned i) {
    replica_type& it = replicas_[i];
    if (it.owner.load(std::memory_order_relaxed) != 0 || word_.now().replica() == i) return false;
    if (!this->use_replica(i)) return false;
    replica_lock mine;
    if (!mine.try_begin(it, i)) return false;
    const redo_word now = word_.now();
    if (now.replica() == i) return false;
    if constexpr (is_logged) {
      if (word_.readable().replica() == i) return false;
    } else {
      // (P5) persisted-before any store to the replica: the word that names another one. I2.
      word_.make_durable(now);
    }
    if (is_read(i)) return false;
    owned.take_over(mine);
    return true;
  }
  /// After the word named another one, durably.
  [[nodiscard]] bool is_read(unsigned i) {
    bool read = false;
    participants_.for_each([&](participant& each) {
      // (13) acquire; synchronizes-with (14, 6).
      read = read || D::load(each.reads, std::memory_order_seq_cst) == i + 1;
    });
    for (const auto& each : replicas_[i].grants) {
      // (5) acquire; synchronizes-with (6).
      read = read || D::load(each.to->helped, std::memory_order_seq_cst) == each.number;
    }
    return read;
  }

  /// So that nothing in a batch, but the operations themselves, can run out of memory. Needs none
  /// unless a thread has come since prepare().
  [[nodiscard]] bool make_room(state_type& next, const state_type& base);

  // ---- The owner's side ----

  /// False if the word changed while that mattered.
  [[nodiscard]] bool bring_up_to_date(participant& me, replica_lock& owned, state_type& base,
                                      redo_word now) {
    const bool is_known = owned->stale.load(std::memory_order_relaxed) == 0;
    if (is_known && repeat_logs(me, owned, base)) return true;
    D::announce(me.reads, std::uint64_t{now.replica()} + 1);
    const reading_scope at(me);
    if (word_.now().bits() != now.bits()) return false;
    owned->stale.store(1, std::memory_order_relaxed);  // until the copy is whole
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

  /// False if the ring does not hold them any more.
  [[nodiscard]] bool repeat_logs(participant& me, replica_lock& owned, state_type& base);
  [[nodiscard]] state_type* protect_number(participant& me, std::uint64_t number);

  /// The line is durable before the word names the replica, whoever lets it do that: I3.
  void write_line(replica_lock& owned, line_number line, const line_image& content, bool late) {
    D::write(this->line_at(owned.index(), line), content.data(), content.size());
    if constexpr (is_logged) return;
    if (late && flush_later(*owned, line)) return;
    this->flush_line(owned.index(), line);
  }
  /// Many lines are flushed while the next are written: few of them will meet the next batch's.
  [[nodiscard]] bool flushes_late(const write_set& log) const noexcept {
    return steps_.flushes_late && log.size() <= max_flushed_late;
  }
  /// False if there is no memory to remember the line in.
  [[nodiscard]] static bool flush_later(replica_type& owned, line_number line) {
    try {
      owned.unflushed.add(line);
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  /// The next owner does not wait for what this one has flushed.
  void give_up(replica_lock& owned) {
    if (!owned) return;
    this->stage_lines();
    owned.release();
  }

  /// The request that has written most lines.
  struct largest_request {
    participant* of = nullptr;
    std::uint64_t number = 0;
    std::size_t lines = 0;
  };

  /// Runs all requests that wait and are not done in `base`.
  void run_batch(participant& me, replica_lock& owned, const state_type& base) {
    const largest_request largest = run_requests(me, owned, base, [](auto&) { return true; });
    if constexpr (is_logged) {
      if (!word_.has_room_for(*me.next_state)) run_what_fits(me, owned, base, largest);
    }
  }
  /// Instead, where the pool's log has no room for all that they write: what is too large by itself
  /// is answered so.
  void run_what_fits(participant& me, replica_lock& owned, const state_type& base,
                     const largest_request& largest);

  /// Runs those of the `wanted` participants.
  template <class Wanted>
  largest_request run_requests(participant& me, replica_lock& owned, const state_type& base,
                               Wanted&& wanted);

  [[nodiscard]] static std::uint32_t lines_in_ring(const write_set& log) noexcept {
    constexpr std::size_t most = ~std::uint32_t{0};
    return log.room() < min_counted ? 0 : static_cast<std::uint32_t>(std::min(most, log.room()));
  }

  /// The next batch repeats these lines in the replica `i`, if it is free by then: they are on
  /// their way while this one is decided.
  void ask_for_lines(unsigned i, const write_set& log) const noexcept {
    if (log.size() > max_asked_for) return;
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
  /// Has `run` answer the request of `of`, if its number is not above `last`.
  template <class Run>
  void answer(participant& me, participant& of, std::uint64_t last, Run&& run) {
    state_type& next = *me.next_state;
    // (7) acquire; synchronizes-with (8).
    request* const wanted = D::load(of.wanted, std::memory_order_seq_cst);
    if (wanted == nullptr) return;
    if (&of != &me) {  // nobody else frees one's own
      D::announce(me.hazards[1], static_cast<const void*>(wanted));
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

  /// A read that was overtaken gets this replica: it is not taken until that is over.
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
    if constexpr (is_logged) return;  // the log gets it from the state
    // (P6) persisted-before (P7): what was repeated, taken back, copied and run.
    owned->unflushed.for_each([&](line_number line) { this->flush_line(owned.index(), line); });
    written.for_each([&](line_number line) {
      if (!owned->unflushed.contains(line)) this->flush_line(owned.index(), line);
    });
    this->stage_lines();
    owned->unflushed.clear();
  }

  /// The batch becomes the next state, or never happened.
  void decide(participant& me, replica_lock& owned, redo_word now) {
    state_type& next = *me.next_state;
    D::announce(me.hazards[0], static_cast<const void*>(&next));
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
    settle(me, next, wanted);
    me.won = nullptr;
  }

  void take_back(participant& me, replica_lock& owned);

  // ---- Reclamation ----

  [[nodiscard]] bool is_protected(const void* object);

  /// Frees what nobody holds: at most two objects per thread are held.
  void reclaim(participant& me);
  [[nodiscard]] static bool has_spare_room(participant& me, std::uint32_t lines);
  static void release_hazards(participant& me) {
    for (auto& hazard : me.hazards) D::store(hazard, nullptr, std::memory_order_release, nowhere);
  }
  /// Kept where the session's destructor finds it.
  [[nodiscard]] bool is_kept(const state_type* state);
  [[nodiscard]] std::size_t reclaim_at() const {
    return 2 + 4 * std::size_t{slots_.load(std::memory_order_relaxed)};
  }

  byte_count held_;  // by states; ends last
  const redo_steps steps_;
  std::vector<replica_type> replicas_;
  const std::size_t ring_size_;
  std::unique_ptr<std::atomic<remembered>[]> ring_;
  std::atomic<std::int64_t> remembered_lines_{0};  // by states that count in the ring
  changed_pages<D> changed_;                       // by transitions
  std::atomic<std::uint32_t> slots_{0};  // of threads that ever took part: all are below it
  word_type word_;
  std::chrono::microseconds max_unsynced_time_{0};
  domain::volatile_word<D, std::uint64_t> hastened_at_;  // where the record ends whose writer did
  domain::volatile_word<D, std::uint32_t> broken_;
  std::uint64_t last_seen_ = 0;  // transitions, by the thread of homes_
  std::uint64_t last_rest_ = 0;
  bool rests_ = false;
  /// Who has made the last transition; a hint. Read by all, and seldom written.
  alignas(128) std::atomic<const participant*> leader_{nullptr};
  base::per_thread<participant> participants_{[this](std::uint32_t slot) {
    auto made = std::make_unique<participant>(slot);
    std::uint32_t slots = slots_.load(std::memory_order_relaxed);
    while (slots <= slot && !slots_.compare_exchange_weak(slots, slot + 1)) {
    }
    return made;
  }};
  base::periodic_thread syncs_;
  base::periodic_thread homes_;  // end first
};

}  // namespace outlast::tx::detail

#include <outlast/tx/detail/impl/redo_session.hpp>
