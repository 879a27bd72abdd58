// The pages of a B+-tree: items in slots, and the order of these in the first line, so that a new
// item moves no other one.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/tx/byte_string.hpp>
#include <outlast/tx/field.hpp>
#include <outlast/tx/heap.hpp>
#include <outlast/tx/seq/detail/stored.hpp>
#include <outlast/tx/seq/detail/versions.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace outlast::tx::seq::detail {

/// A key or value of which snapshots may see an earlier one. Trivially copyable: it lies in its
/// page, which is copied before it is changed. A copy is the same one: it has the same block.
template <class T>
class versioned {
 public:
  versioned() = default;
  versioned(versions&, view_of<T> value) : value_(value) {}

  [[nodiscard]] view_of<T> get() const noexcept { return value_.get(); }
  void set(versions&, view_of<T> value) { value_ = value; }
  /// Its place is used no more.
  void retire(versions&) const noexcept {}
  /// Its place is empty: it is another one's now.
  void clear() const noexcept {}
  [[nodiscard]] std::size_t blocks() const noexcept { return 0; }
  /// Does it lie between the two addresses, though it may be damaged?
  [[nodiscard]] bool lies_in(const std::byte*, const std::byte*) const noexcept { return true; }

 private:
  field<T> value_;
};

/// Bytes of any number. Their block is retired when others replace them.
template <>
class versioned<std::string> {
 public:
  versioned() {}
  versioned(versions& in, std::string_view text) : born_(in.now()), text_(text) {}
  versioned(const versioned& same) : born_(same.born_) { text_.share(same.text_); }
  versioned& operator=(const versioned& same) {
    born_ = same.born_;
    text_.share(same.text_);
    return *this;
  }

  [[nodiscard]] std::string_view get() const noexcept { return text_.view(); }
  void set(versions& in, std::string_view to) {
    if (text_.size() > byte_string::inside_bytes && in.is_seen(born_)) {
      std::byte* const block = text_.detach();
      text_.assign(to);
      in.retire(block, born_);
    } else {
      text_.assign(to);
    }
    born_ = in.now();
  }
  void retire(versions& in) {
    if (std::byte* const block = text_.detach()) in.retire(block, born_);
  }
  void clear() { static_cast<void>(text_.detach()); }
  [[nodiscard]] std::size_t blocks() const noexcept {
    return text_.size() > byte_string::inside_bytes ? 1 : 0;
  }
  [[nodiscard]] bool lies_in(const std::byte* begin, const std::byte* end) const noexcept {
    return text_.lies_in(begin, end);
  }

 private:
  field<moment> born_;
  byte_string text_;
};

static_assert(sizeof(versioned<std::string>) == 32);

/// Of a leaf.
template <class Key, class Value>
struct leaf_item {
  leaf_item(versions& in, view_of<Key> its_key, view_of<Value> its_value)
      : key(in, its_key), value(in, its_value) {}

  versioned<Key> key;
  versioned<Value> value;
};

struct page_header;

/// Of a page above: the keys below `child` are not less than `key`, but for the first child's.
template <class Key>
struct inner_item {
  inner_item(const versioned<Key>& its_key, page_header* below) : key(its_key), child(below) {}

  versioned<Key> key;
  pointer<page_header> child;
};

/// What all pages begin with.
struct page_header {
  page_header(moment at, std::uint64_t height) : born(at), level(height) {}

  field<moment> born;
  field<std::uint64_t> level;  ///< 0: a leaf
};

/// Which slots items are in, ascending by key, and behind them those that are free.
template <std::size_t Room>
struct slot_order {
  std::uint8_t count = 0;
  std::array<std::uint8_t, Room> slot{};

  static slot_order empty() noexcept {
    slot_order made;
    for (std::size_t i = 0; i < Room; ++i) made.slot[i] = static_cast<std::uint8_t>(i);
    return made;
  }
  /// Makes place `i` one of those in use.
  void insert(std::size_t i) noexcept {
    std::rotate(slot.begin() + i, slot.begin() + count, slot.begin() + count + 1);
    ++count;
  }
  void remove(std::size_t i) noexcept {
    std::rotate(slot.begin() + i, slot.begin() + i + 1, slot.begin() + count);
    --count;
  }
};

/// Up to `Room` items. Places are counted in the order of keys. On media: docs/formats/tx.md.
template <class Item, std::size_t Room>
class page : public page_header {
  static_assert(Room >= 4 && Room < 256);

 public:
  /// Empty. Throws out_of_space.
  [[nodiscard]] static page* make(const versions& in, std::uint64_t height) {
    // Not alloc(), which notes all lines: of slots only those are written that are used.
    return ::new (heap(running()).allocate(sizeof(page), alignof(page))) page(in.now(), height);
  }

  [[nodiscard]] std::size_t size() const noexcept { return order_->count; }
  [[nodiscard]] Item& item(std::size_t i) noexcept { return *std::launder(slot_at(i)); }
  [[nodiscard]] const Item& item(std::size_t i) const noexcept {
    return const_cast<page*>(this)->item(i);
  }

  /// Do its places name slots that it has? Of a page that may be damaged.
  [[nodiscard]] bool is_sound() const noexcept {
    const slot_order<Room>& order = order_;
    return order.count <= Room && std::all_of(order.slot.begin(), order.slot.begin() + order.count,
                                              [](std::uint8_t slot) { return slot < Room; });
  }

  /// A new item Item(arguments...) at place `i`.
  template <class... Arguments>
  void insert(std::size_t i, Arguments&&... arguments) {
    slot_order<Room> order = order_;
    order.insert(i);
    order_ = order;
    ::new (slot_at(i)) Item(std::forward<Arguments>(arguments)...);
  }
  template <class... Arguments>
  void append(Arguments&&... arguments) {
    insert(size(), std::forward<Arguments>(arguments)...);
  }
  /// The item is another page's now, or retired.
  void remove(std::size_t i) {
    slot_order<Room> order = order_;
    order.remove(i);
    order_ = order;
  }
  /// The items from place `i` on go to the end of `to`.
  void move_tail(std::size_t i, page& to) {
    for (std::size_t each = i; each < size(); ++each) to.append(std::as_const(item(each)));
    slot_order<Room> order = order_;
    order.count = static_cast<std::uint8_t>(i);
    order_ = order;
  }

 private:
  static constexpr std::size_t item_align =
      sizeof(Item) % base::cache_line_size == 0 ? base::cache_line_size : alignof(Item);

  page(moment at, std::uint64_t height)
      : page_header(at, height), order_(slot_order<Room>::empty()) {}

  [[nodiscard]] Item* slot_at(std::size_t i) noexcept {
    return reinterpret_cast<Item*>(room_ + order_->slot[i] * sizeof(Item));
  }

  field<slot_order<Room>> order_;
  alignas(item_align) std::byte room_[Room * sizeof(Item)];
};

static_assert(sizeof(page_header) == 16 && sizeof(slot_order<31>) == 32 &&
              sizeof(page<leaf_item<std::string, std::string>, 31>) == 2048);

/// A key or value as its caller gave it, while pages change in which it may lie.
template <class T>
class steady {
 public:
  explicit steady(view_of<T> given) : value_(given) {}
  operator view_of<T>() const noexcept { return value_; }

 private:
  T value_;
};
/// Of strings only those lie in a page that fit into it.
template <>
class steady<std::string> {
 public:
  explicit steady(std::string_view given) : view_(given) {
    if (given.size() > byte_string::inside_bytes) return;
    given.copy(inside_.data(), inside_.size());
    view_ = {inside_.data(), given.size()};
  }
  steady(const steady&) = delete;
  steady& operator=(const steady&) = delete;
  operator std::string_view() const noexcept { return view_; }

 private:
  std::array<char, byte_string::inside_bytes> inside_;
  std::string_view view_;
};

}  // namespace outlast::tx::seq::detail
