// Bytes of any number as a member of an object in transactions.
#pragma once

#include <outlast/containers/detail/stored_names.hpp>
#include <outlast/tx/field.hpp>
#include <outlast/tx/heap.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace outlast::containers {

/// A byte string of any length with any bytes. Up to 16 of them lie inside it, more in a block of
/// their own. They are stored by the transaction like every field; a store outside of an update
/// throws error{refused}. On media: docs/formats/tx.md.
///
/// No destructor runs for objects in a replica: who frees the owner calls release() before.
/// A view is valid inside of the transaction, until the string is changed or released.
///
/// Thread-safety: the engine's; user code needs none.
class byte_string {
 public:
  static constexpr std::size_t inside_bytes = 16;

  /// Empty.
  byte_string() {}
  /// As assign().
  explicit byte_string(std::string_view bytes) { assign(bytes); }
  byte_string(const byte_string&) = delete;
  byte_string& operator=(const byte_string&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Throws corruption where its block does not lie in the replica.
  [[nodiscard]] std::string_view view() const {
    return {reinterpret_cast<const char*>(data()), size_};
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data(), size_}; }

  /// Makes it hold `bytes`, which may be a part of it. As many as before are written in place,
  /// others get a block of their length, and the old one is given back. Throws out_of_space, before
  /// anything has changed.
  void assign(std::string_view bytes) {
    if (bytes.size() == size_) {
      if (bytes.data() != view().data()) tx::write_bytes(data(), bytes.data(), bytes.size());
    } else if (bytes.size() <= inside_bytes) {
      std::array<char, inside_bytes> kept;
      bytes.copy(kept.data(), kept.size());
      release();
      tx::write_bytes(inside_, kept.data(), bytes.size());
      size_ = bytes.size();
    } else {
      std::byte* const block = tx::alloc_bytes(bytes.size());
      tx::write_bytes(block, bytes.data(), bytes.size());
      release();
      ::new (&outside_) tx::pointer<std::byte>(block);
      size_ = bytes.size();
    }
  }

  /// Becomes what `from` is, without a copy of its block; `from` is empty then. What was here is
  /// given back.
  void take(byte_string& from) {
    if (from.size_ <= inside_bytes) {
      assign(from.view());
    } else {
      release();
      ::new (&outside_) tx::pointer<std::byte>(from.outside_);
      size_ = from.size_.get();
    }
    from.size_ = 0;
  }

  /// Gives back its block. It is empty then.
  void release() {
    if (size_ > inside_bytes) tx::free_found(outside_.get());
    if (size_ != 0) size_ = 0;
  }

 private:
  [[nodiscard]] const std::byte* data() const {
    if (size_ <= inside_bytes) return inside_;
    const std::byte* const block = outside_;
    if (tx::detail::room_at(tx::running(), block) < size_) [[unlikely]]
      tx::detail::refuse_damage("a string lies elsewhere");
    return block;
  }
  [[nodiscard]] std::byte* data() { return const_cast<std::byte*>(std::as_const(*this).data()); }

  tx::field<std::uint64_t> size_;
  union {
    std::byte inside_[inside_bytes];
    tx::pointer<std::byte> outside_;
  };
};
static_assert(sizeof(byte_string) == 24 && std::is_trivially_destructible_v<byte_string>);

}  // namespace outlast::containers
