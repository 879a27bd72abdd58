// Mirror: every byte of a structure exists twice, once in the pool, where it survives, and once in
// memory, where it is read. Reads never flush and never wait. [Fri21]
//
//   outlast::mirror::atomic<int> hits;   // in a node of a pool: std::atomic<int>, but durable
#pragma once

#include <outlast/base/survives.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/domain/watched_blocks.hpp>
#include <outlast/durable/atomic_functions.hpp>
#include <outlast/durable/cell_group.hpp>
#include <outlast/durable/detail/atomic_interface.hpp>
#include <outlast/durable/detail/mirrored_word.hpp>
#include <outlast/durable/field.hpp>
#include <outlast/durable/operation.hpp>
#include <outlast/durable/replicas.hpp>
#include <outlast/durable/roles.hpp>
#include <outlast/durable/tags.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>

namespace outlast::durable {

/// Decides which stores are made durable. Every load is durable by itself.
struct mirrored_stores {
  static constexpr bool persists_store(role r) noexcept {
    // No answer rests on them, and each opening rebuilds what they did.
    return r != role::tidy && r != role::index;
  }
  /// A new node is durable before the link that names it.
  static constexpr bool fences_before(role) noexcept { return true; }
};

/// A cell in two replicas. It has the members of `std::atomic<T>`, for any trivially copyable T of
/// up to 8 bytes. Each member has two more parameters: a role, and the site, which callers must not
/// pass. docs/guides/mirror.md lists the differences. 16 bytes in each replica. A cell is made in
/// the volatile replica, under a root of a pool that was attached with attach_replicas(). Its
/// pointers are null or addresses in the volatile replica of that pool.
///
/// Thread-safety: all members may be called concurrently, except construction, `init` and
/// `recover`. Progress: a load is wait-free; everything else is lock-free, because a store, too, is
/// a loop around a compare-and-swap; `wait` blocks. Memory order: loads acquire, stores release,
/// and read-modify-writes do both. A weaker argument has no effect; seq_cst is honoured.
/// Durability, under all roles except `tidy` and `index`: a stored value is durable when the store
/// returns, and a loaded value was durable before.
template <class T, domain::persistence_domain D>
class mirrored_cell
    : public detail::atomic_interface<detail::mirrored_word<T, mirrored_stores, D>> {
  using interface = detail::atomic_interface<detail::mirrored_word<T, mirrored_stores, D>>;

 public:
  mirrored_cell() : mirrored_cell(T{}) {}
  /// Makes a cell of a node that no other thread can reach yet. It is flushed with its node. Throws
  /// error{refused} outside of pools, if the program is built with assertions.
  mirrored_cell(T value, domain::site where = domain::site::current()) : interface(value, where) {}
  mirrored_cell(const mirrored_cell&) = delete;
  mirrored_cell& operator=(const mirrored_cell&) = delete;
  using interface::operator=;
};

/// A value and a version in two replicas, for algorithms that exchange two words atomically and
/// never bring a version back: their own version has the function of a cell's number. [Fri21,
/// 4.1.2] 16 bytes in each replica, made and recovered as mirrored_cell.
///
/// Thread-safety: `load` and `compare_exchange` may be called concurrently. Progress: lock-free.
/// Durability: as mirrored_cell.
template <class T, domain::persistence_domain D>
class mirrored_versioned : public detail::mirrored_pair<T, mirrored_stores, D> {
  using parts = detail::mirrored_pair<T, mirrored_stores, D>;
  using parts::visible;
  using typename parts::pair;
  using typename parts::site;

 public:
  struct value_type {
    T value;
    std::uint64_t version;
    friend bool operator==(const value_type&, const value_type&) = default;
  };

  explicit mirrored_versioned(value_type content = {}, site where = site::current())
      : parts(words_of(content), where) {}

  /// Returns both words as they were at one moment.
  [[nodiscard]] value_type load(site where = site::current()) const {
    constexpr auto acquire = std::memory_order_acquire;
    for (;;) {
      const std::uint64_t version = D::load(visible().second, acquire, where);
      const std::uint64_t value = D::load(visible().first, acquire, where);
      // No version comes back: if it is the same, so was the value.
      if (D::load(visible().second, acquire, where) == version) {
        return {parts::value_of(value), version};
      }
    }
  }

  /// Compares strongly. `expected` receives the value that was found instead. Requires: this cell
  /// has never had `desired.version`.
  [[nodiscard]] bool compare_exchange(value_type& expected, value_type desired, role r = role::link,
                                      site where = site::current()) {
    for (;;) {
      const value_type found = load(where);
      if (found != expected) {
        expected = found;
        return false;
      }
      if (replace(words_of(expected), words_of(desired), r, where)) return true;
    }
  }

 private:
  static pair words_of(const value_type& content) noexcept {
    return {detail::to_word(content.value), content.version};
  }
  bool replace(const pair& seen, const pair& desired, role r, site where) {
    if constexpr (has_replicas<D>) {
      return parts::replace(seen, desired, r, where);
    } else {
      D::pfence(where.at(parts::before_store));
      pair found = seen;
      const bool stored = D::compare_exchange_pair(visible(), found, desired, where);
      domain::note_store<D>();
      return stored;
    }
  }
};

/// `field` in two replicas. It is immutable, so it needs no sequence number. [Fri21, 4.1.1]
template <class T, domain::persistence_domain D>
class mirrored_field {
  static_assert(base::must_survive_or_link<T>);
  static_assert(std::is_trivially_copyable_v<T>,
                "what lives in a pool must be trivially copyable: no pointers into the heap, no "
                "standard containers");
  using caller_line = domain::line_under<D>;

 public:
  explicit mirrored_field(const T& value, domain::site where = domain::site::current()) {
    detail::require_replica<D>(reinterpret_cast<std::uintptr_t>(this));
    D::write(stored(), std::addressof(value), sizeof(T), where);
    if constexpr (has_replicas<D>) {
      D::write(bytes_, std::addressof(value), sizeof(T), domain::site::none());
    }
  }
  mirrored_field(const mirrored_field&) = delete;
  mirrored_field& operator=(const mirrored_field&) = delete;

  [[nodiscard]] const T& get(caller_line where = caller_line::here()) const noexcept {
    if constexpr (domain::watches_blocks<D>) D::reads_block(bytes_, sizeof(T), where);
    return *std::launder(reinterpret_cast<const T*>(bytes_));
  }
  operator const T&() const noexcept { return get(); }

  /// As mirrored_cell::recover().
  void recover() {
    if constexpr (has_replicas<D>) D::write(bytes_, stored(), sizeof(T), domain::site::none());
  }

 private:
  [[nodiscard]] std::byte* stored() noexcept {
    if constexpr (has_replicas<D>) {
      return original_of<D>(&bytes_[0]);
    } else {
      return bytes_;
    }
  }

  alignas(T) std::byte bytes_[sizeof(T)];
};

/// The way in which structures under `mirror` change values of up to 8 bytes.
enum class mirrored_values : unsigned char {
  with_node,  ///< a new value is a new node: values take their own size, an update waits twice
  in_place,   ///< a value is a cell of 16 bytes in each replica: an update waits once
};

/// The policy of two replicas. There is only one replica under domains that, at compile time, flush
/// nothing. The layout of the pool is the same.
template <domain::persistence_domain D = domain::native,
          mirrored_values Values = mirrored_values::with_node>
struct mirror {
  using domain_type = D;
  static constexpr bool mirrored = true;
  template <class T>
  using cell = mirrored_cell<T, D>;
  template <class T>
  using grouped_cell = cell<T>;
  using group = cell_group<tag::always, D>;
  template <class T>
  using field = mirrored_field<T, D>;
  template <class T>
  using volatile_member = durable::volatile_member<T>;
  template <class Reclaimer>
  using operation = durable::operation<D, D, Reclaimer, mirror>;

  template <class T>
  static constexpr bool holds = sizeof(T) <= 8 && Values == mirrored_values::in_place;
  static constexpr bool durable = true;
  static constexpr unsigned spare_bits = 3;
  static std::string name() {
    return Values == mirrored_values::in_place ? "mirror<in_place>" : "mirror";
  }
  static constexpr std::string_view layout() noexcept {
    return Values == mirrored_values::in_place ? "numbered words, values too" : "numbered words";
  }
};

}  // namespace outlast::durable

namespace outlast::mirror {

/// `std::atomic<T>` in a pool, durable. [Fri21: patomic]
template <class T, domain::persistence_domain D = domain::native>
using atomic = durable::mirrored_cell<T, D>;

/// A value and a version in a pool, exchanged atomically, durable.
template <class T, domain::persistence_domain D = domain::native>
using versioned = durable::mirrored_versioned<T, D>;

/// An immutable member of a published node, at half the size.
template <class T, domain::persistence_domain D = domain::native>
using field = durable::mirrored_field<T, D>;

}  // namespace outlast::mirror
