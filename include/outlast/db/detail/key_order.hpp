// The order of a store's keys, which only this process knows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace outlast::store_detail {

/// By unsigned bytes, or as somebody else says, who outlives it.
/// Thread-safety: as that one; trivially copyable.
class key_order {
 public:
  /// Below, equal to or above 0.
  using comparison = int (*)(const void* who, std::string_view a, std::string_view b);

  /// By unsigned bytes.
  key_order() = default;
  key_order(const void* who, comparison compare) noexcept : who_(who), compare_(compare) {}

  [[nodiscard]] bool is_by_bytes() const noexcept { return compare_ == nullptr; }
  [[nodiscard]] bool operator()(std::string_view a, std::string_view b) const {
    return is_by_bytes() ? a < b : compare_(who_, a, b) < 0;
  }
  /// For separators of pages: a key behind `low` and not behind `high`, as short as is easily had.
  [[nodiscard]] std::string_view between(std::string_view low, std::string_view high) const {
    if (!is_by_bytes()) return high;
    const std::size_t shorter = std::min(low.size(), high.size());
    const auto differ = std::mismatch(high.begin(), high.begin() + shorter, low.begin());
    return high.substr(0, static_cast<std::size_t>(differ.first - high.begin()) + 1);
  }

 private:
  const void* who_ = nullptr;
  comparison compare_ = nullptr;
};

}  // namespace outlast::store_detail
