// Keys and values of which snapshots may see earlier ones.
#pragma once

#include <outlast/containers/detail/stored.hpp>
#include <outlast/containers/detail/versions.hpp>
#include <outlast/tx/field.hpp>
#include <outlast/tx/heap.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace outlast::containers::detail {

/// The bytes of a replica.
struct bytes_of_replica {
  const std::byte* begin;
  const std::byte* end;

  /// Returns true if the `size` bytes at `at` are in it.
  [[nodiscard]] bool hold(const void* at, std::size_t size) const noexcept {
    const auto* const first = static_cast<const std::byte*>(at);
    return first >= begin && first < end && size <= static_cast<std::size_t>(end - first);
  }
  template <class T>
  [[nodiscard]] bool hold(const void* at) const noexcept {
    return hold(at, sizeof(T)) && reinterpret_cast<std::uintptr_t>(at) % alignof(T) == 0;
  }
};

/// The bytes of the running transaction's replica that may contain objects.
[[nodiscard]] inline bytes_of_replica pages_of_replica() {
  const tx::transaction& in = tx::running();
  const auto& header = *reinterpret_cast<const tx::detail::heap_header*>(in.replica());
  const std::size_t first = std::min<std::size_t>(header.first_page, in.bytes());
  return {in.replica() + first, in.replica() + in.bytes()};
}

/// A key or value of which snapshots may see an earlier version. It is trivially copyable, and
/// inside its page, which is copied before it is changed. A copy is the same value, with the same
/// block.
template <class T>
class versioned {
 public:
  versioned() = default;
  versioned(versions&, view_of<T> value) : value_(value) {}

  [[nodiscard]] view_of<T> get() const noexcept { return value_.get(); }
  void set(versions&, view_of<T> value) { value_ = value; }
  /// Retires the block of the value, which is removed.
  void retire(versions&) const noexcept {}
  /// Empties the place. Another place has the block now.
  void clear() const noexcept {}
  [[nodiscard]] std::size_t blocks() const noexcept { return 0; }
  /// Returns true if the value, which may be damaged, is inside the replica.
  [[nodiscard]] bool lies_in(const bytes_of_replica&) const noexcept { return true; }

 private:
  tx::field<T> value_;
};

/// A byte string of any length. Up to 16 bytes are inside the object. Longer strings are in a block
/// with the version in which it was created, which is retired when the string is replaced. On
/// media: docs/formats/tx.md.
template <>
class versioned<std::string> {
 public:
  static constexpr std::size_t inside_bytes = 16;

  versioned() {}
  versioned(versions& in, std::string_view text) { put(in, text); }
  versioned(const versioned& same) { share(same); }
  versioned& operator=(const versioned& same) {
    share(same);
    return *this;
  }

  /// Returns the bytes. Throws corruption if the block is outside the replica.
  [[nodiscard]] std::string_view get() const {
    return {reinterpret_cast<const char*>(is_inside() ? inside_ : bytes_of(found())), size_};
  }
  /// Replaces the bytes by `to`, which may be a part of them.
  void set(versions& in, std::string_view to) {
    if (is_inside()) return put(in, to);
    block* const before = found();
    put(in, to);
    in.retire(before, before->born);
  }
  void retire(versions& in) {
    if (!is_inside()) in.retire(found(), found()->born);
    clear();
  }
  void clear() {
    if (size_ != 0) size_ = 0;
  }
  [[nodiscard]] std::size_t blocks() const noexcept { return is_inside() ? 0 : 1; }
  [[nodiscard]] bool lies_in(const bytes_of_replica& replica) const noexcept {
    if (is_inside()) return true;
    const block* const at = outside_;
    return replica.hold<block>(at) && replica.hold(bytes_of(at), size_);
  }

 private:
  struct block {
    tx::field<version> born;  // then its bytes
  };

  [[nodiscard]] static const std::byte* bytes_of(const block* of) noexcept {
    return reinterpret_cast<const std::byte*>(of + 1);
  }
  [[nodiscard]] bool is_inside() const noexcept { return size_ <= inside_bytes; }
  /// Returns the block.
  [[nodiscard]] block* found() const {
    block* const at = outside_;
    const std::size_t room = tx::detail::room_at(tx::running(), at);
    if (room < sizeof(block) || size_ > room - sizeof(block)) [[unlikely]]
      tx::detail::refuse_damage("a string lies elsewhere");
    return at;
  }

  /// Stores `text` without regard to the bytes before.
  void put(versions& in, std::string_view text) {
    if (text.size() <= inside_bytes) {
      std::array<char, inside_bytes> kept;
      text.copy(kept.data(), kept.size());
      tx::write_bytes(inside_, kept.data(), text.size());
    } else {
      std::byte* const made = tx::alloc_bytes(sizeof(block) + text.size());
      ::new (made) block{in.now()};
      tx::write_bytes(made + sizeof(block), text.data(), text.size());
      ::new (&outside_) tx::pointer<block>(reinterpret_cast<block*>(made));
    }
    size_ = text.size();
  }
  void share(const versioned& from) {
    if (from.is_inside()) {
      tx::write_bytes(inside_, from.inside_, from.size_);
    } else {
      ::new (&outside_) tx::pointer<block>(from.outside_);
    }
    size_ = from.size_.get();
  }

  tx::field<std::uint64_t> size_;
  union {
    std::byte inside_[inside_bytes];
    tx::pointer<block> outside_;
  };
};

static_assert(sizeof(versioned<std::string>) == 24);

/// A key or value of the caller, while pages change that may contain it.
template <class T>
class steady {
 public:
  explicit steady(view_of<T> given) : value_(given) {}
  operator view_of<T>() const noexcept { return value_; }

 private:
  T value_;
};
/// Only strings that fit into the object are inside a page.
template <>
class steady<std::string> {
 public:
  explicit steady(std::string_view given) : view_(given) {
    if (given.size() > inside_.size()) return;
    given.copy(inside_.data(), inside_.size());
    view_ = {inside_.data(), given.size()};
  }
  steady(const steady&) = delete;
  steady& operator=(const steady&) = delete;
  operator std::string_view() const noexcept { return view_; }

 private:
  std::array<char, versioned<std::string>::inside_bytes> inside_;
  std::string_view view_;
};

}  // namespace outlast::containers::detail
