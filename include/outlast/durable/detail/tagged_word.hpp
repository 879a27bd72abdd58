// The word of a cell whose tag indicates whether its value is durable. [Wei22, Algorithm 4]
#pragma once

#include <outlast/base/raw_atomic.hpp>
#include <outlast/base/survives.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/durable/detail/word.hpp>
#include <outlast/durable/roles.hpp>
#include <outlast/durable/tags.hpp>

#include <atomic>
#include <cstddef>
#include <type_traits>

namespace outlast::durable::detail {

/// The base of `atomic_interface`: accesses with an order, a role and a site.
template <class T, class Tag, class Placement, domain::persistence_domain D>
class tagged_word {
  static_assert(std::is_trivially_copyable_v<T>, "a cell holds a trivially copyable type");
  static_assert(base::must_survive_or_link<T>);
  static_assert(sizeof(T) <= 8,
                "a cell holds at most 8 bytes: put larger values into a node and replace the node");
  using word = word_of<T>;
  using site = domain::site;

 public:
  tagged_word(const tagged_word&) = delete;
  tagged_word& operator=(const tagged_word&) = delete;

  /// Ends a traversal that read this cell. The value is durable before the caller's next store to a
  /// cell, and before its operation ends, if `Placement` requires that of `r`. Does nothing under
  /// placements whose loads on the way are p-loads.
  void arrived(role r, site where = site::current()) const {
    if (Placement::persists_arrival(r)) flush_if_tagged(where);
  }

  /// Stores into a node that no other thread can reach: a private p-store. The node's flush
  /// includes it.
  void init(T value, site where = site::current()) {
    D::store(word_.value, to_word(value), std::memory_order_relaxed, where);
  }

  /// Lowers the tag if a crash left it raised. Must be called before the cell is shared.
  /// Re-entrant.
  void recover(site where = site::current()) { Tag::template recover<D>(beside_, where); }

  /// For moving a root, while no other thread uses it: the surviving value; a replacement of it,
  /// flushed and not fenced; and neither.
  [[nodiscard]] T survived() const {
    return from_word<T>(D::load(word_.value, std::memory_order_relaxed));
  }
  void overwrite(T value, site where = site::current()) {
    D::store(word_.value, to_word(value), std::memory_order_relaxed, where);
    domain::flush<D>(&word_, sizeof(word), where);
  }
  void refresh() const noexcept {}

 protected:
  using value_type = T;
  using domain_type = D;

  tagged_word(T value, site where) {
    D::store(word_.value, to_word(value), std::memory_order_relaxed, where);
    Tag::template create<D>(beside_, where);
  }

  T load_as(std::memory_order order, role r, site where) const {
    const word value = D::load(word_.value, order, where);
    if (Placement::persists_load(r)) after_load(where);
    return from_word<T>(value);
  }

  void store_as(T value, std::memory_order order, role r, site where) {
    const auto change = [&] {
      D::store(word_.value, to_word(value), order, where);
      return word{};
    };
    modify<!Placement::waits_for_loads>(r, where, change, [] { return true; });
  }

  T exchange_as(T value, std::memory_order order, role r, site where) {
    return from_word<T>(
        modify(r, where, [&] { return D::exchange(word_.value, to_word(value), order, where); }));
  }

  bool compare_exchange_as(T& expected, T desired, std::memory_order order, role r, site where) {
    word wanted = to_word(expected);
    const word before = wanted;
    // Looking first spares a losing CAS the tag, the flush and the fence.
    word seen = D::load(word_.value, order_of_look(order), where);
    if (seen == wanted) {
      modify(
          r, where,
          [&] {
            D::compare_exchange(word_.value, wanted, to_word(desired), order, where);
            return wanted;
          },
          [&] { return wanted == before; });
      if (wanted == before) return true;
      seen = wanted;
    }
    // A failed p-CAS is a p-load of what it found (errata 2.8).
    if (Placement::persists_store(r)) after_load(where);
    expected = from_word<T>(seen);
    return false;
  }

  /// Performs one of the operations that the processor has on words. `operand` is a word and wraps
  /// around.
  T fetch_as(arithmetic what, word operand, std::memory_order order, role r, site where) {
    return from_word<T>(modify(r, where, [&]() -> word {
      switch (what) {
        case arithmetic::add: return D::fetch_add(word_.value, operand, order, where);
        case arithmetic::bit_and: return D::fetch_and(word_.value, operand, order, where);
        case arithmetic::bit_or: return D::fetch_or(word_.value, operand, order, where);
        case arithmetic::bit_xor: return D::fetch_xor(word_.value, operand, order, where);
      }
      return {};
    }));
  }

  [[nodiscard]] const std::atomic<word>& raw() const noexcept { return word_.value; }
  [[nodiscard]] std::atomic<word>& raw() noexcept { return word_.value; }
  [[nodiscard]] static word raw_word(T value) noexcept { return to_word(value); }

 private:
  /// The steps of a p-store, whose two fences the verifier distinguishes.
  enum : unsigned { before_store = 1, after_store = 2 };

  void after_load(site where) const {
    flush_if_tagged(where);
    if constexpr (Placement::waits_for_loads) domain::fence<D>(where);
  }

  void flush_if_tagged(site where) const {
    if (!D::flushes()) return;
    // The value was loaded with acquire, so the tag of the store it came from is visible here.
    if (Tag::template raised<D>(beside_, this, where)) [[unlikely]]
      flush_word(where);
  }

  /// Not inlined: a load that finds its tag down must stay as small as a load.
  [[gnu::noinline, gnu::cold]] void flush_word(site where) const {
    domain::flush<D>(&word_, sizeof(word), where);
  }

  /// Stores to a shared cell. Durable at return if the role requires that and `Waits` is true.
  template <bool Waits = true, class Change, class Stored>
  word modify(role r, site where, Change change, Stored stored) {
    if (!D::flushes()) {
      D::pfence(where.at(before_store));
      const word before = change();
      domain::note_store<D>();
      return before;
    }
    // (P1) persisted-before (P2): everything that this store depends on. Definition 1, condition 4.
    if (Placement::fences_before(r)) domain::fence<D>(where.at(before_store));
    if (!Placement::persists_store(r)) return change();
    Tag::template raise<D>(beside_, this, where);
    const word before = change();
    if (stored()) {
      // (P2) persisted-before (P3): the new value is durable before any load may skip its flush.
      domain::flush<D>(&word_, sizeof(word), where.at(after_store));
      if constexpr (Waits) domain::fence<D>(where.at(after_store));
    }
    // (P3) the tag comes down.
    Tag::template lower<D>(beside_, this, where);
    return before;
  }
  template <class Change>
  word modify(role r, site where, Change change) {
    return modify(r, where, change, [] { return true; });
  }

  alignas(sizeof(word)) base::raw_atomic<word> word_;
  [[no_unique_address]] mutable typename Tag::beside beside_;
};

}  // namespace outlast::durable::detail
