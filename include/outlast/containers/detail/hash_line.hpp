// The lines of a hash map, with a few entries each, or pointers to them. Most keys are found, added
// and removed in one line.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/containers/detail/stored.hpp>
#include <outlast/tx/field.hpp>
#include <outlast/tx/heap.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace outlast::containers::detail {

/// A key and its value.
template <class Key, class Value>
struct hash_entry {
  hash_entry(view_of<Key> of, view_of<Value> held) : key(of), value(held) {}

  stored<Key> key;
  stored<Value> value;
};

/// An entry in its line: trivially copyable, and small.
template <class Entry>
class slot_of_entry {
 public:
  template <class Key, class Value>
  slot_of_entry(const Key& key, const Value& value) : entry_(key, value) {}
  explicit slot_of_entry(const slot_of_entry& from)
      : entry_(from.entry_.key.get(), from.entry_.value.get()) {}

  [[nodiscard]] Entry& entry() noexcept { return entry_; }
  void release() const noexcept {}

 private:
  Entry entry_;
};

/// An entry in a block of its own, which never moves.
template <class Entry>
class slot_of_pointer {
 public:
  template <class Key, class Value>
  slot_of_pointer(const Key& key, const Value& value) : to_(tx::alloc<Entry>(key, value)) {}
  explicit slot_of_pointer(const slot_of_pointer& from) : to_(from.to_) {}

  [[nodiscard]] Entry& entry() noexcept { return *to_; }
  void release() {
    to_->key.release();
    to_->value.release();
    tx::free(to_.get());
  }

 private:
  tx::pointer<Entry> to_;
};

/// Entries of up to three trivially copyable words are inside their line.
template <class Key, class Value>
using hash_slot =
    std::conditional_t<std::is_trivially_copyable_v<Key> && std::is_trivially_copyable_v<Value> &&
                           sizeof(hash_entry<Key, Value>) <= 24,
                       slot_of_entry<hash_entry<Key, Value>>,
                       slot_of_pointer<hash_entry<Key, Value>>>;

/// Part of a hash, never 0. Most other keys have another tag, so that they need not be read.
using hash_tag = std::uint8_t;

/// A line with places for some entries, and a link to the next line of its chain.
/// On media: docs/formats/tx.md.
template <class Slot>
class alignas(base::cache_line_size) hash_line {
  static constexpr std::size_t room_bytes = 48;
  using tags = std::array<hash_tag, 8>;

 public:
  static constexpr std::size_t places = std::min<std::size_t>(8, room_bytes / sizeof(Slot));

  /// An empty line, the last of its chain.
  hash_line() {}

  [[nodiscard]] hash_line* next() const noexcept { return next_; }
  void set_next(hash_line* to) { next_ = to; }

  /// Returns the tag of place `i`; 0 if the place is free.
  [[nodiscard]] hash_tag tag(std::size_t i) const noexcept { return tags_.get()[i]; }
  [[nodiscard]] Slot& slot(std::size_t i) noexcept { return *std::launder(address_of(i)); }
  [[nodiscard]] std::size_t count() const noexcept {
    return places - static_cast<std::size_t>(
                        std::count(tags_->begin(), tags_->begin() + places, hash_tag{0}));
  }
  /// Returns a free place; `places` if there is none.
  [[nodiscard]] std::size_t hole() const noexcept {
    return static_cast<std::size_t>(std::find(tags_->begin(), tags_->begin() + places, 0) -
                                    tags_->begin());
  }

  /// Constructs a slot from `arguments` in the free place `i`.
  template <class... Arguments>
  void fill(std::size_t i, hash_tag tag, const Arguments&... arguments) {
    ::new (address_of(i)) Slot(arguments...);
    set_tag(i, tag);
  }
  /// Frees place `i`. Requires: its blocks are released, or belong to another slot.
  void clear(std::size_t i) { set_tag(i, 0); }

 private:
  [[nodiscard]] Slot* address_of(std::size_t i) noexcept {
    return reinterpret_cast<Slot*>(room_ + i * sizeof(Slot));
  }
  void set_tag(std::size_t i, hash_tag tag) {
    tags changed = tags_;
    changed[i] = tag;
    tags_ = changed;
  }

  tx::pointer<hash_line> next_;
  tx::field<tags> tags_;
  alignas(16) std::byte room_[room_bytes];
};

}  // namespace outlast::containers::detail
