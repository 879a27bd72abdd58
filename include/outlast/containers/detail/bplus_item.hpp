// The items in the slots of a B+-tree's pages.
#pragma once

#include <outlast/alloc/size_classes.hpp>
#include <outlast/base/error.hpp>
#include <outlast/containers/detail/stored.hpp>
#include <outlast/containers/detail/versioned.hpp>
#include <outlast/containers/detail/versions.hpp>
#include <outlast/hw/flush.hpp>
#include <outlast/tx/field.hpp>
#include <outlast/tx/heap.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <new>
#include <string>
#include <string_view>

namespace outlast::containers::detail {

/// The item of a leaf: a key and its value. A copy is the same item, with the same blocks.
template <class Key, class Value>
class leaf_item {
 public:
  leaf_item(versions& in, view_of<Key> its_key, view_of<Value> its_value)
      : key_(in, its_key), value_(in, its_value) {}

  [[nodiscard]] view_of<Key> key() const { return key_.get(); }
  [[nodiscard]] view_of<Value> value() const { return value_.get(); }
  void set_value(versions& in, view_of<Value> to) { value_.set(in, to); }
  /// Retires the blocks of the item, which is removed.
  void retire(versions& in) {
    key_.retire(in);
    value_.retire(in);
  }
  [[nodiscard]] std::size_t blocks() const noexcept { return key_.blocks() + value_.blocks(); }
  /// Returns true if the item, which may be damaged, is inside the replica.
  [[nodiscard]] bool lies_in(const bytes_of_replica& replica) const noexcept {
    return key_.lies_in(replica) && value_.lies_in(replica);
  }
  /// Prefetches the item.
  void expect() const noexcept {}

 private:
  versioned<Key> key_;
  versioned<Value> value_;
};

/// The item of byte strings. One block contains the key and then the value, so that a lookup that
/// compares the key has the value in the cache. On media: docs/formats/tx.md.
template <>
class leaf_item<std::string, std::string> {
 public:
  /// Throws out_of_space, error{bad_argument} for strings of 4 GiB or more.
  leaf_item(versions& in, std::string_view its_key, std::string_view its_value)
      : record_(make(in, its_key, its_value)) {}

  // These, and members that change the item, throw corruption if the block is outside the replica.
  [[nodiscard]] std::string_view key() const {
    const record* const at = found();
    return {bytes_of(at), at->sizes->key};
  }
  [[nodiscard]] std::string_view value() const {
    const record* const at = found();
    return {bytes_of(at) + at->sizes->key, at->sizes->value};
  }
  /// Sets the value, in place if no snapshot sees the record and its block has room.
  void set_value(versions& in, std::string_view to) {
    record* const before = found();
    if (!in.is_seen(before->born) && has_room(*before, to)) {
      if (to.size() != before->sizes->value) before->sizes = sizes_of(key(), to);
      tx::write_bytes(const_cast<char*>(bytes_of(before)) + before->sizes->key, to.data(),
                      to.size());
    } else {
      record_ = make(in, key(), to);
      in.retire(before, before->born);
    }
  }
  void retire(versions& in) {
    record* const at = found();
    in.retire(at, at->born);
  }
  [[nodiscard]] std::size_t blocks() const noexcept { return 1; }
  [[nodiscard]] bool lies_in(const bytes_of_replica& replica) const noexcept {
    const record* const at = record_;
    return replica.hold<record>(at) &&
           replica.hold(bytes_of(at), std::size_t{at->sizes->key} + at->sizes->value);
  }
  void expect() const noexcept {
    // The link may be damaged: it is an address, and must not be dereferenced yet.
    const auto at = reinterpret_cast<std::uintptr_t>(record_.get());
    for (std::uintptr_t line = 0; line < 3; ++line) {
      hw::prefetch(reinterpret_cast<const void*>(at + line * base::cache_line_size));
    }
  }

 private:
  struct string_sizes {
    std::uint32_t key;
    std::uint32_t value;
  };
  struct record {
    tx::field<version> born;
    tx::field<string_sizes> sizes;  // then the bytes of the key, and those of the value
  };
  static_assert(sizeof(record) == 16);

  [[nodiscard]] static std::size_t size_of(const string_sizes& bytes) noexcept {
    return sizeof(record) + bytes.key + bytes.value;
  }
  /// Returns the block.
  [[nodiscard]] record* found() const {
    record* const at = record_;
    const std::size_t room = tx::detail::room_at(tx::running(), at);
    if (room < sizeof(record) || room < size_of(at->sizes)) [[unlikely]]
      tx::detail::refuse_damage("a key and its value lie elsewhere");
    return at;
  }
  [[nodiscard]] static const char* bytes_of(const record* of) noexcept {
    return reinterpret_cast<const char*>(of + 1);
  }
  [[nodiscard]] static string_sizes sizes_of(std::string_view key, std::string_view value) {
    constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
    if (key.size() > most || value.size() > most) {
      throw error(errc::bad_argument, "", "a key or value of a tree has less than 4 GiB");
    }
    return {static_cast<std::uint32_t>(key.size()), static_cast<std::uint32_t>(value.size())};
  }
  [[nodiscard]] static record* make(const versions& in, std::string_view key,
                                    std::string_view value) {
    const string_sizes sizes = sizes_of(key, value);
    std::byte* const block = tx::alloc_bytes(sizeof(record) + key.size() + value.size());
    ::new (block) record{in.now(), sizes};
    std::byte* const bytes = block + sizeof(record);
    if (key.data() + key.size() == value.data()) {
      tx::write_bytes(bytes, key.data(), key.size() + value.size());
    } else {
      tx::write_bytes(bytes, key.data(), key.size());
      tx::write_bytes(bytes + key.size(), value.data(), value.size());
    }
    return reinterpret_cast<record*>(block);
  }
  /// Returns true if a record with this key and the value `to` has a block of the same size, and if
  /// `to` is not a part of the bytes that would be overwritten.
  [[nodiscard]] static bool has_room(const record& of, std::string_view to) {
    const char* const bytes = bytes_of(&of);
    const string_sizes& now = of.sizes;
    const std::less<> before;
    if (!before(to.data(), bytes) && before(to.data(), bytes + now.key + now.value)) return false;
    if (to.size() == now.value) return true;
    const std::size_t besides = sizeof(record) + now.key;
    const std::size_t larger = besides + std::max<std::size_t>(to.size(), now.value);
    return larger <= max_in_place && larger <= tx::detail::room_at(tx::running(), &of) &&
           alloc::class_of(besides + to.size()) == alloc::class_of(besides + now.value);
  }

  /// Larger blocks have no size class in the smallest pages.
  static constexpr std::size_t max_in_place = 4 * tx::heap::min_page_bytes;

  tx::pointer<record> record_;
};
static_assert(sizeof(leaf_item<std::string, std::string>) == 8);

struct page_header;

/// The item of an inner page: keys below `child` are not less than `key`, except in the first
/// child.
template <class Key>
class inner_item {
 public:
  inner_item(const versioned<Key>& its_key, page_header* below)
      : child(below), separator(its_key) {}

  [[nodiscard]] view_of<Key> key() const { return separator.get(); }

  tx::pointer<page_header> child;
  versioned<Key> separator;
};
static_assert(sizeof(inner_item<std::string>) == 32);

}  // namespace outlast::containers::detail
