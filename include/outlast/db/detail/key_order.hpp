// The order of a store's keys. The function exists in this process only; the store records its
// name.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace outlast::store_detail {

/// An order by unsigned bytes, or by a function of the program. Trivially copyable.
/// Requires: the argument of the function outlives the order.
/// Thread-safety: the same as that of the function.
class key_order {
 public:
  /// Returns a negative number, zero or a positive number if `a` is before, equal to or after `b`.
  using comparison = int (*)(const void* who, std::string_view a, std::string_view b);

  /// Creates the order by unsigned bytes.
  key_order() = default;
  key_order(const void* who, comparison compare) noexcept : who_(who), compare_(compare) {}

  [[nodiscard]] bool is_by_bytes() const noexcept { return compare_ == nullptr; }
  [[nodiscard]] bool operator()(std::string_view a, std::string_view b) const {
    return is_by_bytes() ? a < b : compare_(who_, a, b) < 0;
  }
  /// Returns a short key that is after `low` and not after `high`. Pages use it as a separator.
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
