// The shadow copies of pools in simulated memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace outlast::verify {

/// Volatile memory next to the simulated one, with an area for each simulated process. A process
/// that lost its power is kept with its area while the next one opens the pool, and continues
/// afterwards. An area is initially filled with bytes that no structure expects. Thread-safety:
/// none.
class shadows {
 public:
  /// Returns the distance from the memory to its shadow copy, for the latest opener.
  [[nodiscard]] std::uintptr_t distance() const noexcept { return distances_.back(); }
  /// Returns a hash of the content of the latest opener's area.
  [[nodiscard]] std::uint64_t hash() const;
  void open(std::uintptr_t base, std::size_t bytes);
  /// Removes the area of the latest opener, which used the first `used` bytes.
  void close(std::size_t used);

 private:
  static constexpr std::byte poison{0xDB};
  struct area {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
  };

  std::vector<area> areas_;
  std::vector<std::uintptr_t> distances_{0};
};

}  // namespace outlast::verify
