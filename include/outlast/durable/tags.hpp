// Tags: how a p-load detects that it need not flush. [Wei22, 5 and 5.1]
//
// A p-store raises the tag of its place before it stores, and lowers it when the stored value is
// durable. If a p-load finds the tag down, every value that it could have read is durable.
#pragma once

#include <outlast/base/raw_atomic.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/durable/tag_table.hpp>

#include <atomic>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace outlast::durable::tag {

/// The member of a cell whose tag keeps nothing in the cell.
struct nothing {};

/// A tag: the place of a flit-counter. `D` is the domain, `Place` a cell's `beside` member. Laws:
/// T1 raised() is true while any p-store to `address` is between raise() and lower(). T2 raise()
/// happens before the announced store can be read. T3 lower() happens after the store is durable.
template <class T, class D>
concept tag = requires(typename T::beside& beside, const typename T::beside& peek,
                       const void* address, domain::site where) {
  { T::name() } -> std::convertible_to<std::string>;
  /// Part of a structure's fingerprint: tags with equal layouts can open each other's pools.
  { T::layout() } -> std::convertible_to<std::string_view>;
  T::template create<D>(beside, where);
  T::template raise<D>(beside, address, where);
  T::template lower<D>(beside, address, where);
  { T::template raised<D>(peek, address, where) } -> std::same_as<bool>;
  T::template recover<D>(beside, where);
};

/// No counter: every p-load flushes (the paper's plain variant).
struct always {
  using beside = nothing;
  static std::string name() { return "always"; }
  static constexpr std::string_view layout() noexcept { return "word"; }
  template <class D>
  static void create(beside&, domain::site) noexcept {}
  template <class D>
  static void raise(beside&, const void*, domain::site) noexcept {}
  template <class D>
  static void lower(beside&, const void*, domain::site) noexcept {}
  template <class D>
  static bool raised(const beside&, const void*, domain::site) noexcept {
    return true;
  }
  template <class D>
  static void recover(beside&, domain::site) noexcept {}
};

/// A counter in the pool. A crash can leave it raised; recovery clears it (errata 2.4).
class pool_counter {
 public:
  template <class D>
  void create(domain::site where) {
    D::store(counter_.value, 0, std::memory_order_relaxed, where);
  }
  template <class D>
  void raise(domain::site where) {
    domain::count<D>(counter_.value, 1, std::memory_order_relaxed, where);
  }
  template <class D>
  void lower(domain::site where) {
    domain::count<D>(counter_.value, ~std::uint64_t{0}, std::memory_order_release, where);
  }
  template <class D>
  [[nodiscard]] bool raised(domain::site where) const {
    return D::load(counter_.value, std::memory_order_acquire, where) != 0;
  }
  template <class D>
  void recover(domain::site where) {
    if (raised<D>(where)) D::store(counter_.value, 0, std::memory_order_relaxed, where);
  }

 private:
  base::raw_atomic<std::uint64_t> counter_;
};

/// `adjacent` for the cells of a `cell_group`: one counter for all of them, in the last word of
/// their block of `block_bytes` bytes. A load that finds it raised for another cell of the group
/// flushes in vain.
struct adjacent_to_group {
  static constexpr std::size_t block_bytes = 32;
  using beside = nothing;
  static std::string name() { return "adjacent"; }
  static constexpr std::string_view layout() noexcept { return "word+counter"; }
  template <class D>
  static void create(beside&, domain::site) noexcept {}
  template <class D>
  static void raise(beside&, const void* address, domain::site where) {
    counter(address).template raise<D>(where);
  }
  template <class D>
  static void lower(beside&, const void* address, domain::site where) {
    counter(address).template lower<D>(where);
  }
  template <class D>
  static bool raised(const beside&, const void* address, domain::site where) {
    return counter(address).template raised<D>(where);
  }
  template <class D>
  static void recover(beside&, domain::site) noexcept {}

 private:
  static pool_counter& counter(const void* address) noexcept {
    const std::uintptr_t last = reinterpret_cast<std::uintptr_t>(address) | (block_bytes - 1);
    return *reinterpret_cast<pool_counter*>(last + 1 - sizeof(pool_counter));
  }
};

/// The counter follows the value in the same line: no further cache miss, twice the memory, except
/// for cells that share a counter.
struct adjacent {
  using grouped = adjacent_to_group;
  using beside = pool_counter;
  static std::string name() { return "adjacent"; }
  static constexpr std::string_view layout() noexcept { return "word+counter"; }
  template <class D>
  static void create(beside& counter, domain::site where) {
    counter.create<D>(where);
  }
  template <class D>
  static void raise(beside& counter, const void*, domain::site where) {
    counter.raise<D>(where);
  }
  template <class D>
  static void lower(beside& counter, const void*, domain::site where) {
    counter.lower<D>(where);
  }
  template <class D>
  static bool raised(const beside& counter, const void*, domain::site where) {
    return counter.raised<D>(where);
  }
  template <class D>
  static void recover(beside& counter, domain::site where) {
    counter.recover<D>(where);
  }
};

namespace detail {

/// Returns the counter for `key` in the shared volatile table; one counter in `Distance` is used.
template <std::size_t Bytes, std::size_t Distance>
[[nodiscard]] inline std::atomic<flit_counter>& counter_for(std::uintptr_t key) noexcept {
  constexpr unsigned index_bits = std::bit_width(Bytes / sizeof(flit_counter) / Distance) - 1;
  flit_counter& place =
      durable::detail::tag_table[((key * 0x9e3779b97f4a7c15ULL) >> (64 - index_bits)) * Distance];
  return reinterpret_cast<base::raw_atomic<flit_counter>&>(place).value;
}

template <std::size_t Bytes, unsigned AddressShift, std::size_t Distance = 1>
struct table {
  static_assert(std::has_single_bit(Bytes) && Bytes >= smallest_tag_table_bytes &&
                    Bytes <= largest_tag_table_bytes,
                "a tag table has a power of two of bytes, from 4 KiB to 64 MiB");
  using beside = nothing;
  static constexpr std::string_view layout() noexcept { return "word"; }
  static std::atomic<flit_counter>& counter(const void* address) noexcept {
    return counter_for<Bytes, Distance>(reinterpret_cast<std::uintptr_t>(address) >> AddressShift);
  }
  template <class D>
  static void create(beside&, domain::site) noexcept {}
  template <class D>
  static void raise(beside&, const void* address, domain::site where) {
    D::fetch_add(counter(address), 1, std::memory_order_relaxed, where);
  }
  template <class D>
  static void lower(beside&, const void* address, domain::site where) {
    D::fetch_sub(counter(address), 1, std::memory_order_release, where);
  }
  template <class D>
  static bool raised(const beside&, const void* address, domain::site where) {
    return D::load(counter(address), std::memory_order_acquire, where) != 0;
  }
  template <class D>
  static void recover(beside&, domain::site) noexcept {}
};

}  // namespace detail

/// The arrangement of the counters of a table: four to a word, or one. With one, a table of the
/// same size has more places per counter, and fewer threads write to one line. [Wei22, 5.1]
enum class counters : unsigned char { packed, one_per_word };

/// One counter per word of the pool, in a volatile table of `Bytes` bytes (4 KiB to 64 MiB).
template <std::size_t Bytes = std::size_t{1} << 20, counters Lie = counters::packed>
struct hashed : detail::table<Bytes, 3, Lie == counters::packed ? 1 : 4> {
  static std::string name() {
    return "hashed<" + std::to_string(Bytes) + (Lie == counters::packed ? ">" : ",one_per_word>");
  }
};

/// One counter per cache line, in a volatile table of `Bytes` bytes (4 KiB to 64 MiB).
template <std::size_t Bytes = std::size_t{1} << 20>
struct line : detail::table<Bytes, 6> {
  static std::string name() { return "line<" + std::to_string(Bytes) + ">"; }
};

namespace detail {

template <class Tag>
struct grouped {
  using type = Tag;
};
template <class Tag>
  requires requires { typename Tag::grouped; }
struct grouped<Tag> {
  using type = typename Tag::grouped;
};

}  // namespace detail

/// `Tag` for the cells of one node, which may share its counter.
template <class Tag>
using grouped = typename detail::grouped<Tag>::type;

}  // namespace outlast::durable::tag
