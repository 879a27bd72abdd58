// The word of a cell that records in itself whether its value is durable: link-and-persist. [Dav18]
//
// The published technique marks a word that is not durable yet by one bit. The thread that stored
// it clears the bit by a compare-and-swap once the word is durable. One bit is too few if a value
// can come back: the swap of a slow writer then clears the mark of a later store of the same value
// (errata 2.10). Here the mark is the number of the thread that stores, in 16 bits that neither a
// pointer nor a value of up to six bytes needs. A thread clears only its own marks. A word with its
// number has the value that it is storing now, because it stores one word at a time.
#pragma once

#include <outlast/base/raw_atomic.hpp>
#include <outlast/base/survives.hpp>
#include <outlast/base/thread_context.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/durable/detail/word.hpp>
#include <outlast/durable/roles.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

namespace outlast::base {
template <class T, unsigned Bits>
class marked_ptr;
}

namespace outlast::durable::detail {

/// True if a T leaves 16 bits of a word of 8 bytes free. Addresses do: the kernel assigns none
/// above 2^48 without a request.
template <class T>
inline constexpr bool leaves_owner_bits = sizeof(T) <= 6 || std::is_pointer_v<T>;
template <class T, unsigned Bits>
inline constexpr bool leaves_owner_bits<base::marked_ptr<T, Bits>> = true;

/// The base of `atomic_interface`. Its stores are compare-and-swaps, because a store must detect
/// whether it overwrites a value that is not durable.
template <class T, class Placement, domain::persistence_domain D>
class owned_word {
  static_assert(std::is_trivially_copyable_v<T>, "a cell holds a trivially copyable type");
  static_assert(base::must_survive_or_link<T>);
  static_assert(leaves_owner_bits<T>,
                "link_and_persist needs 16 bits of each word for itself: pointers and values of at "
                "most 6 bytes leave them; put other values into a node and replace the node, or "
                "choose flit");
  static_assert(!Placement::waits_for_loads, "the original transformation has no tags");
  using word = std::uint64_t;
  using site = domain::site;

 public:
  owned_word(const owned_word&) = delete;
  owned_word& operator=(const owned_word&) = delete;

  /// Ends a traversal that read this cell. The value is durable before the caller's next store to a
  /// cell, and before its operation ends, if `Placement` requires that of `r`.
  void arrived(role r, site where = site::current()) const {
    if (!D::flushes() || !Placement::persists_arrival(r)) return;
    flush_if_owned(D::load(word_.value, std::memory_order_acquire, where), where);
  }

  /// Stores into a node that no other thread can reach: a private p-store. The node's flush
  /// includes it.
  void init(T value, site where = site::current()) {
    D::store(word_.value, raw_word(value), std::memory_order_relaxed, where);
  }

  /// Removes a mark that a crash left. Must be called before the cell is shared. Re-entrant.
  void recover(site where = site::current()) {
    const word seen = D::load(word_.value, std::memory_order_relaxed, where);
    if (owner_of(seen) != 0) {
      D::store(word_.value, seen & value_mask, std::memory_order_relaxed, where);
    }
  }

  /// For moving a root, while no other thread uses it: the surviving value; a replacement of it,
  /// flushed and not fenced; and neither.
  [[nodiscard]] T survived() const {
    return value_of(D::load(word_.value, std::memory_order_relaxed));
  }
  void overwrite(T value, site where = site::current()) {
    D::store(word_.value, raw_word(value), std::memory_order_relaxed, where);
    domain::flush<D>(&word_, sizeof(word), where);
  }
  void refresh() const noexcept {}

 protected:
  using value_type = T;
  using domain_type = D;

  owned_word(T value, site where) {
    D::store(word_.value, raw_word(value), std::memory_order_relaxed, where);
  }

  T load_as(std::memory_order order, role r, site where) const {
    const word seen = D::load(word_.value, order, where);
    if (Placement::persists_load(r)) flush_if_owned(seen, where);
    return value_of(seen);
  }

  void store_as(T value, std::memory_order order, role r, site where) {
    static_cast<void>(exchange_as(value, order, r, where));
  }

  T exchange_as(T value, std::memory_order order, role r, site where) {
    return change(order, r, where, [&](T) { return value; });
  }

  bool compare_exchange_as(T& expected, T desired, std::memory_order order, role r, site where) {
    const word wanted = raw_word(expected);
    word seen = D::load(word_.value, order_of_look(order), where);
    while ((seen & value_mask) == wanted) {
      if (replace(seen, desired, order, r, where)) return true;
    }
    // A failed p-CAS is a p-load of what it found (errata 2.8).
    if (Placement::persists_store(r)) flush_if_owned(seen, where);
    expected = value_of(seen);
    return false;
  }

  T fetch_as(arithmetic what, word operand, std::memory_order order, role r, site where) {
    return change(order, r, where, [&](T before) {
      return from_word<T>(static_cast<word_of<T>>(apply(what, to_word(before), operand)));
    });
  }

  [[nodiscard]] const std::atomic<word>& raw() const noexcept { return word_.value; }
  [[nodiscard]] std::atomic<word>& raw() noexcept { return word_.value; }
  [[nodiscard]] static word raw_word(T value) noexcept {
    const word bits = to_word(value);
    // No address of a pool is that large: somebody has used the upper bits of a pointer.
    if ((bits & ~value_mask) != 0) [[unlikely]]
      std::abort();
    return bits;
  }

 private:
  /// The steps of a p-store, whose two fences the verifier distinguishes.
  enum : unsigned { before_store = 1, after_store = 2 };

  static constexpr unsigned value_bits = 48;
  static constexpr word value_mask = (word{1} << value_bits) - 1;

  [[nodiscard]] static word owner_of(word seen) noexcept { return seen >> value_bits; }
  /// Returns the mark of the calling thread: not 0, and at most 16 bits, because slots are less
  /// than 2^16 - 1.
  [[nodiscard]] static word my_mark() { return (word{base::this_thread().slot} + 1) << value_bits; }
  [[nodiscard]] static T value_of(word seen) noexcept {
    return from_word<T>(static_cast<word_of<T>>(seen & value_mask));
  }

  void flush_if_owned(word seen, site where) const {
    if (!D::flushes()) return;
    if (owner_of(seen) != 0) [[unlikely]]
      flush_word(where);
  }

  /// Not inlined: a load that finds no mark must stay as small as a load.
  [[gnu::noinline, gnu::cold]] void flush_word(site where) const {
    domain::flush<D>(&word_, sizeof(word), where);
  }

  template <class Next>
  T change(std::memory_order order, role r, site where, Next next) {
    word seen = D::load(word_.value, std::memory_order_acquire, where);
    while (!replace(seen, next(value_of(seen)), order, r, where)) {
    }
    return value_of(seen);
  }

  /// Stores if the word is still `seen`. Durable at return if the role requires that. If it returns
  /// false, `seen` is the present word.
  bool replace(word& seen, T desired, std::memory_order order, role r, site where) {
    const word after = raw_word(desired);
    if (!D::flushes()) {
      D::pfence(where.at(before_store));
      const bool stored = D::compare_exchange(word_.value, seen, after, order, where);
      domain::note_store<D>();
      return stored;
    }
    // (P1) persisted-before (P2): everything that this store depends on. Definition 1, condition 4.
    if (Placement::fences_before(r)) domain::fence<D>(where.at(before_store));
    // A v-store that overwrites what is not durable keeps the promise made for that: condition 2.
    const bool marks = Placement::persists_store(r) || owner_of(seen) != 0;
    const word stored = marks ? after | my_mark() : after;
    if (!D::compare_exchange(word_.value, seen, stored, order, where)) return false;
    if (marks) settle(stored, where);
    return true;
  }

  /// (P2) persisted-before (P3): the new value is durable before any load may skip its flush.
  void settle(word stored, site where) {
    domain::flush<D>(&word_, sizeof(word), where.at(after_store));
    domain::fence<D>(where.at(after_store));
    // (P3) the mark goes, unless another store came meanwhile.
    D::compare_exchange(word_.value, stored, stored & value_mask, std::memory_order_release, where);
  }

  alignas(sizeof(word)) base::raw_atomic<word> word_;
};

}  // namespace outlast::durable::detail
