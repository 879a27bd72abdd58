// A shared mutable word that survives: `std::atomic<T>` with roles.
#pragma once

#include <outlast/base/raw_atomic.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/durable/detail/word.hpp>
#include <outlast/durable/roles.hpp>
#include <outlast/durable/tags.hpp>

#include <atomic>
#include <concepts>
#include <type_traits>

namespace outlast::durable {

/// A cell under the P-V interface: p-accesses flush if tagged, v-accesses do not. [Wei22, Algorithm
/// 4]
///
/// Each access takes a role, which the placement maps to a p- or a v-instruction; without one it is
/// `decide` for loads and `link` for stores, p-instructions under every placement.
///
/// Thread-safety: all members may be called concurrently, except construction, `init` and
/// `recover`. Progress: lock-free; a load is wait-free. Memory order: loads acquire, stores
/// release, and read-modify-writes are both, whatever a `std::memory_order` argument asks for less:
/// a p-load must see the tag that was raised before the store it reads from (errata 2.2). seq_cst
/// is honoured. Durability: a p-store is durable when it returns; what a p-load returned is durable
/// before the caller's next store to a cell and before its operation guard is gone.
///
/// On domains without flushes the tags are never touched: a cell costs what a std::atomic costs.
template <class T, class Tag, class Placement, domain::persistence_domain D>
class cell {
  static_assert(std::is_trivially_copyable_v<T>, "a cell holds a trivially copyable type");
  static_assert(sizeof(T) <= 8,
                "a cell holds at most 8 bytes: put larger values into a node and replace the node");
  using word = detail::word_of<T>;
  using site = domain::site;

 public:
  using value_type = T;
  static constexpr bool is_always_lock_free = true;

  cell() : cell(T{}) {}
  /// A cell of a node that nobody else can reach yet; flushed with its node.
  explicit cell(T value, site where = site::current()) {
    D::store(word_.value, detail::to_word(value), std::memory_order_relaxed, where);
    Tag::template create<D>(beside_, where);
  }
  cell(const cell&) = delete;
  cell& operator=(const cell&) = delete;

  [[nodiscard]] T load(role r = role::decide, site where = site::current()) const {
    return load_as(std::memory_order_acquire, r, where);
  }
  [[nodiscard]] T load(std::memory_order order, role r = role::decide,
                       site where = site::current()) const {
    return load_as(at_least(std::memory_order_acquire, order), r, where);
  }

  void store(T value, role r = role::link, site where = site::current()) {
    store_as(value, std::memory_order_release, r, where);
  }
  void store(T value, std::memory_order order, role r = role::link, site where = site::current()) {
    store_as(value, at_least(std::memory_order_release, order), r, where);
  }

  T exchange(T value, role r = role::link, site where = site::current()) {
    return detail::from_word<T>(modify(r, where, [&] {
      return D::exchange(word_.value, detail::to_word(value), std::memory_order_acq_rel, where);
    }));
  }

  /// Strong: fails only if the cell holds another value, which `expected` then receives and which
  /// is treated as p-loaded or v-loaded after `r`.
  [[nodiscard]] bool compare_exchange(T& expected, T desired, role r = role::link,
                                      site where = site::current()) {
    return compare_exchange_as(expected, desired, std::memory_order_acq_rel, r, where);
  }
  [[nodiscard]] bool compare_exchange_strong(T& expected, T desired,
                                             std::memory_order order = std::memory_order_seq_cst,
                                             role r = role::link, site where = site::current()) {
    return compare_exchange_as(expected, desired, at_least(std::memory_order_acq_rel, order), r,
                               where);
  }
  [[nodiscard]] bool compare_exchange_weak(T& expected, T desired,
                                           std::memory_order order = std::memory_order_seq_cst,
                                           role r = role::link, site where = site::current()) {
    return compare_exchange_strong(expected, desired, order, r, where);
  }

  T fetch_add(T operand, role r = role::update, site where = site::current())
    requires std::integral<T>
  {
    return static_cast<T>(modify(r, where, [&] {
      return D::fetch_add(word_.value, static_cast<word>(operand), std::memory_order_acq_rel,
                          where);
    }));
  }
  T fetch_sub(T operand, role r = role::update, site where = site::current())
    requires std::integral<T>
  {
    return static_cast<T>(modify(r, where, [&] {
      return D::fetch_sub(word_.value, static_cast<word>(operand), std::memory_order_acq_rel,
                          where);
    }));
  }
  T fetch_and(T operand, role r = role::update, site where = site::current())
    requires std::integral<T>
  {
    return static_cast<T>(modify(r, where, [&] {
      return D::fetch_and(word_.value, static_cast<word>(operand), std::memory_order_acq_rel,
                          where);
    }));
  }
  T fetch_or(T operand, role r = role::update, site where = site::current())
    requires std::integral<T>
  {
    return static_cast<T>(modify(r, where, [&] {
      return D::fetch_or(word_.value, static_cast<word>(operand), std::memory_order_acq_rel, where);
    }));
  }
  T fetch_xor(T operand, role r = role::update, site where = site::current())
    requires std::integral<T>
  {
    return static_cast<T>(modify(r, where, [&] {
      return D::fetch_xor(word_.value, static_cast<word>(operand), std::memory_order_acq_rel,
                          where);
    }));
  }
  T operator++(int)
    requires std::integral<T>
  {
    return fetch_add(1);
  }
  T operator++()
    requires std::integral<T>
  {
    return static_cast<T>(fetch_add(1) + 1);
  }
  T operator+=(T operand)
    requires std::integral<T>
  {
    return static_cast<T>(fetch_add(operand) + operand);
  }
  operator T() const { return load(); }
  T operator=(T value) {
    store(value);
    return value;
  }

  /// A traversal that read this cell has ended: what was read is durable before the caller's next
  /// store to a cell, and before its operation is over, if `Placement` asks for that of `r`.
  /// Nothing under placements whose loads on the way are p-loads.
  void arrived(role r, site where = site::current()) const {
    if (Placement::persists_arrival(r)) flush_if_tagged(where);
  }

  /// Stores into a node that nobody else can reach: a private p-store whose flush is the node's.
  void init(T value, site where = site::current()) {
    D::store(word_.value, detail::to_word(value), std::memory_order_relaxed, where);
  }

  /// After a crash, before the cell is shared: a tag that the crash left raised comes down.
  /// Re-entrant.
  void recover(site where = site::current()) { Tag::template recover<D>(beside_, where); }

 private:
  /// Steps of a p-store, so that the verifier can tell its two fences apart.
  enum : unsigned { before_store = 1, after_store = 2 };

  static constexpr std::memory_order at_least(std::memory_order least,
                                              std::memory_order asked) noexcept {
    return asked == std::memory_order_seq_cst ? asked : least;
  }

  T load_as(std::memory_order order, role r, site where) const {
    const word value = D::load(word_.value, order, where);
    if (Placement::persists_load(r)) after_load(where);
    return detail::from_word<T>(value);
  }

  void after_load(site where) const {
    flush_if_tagged(where);
    if constexpr (Placement::waits_for_loads) domain::fence<D>(where);
  }

  void store_as(T value, std::memory_order order, role r, site where) {
    const auto change = [&] {
      D::store(word_.value, detail::to_word(value), order, where);
      return word{};
    };
    modify<!Placement::waits_for_loads>(r, where, change, [] { return true; });
  }

  bool compare_exchange_as(T& expected, T desired, std::memory_order order, role r, site where) {
    word wanted = detail::to_word(expected);
    const word before = wanted;
    // Looking first spares a losing CAS the tag, the flush and the fence.
    word seen = D::load(word_.value, std::memory_order_acquire, where);
    if (seen == wanted) {
      modify(
          r, where,
          [&] {
            D::compare_exchange(word_.value, wanted, detail::to_word(desired), order, where);
            return wanted;
          },
          [&] { return wanted == before; });
      if (wanted == before) return true;
      seen = wanted;
    }
    // A failed p-CAS is a p-load of what it found (errata 2.8).
    if (Placement::persists_store(r)) after_load(where);
    expected = detail::from_word<T>(seen);
    return false;
  }

  void flush_if_tagged(site where) const {
    if (!D::flushes()) return;
    // The value was loaded with acquire, so the tag of the store it came from is visible here.
    if (Tag::template raised<D>(beside_, this, where)) [[unlikely]]
      flush_word(where);
  }

  /// Out of line: a load that finds its tag down should be as small as a load.
  [[gnu::noinline, gnu::cold]] void flush_word(site where) const {
    domain::flush<D>(&word_, sizeof(word), where);
  }

  /// A shared store. Durable at return, if the role says so and it is waited for.
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

}  // namespace outlast::durable
