// rocksdb::Slice, PinnableSlice and SliceParts.
#pragma once

#include "../../db/slice.hpp"
#include "cleanable.h"
#include "rocksdb_namespace.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace ROCKSDB_NAMESPACE {

struct SliceParts;

/// A reference to bytes that another object owns. Thread-safety: const members may be called
/// concurrently.
class Slice : public outlast::db::Slice {
 public:
  Slice() = default;
  Slice(const char* data, std::size_t size) : outlast::db::Slice(data, size) {}
  Slice(const std::string& text) : outlast::db::Slice(text) {}
  Slice(std::string_view text) : outlast::db::Slice(text) {}
  /// Refers to the bytes before the first zero byte. A null pointer gives an empty slice.
  Slice(const char* text) : outlast::db::Slice(text == nullptr ? "" : text) {}
  Slice(const outlast::db::Slice& same) : outlast::db::Slice(same) {}
  /// Concatenates the parts in `buf`. Requires: `buf` outlives the slice.
  Slice(const SliceParts& parts, std::string* buf);

  /// Removes the last `n` bytes. Requires: `n` <= size().
  void remove_suffix(std::size_t n) { *this = Slice(data(), size() - n); }
  /// Returns the bytes, or two hexadecimal digits for each.
  [[nodiscard]] std::string ToString(bool hex = false) const {
    if (!hex) return outlast::db::Slice::ToString();
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string text;
    for (const char byte : view()) {
      const auto number = static_cast<unsigned char>(byte);
      text.push_back(digits[number >> 4]);
      text.push_back(digits[number & 15]);
    }
    return text;
  }
  /// Decodes two hexadecimal digits for each byte. Returns false if other characters are found.
  bool DecodeHex(std::string* result) const {
    if (size() % 2 != 0 || result == nullptr) return false;
    result->clear();
    for (std::size_t i = 0; i < size(); i += 2) {
      const int high = digit((*this)[i]);
      const int low = digit((*this)[i + 1]);
      if (high < 0 || low < 0) return false;
      result->push_back(static_cast<char>(high * 16 + low));
    }
    return true;
  }
  [[nodiscard]] std::string_view ToStringView() const { return view(); }
  [[nodiscard]] bool ends_with(const Slice& x) const {
    return size() >= x.size() && view().substr(size() - x.size()) == x.view();
  }
  /// Returns the offset of the first byte that differs from that of `b`.
  [[nodiscard]] std::size_t difference_offset(const Slice& b) const {
    const std::size_t shorter = std::min(size(), b.size());
    return static_cast<std::size_t>(std::mismatch(data(), data() + shorter, b.data()).first -
                                    data());
  }

 private:
  static int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  }
};

/// Several slices that form one key or one value.
struct SliceParts {
  SliceParts() = default;
  SliceParts(const Slice* all, int number) : parts(all), num_parts(number) {}

  const Slice* parts = nullptr;
  int num_parts = 0;
};

inline Slice::Slice(const SliceParts& parts, std::string* buf) {
  buf->clear();
  for (int i = 0; i < parts.num_parts; ++i) buf->append(parts.parts[i].view());
  *this = Slice(*buf);
}

/// A slice that owns its bytes, or calls functions when it no longer needs them. The store copies
/// each value that it reads, so no data of the store are pinned. Thread-safety: const members may
/// be called concurrently, others by one thread at a time.
class PinnableSlice : public Slice, public Cleanable {
 public:
  PinnableSlice() = default;
  /// Stores its bytes in *buf. Requires: *buf outlives the slice.
  explicit PinnableSlice(std::string* buf) : buf_(buf) {}
  PinnableSlice(PinnableSlice&& from) noexcept { take(from); }
  PinnableSlice& operator=(PinnableSlice&& from) noexcept {
    if (this != &from) {
      Cleanable::Reset();
      take(from);
    }
    return *this;
  }

  /// Refers to the bytes of `s`, which must exist until f(arg1, arg2) is called.
  void PinSlice(const Slice& s, CleanupFunction f, void* arg1, void* arg2) {
    pinned_ = true;
    set(s);
    RegisterCleanup(f, arg1, arg2);
  }
  /// Refers to the bytes of `s`, which must exist until the functions of `cleanable` are called.
  void PinSlice(const Slice& s, Cleanable* cleanable) {
    pinned_ = true;
    set(s);
    if (cleanable != nullptr) cleanable->DelegateCleanupsTo(this);
  }
  /// Copies the bytes of `slice`.
  void PinSelf(const Slice& slice) {
    buf_->assign(slice.data(), slice.size());
    set(*buf_);
  }
  /// Refers to the bytes in *GetSelf().
  void PinSelf() { set(*buf_); }
  void remove_prefix(std::size_t n) {
    if (pinned_) return Slice::remove_prefix(n);
    buf_->erase(0, n);
    PinSelf();
  }
  void remove_suffix(std::size_t n) {
    if (pinned_) return Slice::remove_suffix(n);
    buf_->erase(size() - n, n);
    PinSelf();
  }
  /// Makes the slice empty.
  void Reset() {
    Cleanable::Reset();
    pinned_ = false;
    set(Slice());
  }
  std::string* GetSelf() { return buf_; }
  [[nodiscard]] bool IsPinned() const { return pinned_; }

 private:
  void set(const Slice& bytes) { static_cast<Slice&>(*this) = bytes; }
  void take(PinnableSlice& from) noexcept {
    pinned_ = from.pinned_;
    const bool own = from.buf_ == &from.self_;
    const Slice bytes = from;
    self_ = std::move(from.self_);  // a short string moves its bytes
    buf_ = own ? &self_ : from.buf_;
    set(pinned_ ? bytes : Slice(buf_->data(), bytes.size()));
    from.DelegateCleanupsTo(this);
    from.self_.clear();
    from.buf_ = &from.self_;
    from.Reset();
  }

  std::string self_;
  std::string* buf_ = &self_;
  bool pinned_ = false;
};

}  // namespace ROCKSDB_NAMESPACE
