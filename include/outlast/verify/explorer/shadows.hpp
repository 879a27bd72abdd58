// The second replicas of pools in simulated memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace outlast::verify {

/// Volatile memory beside the simulated one, an area for each process that stands: one that lost
/// its power is kept, with its area, while the next one opens the pool, and goes on afterwards.
/// What an area holds at first is what no structure expects there.
/// Thread-safety: none.
class shadows {
 public:
  /// From the memory at `base` to its twin, for the latest opener.
  [[nodiscard]] std::uintptr_t distance() const noexcept { return distances_.back(); }
  /// Of what the latest opener's area holds.
  [[nodiscard]] std::uint64_t hash() const;
  void open(std::uintptr_t base, std::size_t bytes);
  /// The latest opener is gone. It used the first `used` bytes.
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
