// Regions: large, sparse parts of a pool that their owner lays out itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace outlast {

/// What a region is for. The values are part of the format.
enum class region_kind : std::uint32_t {
  volatile_twin = 1,  ///< persistent, with a twin in ordinary memory at a fixed distance
  replicas = 2,       ///< several persistent copies at a fixed stride
  log = 3,            ///< written in sequence, truncated after a checkpoint
  checkpoint = 4,     ///< a snapshot that a log continues
};

[[nodiscard]] std::string_view name_of(region_kind kind) noexcept;

/// One region of an open pool. Addresses are valid until the pool is closed.
struct region_info {
  std::string name;
  region_kind kind;
  std::uint16_t index;
  unsigned replicas;
  std::size_t bytes;         ///< of one replica
  std::size_t stride_bytes;  ///< from one replica to the next
  std::byte* address;        ///< of the first replica
  std::byte* volatile_twin;  ///< zero-filled at every open; null for the other kinds

  [[nodiscard]] std::byte* replica(unsigned i) const noexcept { return address + i * stride_bytes; }
};

}  // namespace outlast
