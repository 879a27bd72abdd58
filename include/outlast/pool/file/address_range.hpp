// Reserved ranges of addresses, which are extended in their place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace outlast::pool_detail {

/// Reserves addresses. They are not accessible, and the child of a fork does not have them. Returns
/// nullptr if a part of the range is in use, or if the process may not have so many addresses.
[[nodiscard]] std::byte* reserve_range(std::uintptr_t address, std::uint64_t bytes) noexcept;

/// Lengthens a reserved range that ends at `end` by `wanted` bytes. If that is not possible, by
/// fewer, but at least `least`; both are rounded up to 2 MiB. If RLIMIT_AS is set, takes at most
/// half of what it leaves, unless `least` is more. Returns the number of bytes; 0 if not even
/// `least` bytes are possible.
[[nodiscard]] std::uint64_t extend_range(const std::byte* end, std::uint64_t least,
                                         std::uint64_t wanted) noexcept;

/// The reason why a range cannot be extended.
struct range_obstacle {
  enum class kind {
    limit,    ///< RLIMIT_AS
    mapping,  ///< another mapping
    end,      ///< the last address that the kernel gives to processes
  };
  kind what;
  std::uint64_t value;  ///< the limit in bytes, or the address at which the obstacle begins

  /// Returns a clause that names the obstacle and its value.
  [[nodiscard]] std::string clause() const;
};

/// Returns the first obstacle to `bytes` more addresses after `end`.
[[nodiscard]] range_obstacle obstacle_after(const std::byte* end, std::uint64_t bytes);

}  // namespace outlast::pool_detail
