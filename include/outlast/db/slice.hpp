// Bytes that lie elsewhere, as LevelDB's interface hands them around.
#pragma once

#include "namespace.hpp"

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace OUTLAST_DB_NAMESPACE {

/// A range of bytes, any of them, that somebody else keeps: valid as long as these are.
///
/// Layout and names are those of LevelDB 1.23.
/// Thread-safety: const members may be called concurrently.
class Slice {
 public:
  /// Empty.
  Slice() = default;
  Slice(const char* data, std::size_t size) : data_(data), size_(size) {}
  Slice(const std::string& text) : data_(text.data()), size_(text.size()) {}
  /// Up to the first zero byte.
  Slice(const char* text) : data_(text), size_(std::strlen(text)) {}
  /// Ours; LevelDB has none.
  Slice(std::string_view text) : data_(text.data()), size_(text.size()) {}

  [[nodiscard]] const char* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// `n` < size().
  char operator[](std::size_t n) const { return data_[n]; }
  void clear() { *this = Slice(); }
  /// Forgets the first `n` bytes; `n` <= size().
  void remove_prefix(std::size_t n) {
    data_ += n;
    size_ -= n;
  }
  [[nodiscard]] std::string ToString() const { return {data_, size_}; }
  /// Ours; LevelDB has none.
  [[nodiscard]] std::string_view view() const { return {data_, size_}; }

  /// Below, equal to or above 0 as this is before, equal to or behind `b`, by unsigned bytes.
  [[nodiscard]] int compare(const Slice& b) const { return view().compare(b.view()); }
  [[nodiscard]] bool starts_with(const Slice& x) const {
    return view().substr(0, x.size()) == x.view();
  }

 private:
  const char* data_ = "";
  std::size_t size_ = 0;
};

inline bool operator==(const Slice& x, const Slice& y) { return x.view() == y.view(); }
inline bool operator!=(const Slice& x, const Slice& y) { return !(x == y); }

}  // namespace OUTLAST_DB_NAMESPACE
