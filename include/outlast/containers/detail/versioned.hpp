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

/// Bytes of a replica.
struct bytes_of_replica {
  const std::byte* begin;
  const std::byte* end;

  /// Do `size` bytes at `at` lie in it?
  [[nodiscard]] bool hold(const void* at, std::size_t size) const noexcept {
    const auto* const first = static_cast<const std::byte*>(at);
    return first >= begin && first < end && size <= static_cast<std::size_t>(end - first);
  }
  template <class T>
  [[nodiscard]] bool hold(const void* at) const noexcept {
    return hold(at, sizeof(T)) && reinterpret_cast<std::uintptr_t>(at) % alignof(T) == 0;
  }
};

/// Those of the running transaction's where objects may lie.
[[nodiscard]] inline bytes_of_replica pages_of_replica() {
  const tx::transaction& in = tx::running();
  const auto& header = *reinterpret_cast<const tx::detail::heap_header*>(in.replica());
  const std::size_t first = std::min<std::size_t>(header.first_page, in.bytes());
  return {in.replica() + first, in.replica() + in.bytes()};
}

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
  /// Does it lie in the replica, though it may be damaged?
  [[nodiscard]] bool lies_in(const bytes_of_replica&) const noexcept { return true; }

 private:
  tx::field<T> value_;
};

/// Bytes of any number, up to 16 of them inside. Others are in a block that says when it was born,
/// and that is retired when other bytes replace them. On media: docs/formats/tx.md.
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

  /// Throws corruption where its block does not lie in the replica.
  [[nodiscard]] std::string_view get() const {
    return {reinterpret_cast<const char*>(is_inside() ? inside_ : bytes_of(found())), size_};
  }
  /// `to` may be a part of it.
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
    tx::field<moment> born;  // its bytes are behind it
  };

  [[nodiscard]] static const std::byte* bytes_of(const block* of) noexcept {
    return reinterpret_cast<const std::byte*>(of + 1);
  }
  [[nodiscard]] bool is_inside() const noexcept { return size_ <= inside_bytes; }
  /// Its block.
  [[nodiscard]] block* found() const {
    block* const at = outside_;
    const std::size_t room = tx::detail::room_at(tx::running(), at);
    if (room < sizeof(block) || size_ > room - sizeof(block)) [[unlikely]]
      tx::detail::refuse_damage("a string lies elsewhere");
    return at;
  }

  /// Forgets what was here.
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
