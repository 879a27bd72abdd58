// A copy of a pool's file, which is made while the pool's log writes to the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace outlast::pool_detail {

/// A part of a pool's file in memory. Stores to it reach the file.
struct file_mapping {
  std::byte* begin;
  std::uint64_t offset;  ///< of its first byte in the file
  std::uint64_t bytes;
};

/// Preserves the state that the pool's file has at the return of protect().
class file_watch {
 public:
  /// Called once, while no other thread writes to the file, except through `mappings`. Throws
  /// error{no_space, refused}.
  virtual void protect(std::span<const file_mapping> mappings) = 0;
  /// Called before each later write of these bytes of the file. Waits for their copy.
  virtual void before_write(std::uint64_t offset, std::uint64_t bytes) noexcept = 0;

 protected:
  file_watch() = default;
  ~file_watch() = default;
  file_watch(const file_watch&) = default;
  file_watch& operator=(const file_watch&) = default;
};

}  // namespace outlast::pool_detail
