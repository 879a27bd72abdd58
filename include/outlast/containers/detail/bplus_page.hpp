// The pages of a B+-tree: items in slots, with an indirection array in the first line, so that a
// new item moves no other one.
//
// If keys are byte strings, a page has an array of their heads: the four bytes after the common
// prefix of all keys. A search compares heads, and then the few keys whose heads equal its own.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/containers/detail/bplus_item.hpp>
#include <outlast/containers/detail/versions.hpp>
#include <outlast/hw/flush.hpp>
#include <outlast/tx/field.hpp>
#include <outlast/tx/heap.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace outlast::containers::detail {

/// The header of all pages.
struct page_header {
  page_header(version at, std::uint32_t height) : born(at), level(height), prefix(0) {}

  tx::field<version> born;
  tx::field<std::uint32_t> level;   ///< 0: a leaf
  tx::field<std::uint32_t> prefix;  ///< length of the common prefix of all keys, before their heads
};

/// The slots of items, in ascending order of keys, and then the free slots.
template <std::size_t Room>
struct slot_order {
  std::uint8_t count = 0;
  std::array<std::uint8_t, Room> slot{};

  static slot_order empty() noexcept {
    slot_order made;
    for (std::size_t i = 0; i < Room; ++i) made.slot[i] = static_cast<std::uint8_t>(i);
    return made;
  }
  /// Inserts a free slot at place `i`.
  void insert(std::size_t i) noexcept {
    const std::uint8_t free = slot[count];
    std::copy_backward(slot.begin() + i, slot.begin() + count, slot.begin() + count + 1);
    slot[i] = free;
    ++count;
  }
  void remove(std::size_t i) noexcept {
    const std::uint8_t freed = slot[i];
    std::copy(slot.begin() + i + 1, slot.begin() + count, slot.begin() + i);
    --count;
    slot[count] = freed;
  }
};

/// Returns the four bytes of a key from `prefix` on, as a number with the same order. Missing bytes
/// are zeros: keys with the same head must be compared as a whole.
[[nodiscard]] inline std::uint32_t head_of(std::string_view key, std::size_t prefix) noexcept {
  std::uint32_t head = 0;
  for (std::size_t i = prefix; i < prefix + sizeof head; ++i) {
    head = head << 8 | (i < key.size() ? static_cast<unsigned char>(key[i]) : 0U);
  }
  return head;
}

/// Returns the length of the common prefix of both, at most `most`.
[[nodiscard]] inline std::size_t common_prefix(std::string_view a, std::string_view b,
                                               std::size_t most) noexcept {
  const std::size_t shorter = std::min({a.size(), b.size(), most});
  const auto differ = std::mismatch(a.begin(), a.begin() + shorter, b.begin());
  return static_cast<std::size_t>(differ.first - a.begin());
}

/// The heads of keys, by slot; those of free slots can be anything.
template <std::size_t Room>
struct key_heads {
  std::array<std::uint32_t, Room> of;
};
struct no_heads {};

/// The rules for the heads of a page whose keys change.
struct head_rules {
  head_rules(bool by_bytes, std::size_t begins_with = 0) noexcept
      : kept(by_bytes), shared(begins_with) {}

  bool kept;           ///< keys are ordered by their bytes, and heads are kept
  std::size_t shared;  ///< length of the common prefix of a new key and all others
};

/// Places from `first` on, before `last`.
struct place_range {
  std::size_t first;
  std::size_t last;
};

/// Up to `Room` items. Places are numbered in the order of keys; the keys of places before `First`
/// are unused. `Key`: std::string for heads. On media: docs/formats/tx.md.
///
/// Invariants of pages with heads:
///   I1  all used keys begin with the same `prefix` bytes.
///   I2  the head of each used key is head_of() the key.
template <class Item, std::size_t Room, class Key, std::size_t First>
class page : public page_header {
  static_assert(Room >= 4 && Room < 256);

 public:
  static constexpr bool has_heads = std::is_same_v<Key, std::string>;

  /// Creates an empty page. Throws out_of_space.
  [[nodiscard]] static page* make(const versions& in, std::uint32_t height) {
    // Not alloc(), which notes all lines: only slots in use are written.
    return ::new (tx::heap(tx::running()).allocate(sizeof(page), alignof(page)))
        page(in.now(), height);
  }

  // Members that use places throw corruption for a place without a slot, or out of range.

  [[nodiscard]] std::size_t size() const {
    const std::size_t count = order_->count;
    if (count > Room) [[unlikely]]
      refuse();
    return count;
  }
  [[nodiscard]] Item& item(std::size_t i) { return *std::launder(slot_at(i)); }
  [[nodiscard]] const Item& item(std::size_t i) const { return const_cast<page*>(this)->item(i); }

  /// Returns true if all places name slots of the page, which may be damaged.
  [[nodiscard]] bool is_sound() const noexcept {
    const slot_order<Room>& order = order_;
    return order.count <= Room && std::all_of(order.slot.begin(), order.slot.begin() + order.count,
                                              [](std::uint8_t slot) { return slot < Room; });
  }
  /// Returns true if the places name each slot once. The page may be damaged.
  [[nodiscard]] bool is_whole() const noexcept {
    std::array<bool, Room> named{};
    for (const std::uint8_t slot : order_->slot) {
      if (slot >= Room || std::exchange(named[slot], true)) return false;
    }
    return order_->count <= Room;
  }
  /// Returns true if I1 and I2 hold.
  [[nodiscard]] bool has_right_heads() const {
    if constexpr (has_heads) {
      for (std::size_t i = First; i < size(); ++i) {
        const std::string_view key = item(i).key();
        if (common_prefix(key, item(First).key(), prefix) != prefix) return false;
        if (head(i) != head_of(key, prefix)) return false;
      }
    }
    return true;
  }

  /// Inserts an item Item(arguments...) at place `i`.
  template <class... Arguments>
  void insert(std::size_t i, head_rules heads, Arguments&&... arguments) {
    slot_order<Room> order = order_;
    if (order.count >= Room || i > order.count) [[unlikely]]
      refuse();
    order.insert(i);
    order_ = order;
    ::new (slot_at(i)) Item(std::forward<Arguments>(arguments)...);
    if (heads.kept) note_head(i, heads.shared);
  }
  template <class... Arguments>
  void append(head_rules heads, Arguments&&... arguments) {
    insert(size(), heads, std::forward<Arguments>(arguments)...);
  }
  /// Removes the item, which another page has now, or which is retired.
  void remove(std::size_t i) {
    slot_order<Room> order = order_;
    if (order.count > Room || i >= order.count) [[unlikely]]
      refuse();
    order.remove(i);
    order_ = order;
  }
  /// Moves the items from place `i` on to `to`, which is empty.
  void move_tail(std::size_t i, page& to, bool by_bytes) {
    if (i > size()) [[unlikely]]
      refuse();
    to.copy_from(*this, i, by_bytes);
    slot_order<Room> order = order_;
    order.count = static_cast<std::uint8_t>(i);
    order_ = order;
    if (by_bytes) {
      lengthen_prefix();
      to.lengthen_prefix();
    }
  }
  /// Copies the items of `from`, from its place `i` on, to this page, which is empty. Reads no key:
  /// with the same prefix, heads are the same.
  void copy_from(const page& from, std::size_t i, bool by_bytes) {
    const std::size_t count = from.size() - i;
    if (by_bytes && from.prefix != 0) prefix = from.prefix.get();
    slot_order<Room> order = order_;
    order.count = static_cast<std::uint8_t>(count);
    order_ = order;
    for (std::size_t each = 0; each < count; ++each) {
      ::new (slot_at(each)) Item(from.item(i + each));
    }
    if constexpr (has_heads) {
      for (std::size_t each = 0; by_bytes && each < count; ++each) {
        store_head(each, from.head(i + each));
      }
    }
  }

  // ---- For keys that are ordered by their bytes ----

  /// Returns the places whose keys have the head of `key`. All keys before them are less than
  /// `key`, and all keys after them are greater. `shared`: the length of the common prefix of `key`
  /// and all keys.
  [[nodiscard]] place_range narrow(std::string_view key, std::size_t from,
                                   std::size_t shared) const {
    const std::size_t count = size();
    if (from >= count) return {count, count};
    if (prefix <= shared) return alike(key, from);
    const std::string_view some = item(std::max(from, First)).key().substr(0, prefix);
    const int other = key.substr(0, prefix).compare(some);
    if (other < 0) return {from, from};
    if (other > 0) return {count, count};
    return alike(key, from);
  }
  /// Returns the places that may hold `key`; requires that `key` has the prefix of the page, or is
  /// not in the page.
  [[nodiscard]] place_range alike(std::string_view key, std::size_t from = 0) const {
    if (!has_slots()) [[unlikely]]
      refuse();
    const std::uint32_t wanted = head_of(key, prefix);
    const std::uint8_t* const slots = order_->slot.data();
    const std::uint8_t* at = slots + from;
    std::size_t left = size() - from;
    while (left > 1) {
      const std::size_t half = left / 2;
      at = heads_.of[at[half - 1]] < wanted ? at + half : at;
      left -= half;
    }
    if (left == 1 && heads_.of[*at] < wanted) ++at;
    const std::uint8_t* const end = slots + size();
    const std::uint8_t* behind = at;
    while (behind != end && heads_.of[*behind] == wanted) ++behind;
    return {static_cast<std::size_t>(at - slots), static_cast<std::size_t>(behind - slots)};
  }
  /// Prefetches the page for a search, all lines of small items together: one after the other they
  /// would take as many times as long.
  void expect() const noexcept {
    constexpr std::size_t wanted = sizeof(page) <= max_expected ? sizeof(page) : offsetof_room();
    for (std::size_t at = 0; at < wanted; at += base::cache_line_size) {
      hw::prefetch(reinterpret_cast<const std::byte*>(this) + at);
    }
  }

 private:
  static constexpr std::size_t max_expected = 1024;
  using heads_type = std::conditional_t<has_heads, key_heads<Room>, no_heads>;
  static constexpr std::size_t item_align =
      sizeof(Item) % base::cache_line_size == 0 ? base::cache_line_size : alignof(Item);

  page(version at, std::uint32_t height)
      : page_header(at, height), order_(slot_order<Room>::empty()) {}

  [[nodiscard]] static constexpr std::size_t offsetof_room() noexcept {
    return sizeof(page) - Room * sizeof(Item);
  }
  [[noreturn, gnu::cold, gnu::noinline]] static void refuse() {
    tx::detail::refuse_damage("a page of a tree has other places than pages have");
  }
  [[nodiscard]] std::size_t slot_of(std::size_t i) const {
    const std::size_t slot = i < Room ? order_->slot[i] : Room;
    if (slot >= Room) [[unlikely]]
      refuse();
    return slot;
  }
  [[nodiscard]] Item* slot_at(std::size_t i) {
    return reinterpret_cast<Item*>(room_ + slot_of(i) * sizeof(Item));
  }
  /// Returns true if all places name slots of the page, so that single places need no check. Tests
  /// eight bytes at a time: a byte less than Room, plus 128 - Room, has no highest bit.
  [[nodiscard]] bool has_slots() const noexcept {
    const slot_order<Room>& order = order_;
    if constexpr (Room < 128 && sizeof order % sizeof(std::uint64_t) == 0) {
      constexpr std::uint64_t each = ~std::uint64_t{0} / 0xff;
      std::uint64_t beyond = 0;
      for (std::size_t at = 0; at < sizeof order; at += sizeof beyond) {
        std::uint64_t some = 0;
        std::memcpy(&some, reinterpret_cast<const std::byte*>(&order) + at, sizeof some);
        if (at == 0) some &= ~std::uint64_t{0xff};  // the count
        beyond |= some | ((some & each * 0x7f) + each * (128 - Room));
      }
      return (beyond & each * 0x80) == 0;
    } else {
      return std::all_of(order.slot.begin(), order.slot.end(),
                         [](std::uint8_t slot) { return slot < Room; });
    }
  }
  [[nodiscard]] std::uint32_t head(std::size_t i) const { return heads_.of[slot_of(i)]; }
  void store_head(std::size_t i, std::uint32_t now) {
    tx::running().store(&heads_.of[slot_of(i)], &now, sizeof now);
  }
  void set_head(std::size_t i) { store_head(i, head_of(item(i).key(), prefix)); }

  /// The key at place `i` is new.
  void note_head(std::size_t i, std::size_t shared) {
    if constexpr (has_heads) {
      if (i < First) {  // the key that was there is used now
        if (size() > First) note_head(First, 0);
        return;
      }
      if (size() > First + 1 && prefix <= shared) return set_head(i);
      const std::string_view key = item(i).key();
      const std::size_t other = i == First ? First + 1 : First;
      const std::size_t most = size() == First + 1 ? key.size() : prefix.get();
      const std::size_t common =
          size() == First + 1 ? most : common_prefix(key, item(other).key(), most);
      if (common == prefix) return set_head(i);
      set_prefix(common);
    }
  }
  void set_prefix(std::size_t bytes) {
    prefix = static_cast<std::uint32_t>(bytes);
    for (std::size_t i = First; i < size(); ++i) set_head(i);
  }
  void lengthen_prefix() {
    if constexpr (has_heads) {
      if (size() < First + 1) return;
      const std::string_view last = item(size() - 1).key();
      const std::size_t common = common_prefix(item(First).key(), last, last.size());
      if (common > prefix) set_prefix(common);
    }
  }

  tx::field<slot_order<Room>> order_;
  [[no_unique_address]] heads_type heads_;
  alignas(item_align) std::byte room_[Room * sizeof(Item)];
};

template <class Key, class Value, std::size_t Room>
using leaf_page = page<leaf_item<Key, Value>, Room, Key, 0>;
template <class Key, std::size_t Room>
using inner_page = page<inner_item<Key>, Room, Key, 1>;

static_assert(sizeof(page_header) == 16 && sizeof(slot_order<47>) == 48);
static_assert(sizeof(leaf_page<std::string, std::string, 47>) == 632 &&
              sizeof(inner_page<std::string, 47>) == 1760);

}  // namespace outlast::containers::detail
