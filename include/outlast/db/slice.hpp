// References to byte strings, as LevelDB's interface passes them.
#pragma once

#include "namespace.hpp"

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace OUTLAST_DB_NAMESPACE {

/// A reference to a sequence of any bytes. The slice does not own the bytes and is valid only while
/// they exist.
///
/// Layout and names are those of LevelDB 1.23.
/// Thread-safety: const members may be called concurrently.
class Slice {
 public:
  /// Creates an empty slice.
  Slice() = default;
  Slice(const char* data, std::size_t size) : data_(data), size_(size) {}
  Slice(const std::string& text) : data_(text.data()), size_(text.size()) {}
  /// References the characters before the first zero byte.
  Slice(const char* text) : data_(text), size_(std::strlen(text)) {}
  /// References the characters of `text`. LevelDB does not have this constructor.
  Slice(std::string_view text) : data_(text.data()), size_(text.size()) {}

  [[nodiscard]] const char* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// Returns the byte at index `n`. Requires: `n` < size().
  char operator[](std::size_t n) const { return data_[n]; }
  void clear() { *this = Slice(); }
  /// Drops the first `n` bytes from the slice. Requires: `n` <= size().
  void remove_prefix(std::size_t n) {
    data_ += n;
    size_ -= n;
  }
  [[nodiscard]] std::string ToString() const { return {data_, size_}; }
  /// Returns the bytes as a string view. LevelDB does not have this function.
  [[nodiscard]] std::string_view view() const { return {data_, size_}; }

  /// Returns a negative number, zero or a positive number if the slice is before, equal to or after
  /// `b` in the order of unsigned bytes.
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
