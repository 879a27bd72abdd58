// Words that change only in the epoch that an operation began in: for non-blocking structures of
// one's own. [Wen21, 3.2, 3.3]
//
//   outlast::epoch::verified_pointer<node, D> top(clock);
//   for (;;) {
//     outlast::epoch::operation<D> op(memory);
//     node* const seen = top.load_verify();
//     ... op.pnew(...) ...
//     if (top.cas_verify(seen, fresh, op) == outlast::epoch::verdict::done) break;
//     ... op.pdelete(...) ...
//   }
//
// A change has the number of the operation's epoch, and a later operation that sees it must not
// belong to an earlier epoch. So a change must not take effect in a later epoch than its
// operation's. The paper has two ways:
//   counted_word      the word has a counter. A thread reads the word, reads the clock, and then
//                     exchanges word and counter. Reads that matter change the counter, too.
//   verified_pointer  exchanges the word if the clock has not moved, at one moment (a double
//                     compare, single swap [Har02]); reads change nothing.
//
// When not to use: the clock waits for such operations, as for those that hold locks. Structures
// that are built as lockfree_list.hpp make no thread wait.
#pragma once

#include <outlast/base/thread_context.hpp>
#include <outlast/base/word_pair.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/epoch/clock.hpp>
#include <outlast/epoch/detail/verified_exchange.hpp>
#include <outlast/epoch/operation.hpp>

#include <atomic>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace outlast::epoch {

/// The result of a cas_verify().
enum class verdict {
  done,
  changed,  ///< the word held something else
  late,     ///< the epoch has passed: the operation has to begin again
};

/// A word of 8 bytes and a counter, in ordinary memory.
///
/// Thread-safety: all members may be called concurrently. Progress: lock-free.
template <class T, domain::persistence_domain D = domain::native>
class counted_word {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) == sizeof(std::uint64_t));

 public:
  /// A value that was read, and its counter.
  class reading {
   public:
    [[nodiscard]] T value() const noexcept { return std::bit_cast<T>(pair_.first); }

   private:
    friend class counted_word;
    explicit reading(const base::pair_value& pair) noexcept : pair_(pair) {}
    base::pair_value pair_;
  };

  explicit counted_word(T initial) {
    pair_.first.store(std::bit_cast<std::uint64_t>(initial), std::memory_order_relaxed);
    pair_.second.store(0, std::memory_order_relaxed);
  }
  counted_word(const counted_word&) = delete;
  counted_word& operator=(const counted_word&) = delete;

  /// Reads the word for a later cas_verify(). A result must not depend on it.
  [[nodiscard]] reading load() const {
    for (;;) {
      base::pair_value seen;
      seen.second = D::load(pair_.second, std::memory_order_acquire);
      seen.first = D::load(pair_.first, std::memory_order_acquire);
      if (D::load(pair_.second, std::memory_order_acquire) == seen.second) return reading(seen);
    }
  }
  /// Reads the word for a result. An exchange by a thread that has read the clock before this read
  /// fails. [Wen21: load_verify1]
  [[nodiscard]] T load_verify() {
    for (;;) {
      const reading seen = load();
      if (exchange(seen, seen.value())) return seen.value();
    }
  }
  /// Exchanges the value that was read for `desired`, as of a moment at which the clock was still
  /// in the epoch of `op`. [Wen21: CAS_verify1]
  [[nodiscard]] verdict cas_verify(const reading& expected, T desired, const operation<D>& op) {
    if (!op.is_current()) return verdict::late;
    return exchange(expected, desired) ? verdict::done : verdict::changed;
  }

 private:
  bool exchange(const reading& from, T to) {
    base::pair_value expected = from.pair_;
    return D::compare_exchange_pair(pair_, expected,
                                    {std::bit_cast<std::uint64_t>(to), from.pair_.second + 1},
                                    domain::site::none());
  }

  mutable base::word_pair pair_;
};

/// A pointer in ordinary memory. It must not be moved.
///
/// Thread-safety: all members may be called concurrently. Progress: lock-free: a thread that meets
/// an exchange in progress completes it.
template <class T, domain::persistence_domain D = domain::native>
class verified_pointer {
  static_assert(alignof(T) >= 2, "the lowest bit marks an exchange in progress");
  using exchange = detail::verified_exchange<D>;

 public:
  explicit verified_pointer(epoch::clock<D>& clock, T* initial = nullptr)
      : clock_(clock), word_(std::bit_cast<std::uint64_t>(initial)) {}
  verified_pointer(const verified_pointer&) = delete;
  verified_pointer& operator=(const verified_pointer&) = delete;

  /// Reads the pointer. [Wen21: load_verify2]
  [[nodiscard]] T* load_verify() {
    for (;;) {
      const std::uint64_t seen = word_.load(std::memory_order_acquire);
      if (!is_exchange(seen)) return std::bit_cast<T*>(seen);
      complete(seen);
    }
  }

  /// Exchanges `expected` for `desired` if the clock is still in the epoch of `op`, at one moment
  /// of the call. The first call of a thread throws std::bad_alloc, error{forked}. [Wen21:
  /// CAS_verify2]
  [[nodiscard]] verdict cas_verify(T* expected, T* desired, const operation<D>& op) {
    exchange& mine = clock_.exchanges().local();
    const std::uint64_t number = (mine.state.load(std::memory_order_relaxed) >> outcome_bits) + 1;
    // (1) release; synchronizes-with (2): who looks at the last exchange sees that it is over.
    mine.state.store(number << outcome_bits, std::memory_order_release);
    mine.expected.store(std::bit_cast<std::uint64_t>(expected), std::memory_order_release);
    mine.desired.store(std::bit_cast<std::uint64_t>(desired), std::memory_order_release);
    mine.epoch.store(op.epoch(), std::memory_order_release);
    const std::uint64_t name =
        number << number_shift | std::uint64_t{base::this_thread().slot} << 1 | 1;
    for (;;) {
      std::uint64_t seen = std::bit_cast<std::uint64_t>(expected);
      if (word_.compare_exchange(seen, name, std::memory_order_seq_cst)) break;
      if (!is_exchange(seen)) return verdict::changed;
      complete(seen);
    }
    complete(name);
    const std::uint64_t state = mine.state.load(std::memory_order_acquire);
    return (state & outcome_mask) == exchange::yes ? verdict::done : verdict::late;
  }

 private:
  static constexpr unsigned outcome_bits = exchange::outcome_bits;
  static constexpr std::uint64_t outcome_mask = (1U << outcome_bits) - 1;
  static constexpr unsigned number_shift = 17;  // behind a slot and the lowest bit

  static bool is_exchange(std::uint64_t word) noexcept { return (word & 1) != 0; }

  /// Decides the exchange `name`, unless it is decided, and removes it from the word.
  void complete(std::uint64_t name) {
    exchange& its = *clock_.exchanges().of_slot(static_cast<std::uint32_t>(name >> 1 & 0xffff));
    const std::uint64_t number = name >> number_shift;
    const std::uint64_t expected = its.expected.load(std::memory_order_acquire);
    const std::uint64_t desired = its.desired.load(std::memory_order_acquire);
    const std::uint64_t epoch = its.epoch.load(std::memory_order_acquire);
    // (2) acquire; synchronizes-with (1): what was read is of this exchange, if it is not over.
    std::uint64_t state = its.state.load(std::memory_order_acquire);
    if (state == number << outcome_bits) {
      // The word holds the exchange now: what comes out takes effect when the clock is read.
      const std::uint64_t outcome = clock_.present() == epoch ? exchange::yes : exchange::no;
      (void)its.state.compare_exchange(state, state | outcome, std::memory_order_seq_cst);
      state = its.state.load(std::memory_order_acquire);
    }
    if (state >> outcome_bits != number) return;  // somebody has, and its owner goes on
    const bool succeeds = (state & outcome_mask) == exchange::yes;
    std::uint64_t word = name;
    (void)word_.compare_exchange(word, succeeds ? desired : expected, std::memory_order_seq_cst);
  }

  epoch::clock<D>& clock_;
  domain::volatile_word<D, std::uint64_t> word_;
};

}  // namespace outlast::epoch
