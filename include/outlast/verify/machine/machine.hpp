// The simulated machine: its memory, its threads, and the points at which it can lose power.
//
// `domain::simulated` forwards every access of persistent memory to the machine that is current on
// the calling operating-system thread. Threads of the machine are fibers: one runs at a time, and
// another can be chosen at each access. All code of a subject runs on a fiber. Code that loops for
// ever, throws, or follows a wild pointer therefore ends the fiber and not the exploration.
//
// If stores are buffered, each thread t has a companion, number `threads` + t, that is runnable
// while the buffer of t is not empty. When it is chosen, it drains one instruction. Strategies and
// schedules therefore treat buffers like threads. A body that runs alone drains sometimes, as a
// function of the image on which it began.
#pragma once

#include <outlast/base/thread_context.hpp>
#include <outlast/domain/watched_blocks.hpp>
#include <outlast/verify/explorer/mutants.hpp>
#include <outlast/verify/explorer/shadows.hpp>
#include <outlast/verify/explorer/strategy.hpp>
#include <outlast/verify/machine/fiber.hpp>
#include <outlast/verify/machine/memory.hpp>
#include <outlast/verify/machine/threading.hpp>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace outlast::verify {

/// Receives crash points: the points before a fence that guarantees something, at which a power cut
/// can leave an image not seen before.
class crash_observer {
 public:
  virtual void crash_point() = 0;
  /// Receives the point after a store outside the memory, such as to a volatile word. Stores that
  /// wait in a simulated buffer are not offered.
  virtual void stored_outside(const void* address) { static_cast<void>(address); }

 protected:
  ~crash_observer() = default;
};

/// The reason why code on a fiber ended early. It is empty if the code returned.
using fault = std::optional<std::string>;

/// The simulated machine.
///
/// Thread-safety: none. One operating-system thread constructs, drives and destroys it.
class machine {
 public:
  struct limits {
    std::uint32_t steps = 200'000;  ///< accesses of one guarded run before it counts as stuck
    std::size_t stack_bytes = 256 * 1024;
    threading threads = threading::fibers;
  };

  machine(std::size_t memory_bytes, unsigned threads, memory_model model, limits bounds);
  ~machine();
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;

  /// Returns the machine of the calling thread, or nullptr if it has none.
  [[nodiscard]] static machine* current() noexcept {
    auto* const state = static_cast<machine*>(base::this_thread().domain_state);
    return state != nullptr && state->mark_ == mark ? state : nullptr;
  }

  [[nodiscard]] verify::memory& memory() noexcept { return memory_; }
  [[nodiscard]] bool caches_persist() const noexcept { return memory_.model().cache_persistent; }
  [[nodiscard]] verify::shadows& shadows() noexcept { return shadows_; }
  [[nodiscard]] site_table& sites() noexcept { return sites_; }
  /// Returns a name such as "thread 1". The name "alone" is for code that ran without threads:
  /// opening, recovery, reading, closing.
  [[nodiscard]] std::string name_of_thread(unsigned number) const;
  void observe_crash_points(crash_observer* observer) noexcept { observer_ = observer; }
  /// Makes the flush or fence of one site defective.
  void mutate(const std::optional<mutation>& wanted);
  /// Offers a crash point after every store, not only before fences that guarantee something.
  /// Necessary for persistent caches, for which fences guarantee nothing.
  void offer_crash_after_stores(bool wanted) noexcept { after_stores_ = wanted; }

  // Driving.

  /// Runs `body` alone to its end, without thread switches. It can be called while threads are
  /// suspended, and recursively.
  [[nodiscard]] fault run_alone(const std::function<void()>& body);
  /// Runs `body(0)`, ..., `body(threads - 1)` interleaved by `order`. Returns when all have ended
  /// or the first has ended with a fault. In the latter case the others are abandoned.
  [[nodiscard]] fault run_threads(unsigned threads, const std::function<void(unsigned)>& body,
                                  strategy& order);
  /// Sets the randomness of the next `run_threads` and its approximate number of decisions.
  void prepare_decisions(random source, std::uint32_t horizon) noexcept {
    decision_source_ = source;
    horizon_ = horizon;
  }
  /// Stops `thread` for good at its `at`-th access in the next `run_threads`, which then ends when
  /// all others have ended. Without a thread, none is stopped.
  void park(std::optional<unsigned> thread, std::uint32_t at) noexcept;
  /// If `spared` is true, postpones a stop of the running thread until a call with false, because
  /// other threads wait for its present work.
  void spare(bool spared) noexcept;
  /// Returns true if a thread was stopped in the last `run_threads`.
  [[nodiscard]] bool parked_one() const noexcept;
  /// Begins an operation of the running thread that may take `most` accesses of its own. 0: no
  /// bound.
  void begin_operation(std::uint32_t most);
  /// Clears the record of lines that threads share, before a new scenario. For strategies that look
  /// ahead.
  void forget_footprints();
  /// Records the lines that the last `run_threads` touched. Returns true if threads share lines
  /// that were not recorded as shared, whose interleavings have therefore not been explored.
  [[nodiscard]] bool learn_footprints();
  /// Returns the decisions of the last `run_threads`.
  [[nodiscard]] const schedule& decisions() const noexcept { return decisions_; }
  /// Makes the next `run_threads` record the values that threads read.
  void watch_states(bool wanted) noexcept { watches_states_ = wanted; }
  /// Returns a hash that is equal for equal states of the running threads and of the memory that
  /// they share in the machine and in its shadow copy. Requires: states are watched.
  [[nodiscard]] std::uint64_t state_hash() const;
  /// Ends the running body here with the fault `what`.
  [[noreturn]] void abandon(std::string what);

  // The seam: called by the simulated domain.

  /// A scheduling point before an access of `address`. nullptr means several volatile places.
  void access(const void* address, bool writes, domain::code_line where = {});
  /// A scheduling point before an access that may read or write.
  void touch(const void* address, domain::code_line where);
  /// Records that the running thread has read the `size` bytes at `value`.
  void saw(const void* value, std::size_t size) {
    if (watches_states_) [[unlikely]]
      remember_seen(value, size);
  }
  /// A scheduling point at which the caller cannot continue until another thread has run.
  void relax();
  void store(void* destination, const void* source, std::size_t size, store_kind kind,
             const domain::site& where, bool untorn);
  /// Stores without the thread's buffer, which is empty: the store of a locked instruction.
  void store_unbuffered(void* destination, const void* source, std::size_t size, store_kind kind,
                        const domain::site& where);
  void write_back(const void* address, const domain::site& where);
  /// Orders flushes and stores. If stores are buffered, later loads do not wait for it.
  void fence(const domain::site& where);
  /// A fence that returns when the thread's buffer is empty.
  void sync(const domain::site& where);
  /// Empties the thread's buffer, like a full barrier.
  void drain();
  /// A scheduling point before a locked instruction, which empties the thread's buffer and on some
  /// machines completes its write-backs.
  void locked_access(const void* address, domain::code_line where);

  // Blocks: no thread may touch a free block.

  void block_given(const void* begin, std::size_t bytes);
  void block_freed(const void* block, std::size_t bytes, domain::code_line where);
  void block_retired(const void* block, domain::code_line where);
  /// Ends the running body like abandon() if a free block contains some of the bytes.
  void require_in_use(const void* address, std::size_t bytes, const char* use,
                      domain::code_line where);
  /// Does the same for the flush of a line.
  void require_line_in_use(const void* address, domain::code_line where);
  /// Permits the running thread to touch free blocks until it is called with false as often as it
  /// was called with true.
  void tolerate_freed(bool wanted) noexcept;

 private:
  static constexpr unsigned no_thread = ~0U;
  static constexpr std::uint32_t no_bound = ~std::uint32_t{0};
  static constexpr unsigned deepest = 6;

  struct guarded {  // one body on one fiber
    std::unique_ptr<fiber> stack;
    base::thread_context context;
    const std::function<void()>* alone_body = nullptr;
    unsigned number = 0;
    bool finished = true;
    bool waiting = false;
    bool parked = false;
    bool spared = false;
    fault ended;
    int signal = 0;  // the signal that ended it; its text is made outside of the handler
    std::uint32_t steps = 0;
    std::uint32_t operation_ends = no_bound;  // after this step it has taken too long
    intent next;
    std::uint64_t drain_seed = 0;
    std::uint64_t seen = 0;  // everything that it has read
    unsigned tolerant = 0;   // it may touch free blocks
    fiber* caller = nullptr;
  };

  [[nodiscard]] bool anybody_runs() const noexcept {
    return alone_depth_ > 0 || running_thread_ != no_thread;
  }
  void step_at(const void* address, bool writes);
  [[nodiscard]] const std::byte* in_memory(const void* address) const noexcept;
  static fiber& alone_entry(void* self);
  static fiber& thread_entry(void* self);
  static void on_signal(int number);
  static void install_signal_handlers();
  [[nodiscard]] static fault ending_of(const guarded& runner);
  void catch_fault(guarded& runner, const std::function<void()>& body);
  [[nodiscard]] guarded& running();
  [[nodiscard]] unsigned thread_number() const noexcept;
  /// Code that runs alone has a number after those of the threads.
  [[nodiscard]] unsigned alone_number() const noexcept {
    return static_cast<unsigned>(threads_.size());
  }
  void prepare(guarded& runner, fiber::entry run);
  void count_step(guarded& runner) {
    if (++runner.steps > bounds_.steps) [[unlikely]]
      end_stuck();
    if (runner.steps > runner.operation_ends) [[unlikely]]
      end_starved();
  }
  [[noreturn]] void end_stuck();
  [[noreturn]] void end_starved();
  [[nodiscard]] unsigned decide(unsigned current);
  [[nodiscard]] unsigned choose(unsigned current);
  void list_runnable(unsigned current);
  void list_drains();
  void wake_waiting() noexcept;
  void end_alone(bool wrecked);
  void go_on(unsigned thread);
  void yield(const intent& next);
  void remember_seen(const void* value, std::size_t size);
  [[nodiscard]] bool may_matter(const intent& next);
  void record_footprint(std::uint32_t line, bool writes);
  void pass_silently();
  void stop_if_parked(guarded& me);
  void access_boundary();
  [[noreturn]] void leave_for_good(guarded& runner);
  void possible_crash(unsigned thread);
  void complete_fence(unsigned thread);
  [[nodiscard]] bool goes_wrong(site_id site) const noexcept { return mutated_ == site; }
  [[nodiscard]] bool begin_fence(const domain::site& where);
  void store_over();
  void offer_crash_at_store();
  void store_outside(void* destination, const void* source, std::size_t size);
  void buffer_store(void* destination, const void* source, std::size_t size, store_kind kind,
                    site_id site, bool untorn);
  void drain_one(unsigned thread);
  void drain_all(unsigned thread);
  void drain_now_and_then(const guarded& runner);
  void look_as_running();

  /// First, so that the state of another domain in the same place is not taken for a machine.
  static constexpr std::uint64_t mark = 0x6d616368696e6521ULL;
  std::uint64_t mark_ = mark;
  verify::memory memory_;
  verify::shadows shadows_;
  site_table sites_;
  limits bounds_;
  bool buffers_stores_;
  crash_observer* observer_ = nullptr;
  std::optional<site_id> mutated_;
  defect defect_ = defect::missing;
  struct postponed {
    const void* flush = nullptr;  // until the thread's next fence is over
    bool fence = false;           // until the thread's next store
  };
  std::vector<postponed> postponed_;  // by thread
  bool after_stores_ = false;
  fiber main_;
  void* domain_state_before_;
  std::vector<std::unique_ptr<guarded>> threads_;
  std::array<std::unique_ptr<guarded>, deepest> alone_;
  unsigned alone_depth_ = 0;
  unsigned running_thread_ = no_thread;
  unsigned thread_count_ = 0;
  const std::function<void(unsigned)>* thread_body_ = nullptr;
  strategy* order_ = nullptr;
  schedule decisions_;
  std::optional<unsigned> to_park_;
  std::uint32_t park_at_ = 0;
  bool looks_ahead_ = false;
  bool watches_states_ = false;
  std::vector<intent> intents_;
  /// For each line of the memory: bit t if thread t has touched it, bit 8 + t if t has written it.
  std::vector<std::uint16_t> footprints_;
  std::vector<bool> shared_;
  std::vector<std::uint32_t> touched_lines_;
  std::vector<unsigned> runnable_;
  std::uint32_t horizon_ = 64;
  std::unique_ptr<std::byte[]> signal_stack_;
  random decision_source_{0};
};

}  // namespace outlast::verify
