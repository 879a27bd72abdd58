// The word of a cell that exists twice: in the pool, where it survives, and in memory, where it is
// read. [Fri21, 4.1]
//
// Each replica has the value and a sequence number, 16 bytes that change together. A store makes
// the persistent pair one number ahead, makes that durable, and then makes the volatile pair equal.
// A thread that meets a volatile pair that is behind completes the store. So a value that a load
// finds in the volatile replica is durable, and the load needs no flush.
//
//   M1  the persistent pair is the volatile one, or the one after it.
//   M2  it is changed only while the two are equal, by an exchange that compares both words with
//       the volatile pair: if that were stale, the numbers would differ.
//   M3  a pair is stored into the volatile replica only after it is durable in the persistent one,
//       if the role of its store requires durability.
//
// A compare-and-swap fails only on a value that it loaded from the volatile replica. If it loses
// against another one it begins again, as a strong one must (docs/papers/mirror.md).
#pragma once

#include <outlast/base/survives.hpp>
#include <outlast/base/word_pair.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/durable/detail/word.hpp>
#include <outlast/durable/replicas.hpp>
#include <outlast/durable/roles.hpp>
#include <outlast/hw/flush.hpp>

#include <atomic>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace outlast::durable::detail {

/// The bits of a link that are marks, whatever the name of its type: nodes are aligned to 8.
inline constexpr std::uint64_t link_marks = 7;

/// Two words in two replicas that change together: a value, and a number that the cell had with no
/// other value. See above.
template <class T, class Placement, domain::persistence_domain D>
class mirrored_pair {
  static_assert(std::is_trivially_copyable_v<T>, "a cell holds a trivially copyable type");
  static_assert(base::must_survive_or_link<T>);
  static_assert(sizeof(T) <= 8,
                "a cell holds at most 8 bytes: put larger values into a node and replace the node");

 protected:
  using word = std::uint64_t;
  using pair = base::pair_value;
  using site = domain::site;

 public:
  mirrored_pair(const mirrored_pair&) = delete;
  mirrored_pair& operator=(const mirrored_pair&) = delete;

  /// Does nothing: a value that was read is durable.
  void arrived(role, site = site::current()) const noexcept {}

  /// Fetches the persistent replica, because the caller will store to this cell.
  void expect_store() const noexcept {
    if constexpr (has_replicas<D>) hw::prefetch_for_write(&stored());
  }

  /// Stores into a node that no other thread can reach. The cell is flushed with its node.
  void init(T value, site where = site::current()) {
    constexpr auto relaxed = std::memory_order_relaxed;
    D::store(stored().first, to_stored(to_word(value)), relaxed, where);
    if constexpr (has_replicas<D>) {
      D::store(pair_.first, to_word(value), relaxed, site::none());
    }
  }

  /// Copies the persistent replica, number included, to the volatile one. Called when the root is
  /// attached, before the cell is shared. Stores nothing persistent.
  void recover(site = site::none()) {
    if constexpr (has_replicas<D>) {
      constexpr auto relaxed = std::memory_order_relaxed;
      const word value = D::load(stored().first, relaxed);
      D::store(pair_.first, to_seen(value), relaxed, site::none());
      D::store(pair_.second, D::load(stored().second, relaxed), relaxed, site::none());
    }
  }

  /// For moving a root, while no other thread uses it: the surviving value, with links as they are
  /// in the pool; a replacement of it, flushed and not fenced; and neither, except that the cell
  /// can be loaded.
  [[nodiscard]] T survived() const {
    return value_of(D::load(stored().first, std::memory_order_relaxed));
  }
  void overwrite(T value, site where = site::current()) {
    D::store(stored().first, to_word(value), std::memory_order_relaxed, where);
    domain::flush<D>(&stored(), sizeof(pair), where);
    recover();
  }
  void refresh() { recover(); }

 protected:
  mirrored_pair(const pair& content, site where) {
    require_replica<D>(reinterpret_cast<std::uintptr_t>(this));
    constexpr auto relaxed = std::memory_order_relaxed;
    D::store(stored().first, to_stored(content.first), relaxed, where);
    D::store(stored().second, content.second, relaxed, where);
    if constexpr (has_replicas<D>) {
      D::store(pair_.first, content.first, relaxed, site::none());
      D::store(pair_.second, content.second, relaxed, site::none());
    }
  }

  [[nodiscard]] static T value_of(word value) noexcept {
    return from_word<T>(static_cast<word_of<T>>(value));
  }
  /// Returns the pair that is read.
  [[nodiscard]] base::word_pair& visible() const noexcept {
    return const_cast<base::word_pair&>(pair_);
  }
  /// Returns the pair that survives.
  [[nodiscard]] base::word_pair& stored() const noexcept {
    if constexpr (has_replicas<D>) {
      return *original_of<D>(&visible());
    } else {
      return visible();
    }
  }

  /// Exchanges the persistent pair if it is still `seen`. Two words that the pair had at different
  /// moments are accepted as `seen`. (M2) Durable at return if the role requires that. Returns
  /// false if another store has taken effect since, or if the pair never was `seen`.
  bool replace(const pair& seen, const pair& desired, role r, site where) {
    // (P1) persisted-before (P2): everything that this store depends on, its new node first.
    if (Placement::fences_before(r)) domain::fence<D>(where.at(before_store));
    pair found{to_stored(seen.first), seen.second};
    if (D::compare_exchange_pair(stored(), found, {to_stored(desired.first), desired.second},
                                 where)) {
      // (P2) persisted-before (P3): what can be read is durable.
      if (Placement::persists_store(r)) settle(where.at(after_store));
      publish(seen, desired, where);
      return true;
    }
    help(seen, {to_seen(found.first), found.second}, where);
    return false;
  }

  /// The steps of a store, which the verifier distinguishes.
  enum : unsigned { before_store = 1, after_store = 2, while_helping = 3, publishing = 4 };

 private:
  /// Translates a link between its address in the pool and in the volatile replica. Null and marks
  /// are the same in both.
  [[nodiscard]] static word to_stored(word seen) noexcept {
    if constexpr (!has_replicas<D> || !holds_link<T>) return seen;
    return (seen & ~link_marks) == 0 ? seen : seen - distance_to_shadow<D>();
  }
  [[nodiscard]] static word to_seen(word stored) noexcept {
    if constexpr (!has_replicas<D> || !holds_link<T>) return stored;
    return (stored & ~link_marks) == 0 ? stored : stored + distance_to_shadow<D>();
  }

  void settle(site where) {
    if (!D::flushes()) return domain::note_store<D>();
    domain::flush<D>(&stored(), sizeof(pair), where);
    domain::fence<D>(where);
  }

  /// (P3) Copies the pair to the volatile replica, unless a helper has done so.
  void publish(pair before, const pair& after, site where) {
    D::compare_exchange_pair(pair_, before, after, where.at(publishing));
  }

  /// Completes another thread's store if the volatile pair is still `seen`. Then `found`, which the
  /// failed exchange read atomically in the persistent replica, is the pair after it. It is flushed
  /// after it was read. [errata 3.7]
  void help(const pair& seen, const pair& found, site where) {
    if (found.second == seen.second) return;
    if (D::load(pair_.second, std::memory_order_acquire, where) != seen.second) return;
    settle(where.at(while_helping));
    publish(seen, found, where);
  }

  base::word_pair pair_;  // where there are two replicas: the volatile one
};

/// The base of `atomic_interface`: accesses with an order, a role and a site. The number counts the
/// stores.
template <class T, class Placement, domain::persistence_domain D>
class mirrored_word : public mirrored_pair<T, Placement, D> {
  using parts = mirrored_pair<T, Placement, D>;
  using parts::value_of;
  using parts::visible;
  using typename parts::pair;
  using typename parts::site;
  using typename parts::word;

 protected:
  using value_type = T;
  using domain_type = D;

  mirrored_word(T value, site where) : parts({to_word(value), 0}, where) {}

  T load_as(std::memory_order order, role, site where) const {
    return value_of(D::load(visible().first, order, where));
  }

  void store_as(T value, std::memory_order order, role r, site where) {
    static_cast<void>(exchange_as(value, order, r, where));
  }

  T exchange_as(T value, std::memory_order order, role r, site where) {
    return change(order, r, where, [&](T) { return value; });
  }

  /// Stores. Lock-free: the store begins again only if another store to the cell has succeeded.
  bool compare_exchange_as(T& expected, T desired, std::memory_order order, role r, site where) {
    const word wanted = to_word(expected);
    for (;;) {
      const pair seen = read(where, order_of_look(order));
      if (seen.first != wanted) {
        expected = value_of(seen.first);
        return false;
      }
      if (replace_value(seen, to_word(desired), order, r, where)) return true;
    }
  }

  T fetch_as(arithmetic what, word operand, std::memory_order order, role r, site where) {
    return change(order, r, where, [&](T before) {
      return from_word<T>(static_cast<word_of<T>>(apply(what, to_word(before), operand)));
    });
  }

  [[nodiscard]] const std::atomic<word>& raw() const noexcept { return visible().first; }
  [[nodiscard]] std::atomic<word>& raw() noexcept { return visible().first; }
  [[nodiscard]] static word raw_word(T value) noexcept { return to_word(value); }

 private:
  /// Returns the value that the cell had at one moment, and a number that it had then or later.
  [[nodiscard]] pair read(site where, std::memory_order order = std::memory_order_acquire) const {
    const word value = D::load(visible().first, order, where);
    if constexpr (!has_replicas<D>) return {value, 0};
    return {value, D::load(visible().second, std::memory_order_acquire, where)};
  }

  template <class Next>
  T change(std::memory_order order, role r, site where, Next next) {
    for (;;) {
      const pair seen = read(where);
      const T before = value_of(seen.first);
      if (replace_value(seen, to_word(next(before)), order, r, where)) return before;
    }
  }

  /// Stores if the cell is still `seen`. Returns false if another store has taken effect meanwhile.
  bool replace_value(const pair& seen, word desired, [[maybe_unused]] std::memory_order order,
                     [[maybe_unused]] role r, site where) {
    if constexpr (has_replicas<D>) {
      return this->replace(seen, {desired, seen.second + 1}, r, where);
    } else {
      D::pfence(where.at(parts::before_store));
      word expected = seen.first;
      const bool stored = D::compare_exchange(visible().first, expected, desired, order, where);
      domain::note_store<D>();
      return stored;
    }
  }
};

}  // namespace outlast::durable::detail
