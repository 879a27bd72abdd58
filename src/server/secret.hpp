// Passwords of clients.
#pragma once

#include <cstddef>
#include <string_view>

namespace outlast::server {

/// Returns whether two passwords are equal. Compares in a time that does not depend on the place of
/// the first difference.
[[nodiscard]] inline bool is_same_secret(std::string_view one, std::string_view other) noexcept {
  if (one.size() != other.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    difference |= static_cast<unsigned>(static_cast<unsigned char>(one[i]) ^
                                        static_cast<unsigned char>(other[i]));
  }
  return difference == 0;
}

}  // namespace outlast::server
