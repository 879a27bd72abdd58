// A byte string as a member of an object in transactions.
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

/// A byte string of any length with any bytes. Up to 16 bytes are inside the object, longer strings
/// are in a block. Stores are part of the running transaction, and throw error{refused} outside an
/// update. On media: docs/formats/tx.md.
///
/// No destructor runs for objects in a replica: call release() before the owner is freed. A view is
/// valid inside the transaction, until the string is changed or released.
///
/// Thread-safety: the engine's; user code needs none.
class byte_string {
 public:
  static constexpr std::size_t inside_bytes = 16;

  /// An empty string.
  byte_string() {}
  /// A string with these bytes. See assign().
  explicit byte_string(std::string_view bytes) { assign(bytes); }
  byte_string(const byte_string&) = delete;
  byte_string& operator=(const byte_string&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Returns the bytes. Throws corruption if the block is outside the replica.
  [[nodiscard]] std::string_view view() const {
    return {reinterpret_cast<const char*>(data()), size_};
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data(), size_}; }

  /// Replaces the content by `bytes`, which may be a part of the string. Bytes of the same length
  /// are written in place. Otherwise allocates a block of their length, and frees the old one.
  /// Throws out_of_space without effect.
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

  /// Moves the content of `from` here, without a copy of its block, and frees the old block. `from`
  /// is empty then.
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

  /// Frees the block. The string is empty then.
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
