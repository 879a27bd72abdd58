// rocksdb::Slice.
#pragma once

#include <outlast/db/slice.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace rocksdb {

/// Bytes, any of them, that somebody else keeps.
/// Thread-safety: const members may be called concurrently.
class Slice : public outlast::db::Slice {
 public:
  using outlast::db::Slice::Slice;
  Slice() = default;
  Slice(const outlast::db::Slice& same) : outlast::db::Slice(same) {}

  /// Forgets the last `n` bytes; `n` <= size().
  void remove_suffix(std::size_t n) { *this = Slice(data(), size() - n); }
  /// As they are, or two digits for each.
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
  [[nodiscard]] std::string_view ToStringView() const { return view(); }
  [[nodiscard]] bool ends_with(const Slice& x) const {
    return size() >= x.size() && view().substr(size() - x.size()) == x.view();
  }
  /// Of the first byte that differs from b's.
  [[nodiscard]] std::size_t difference_offset(const Slice& b) const {
    const std::size_t shorter = std::min(size(), b.size());
    return static_cast<std::size_t>(std::mismatch(data(), data() + shorter, b.data()).first -
                                    data());
  }
};

}  // namespace rocksdb
