// Regions: large, sparse parts of a pool whose layout their owner defines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace outlast {

/// Purpose of a region. The values are part of the format.
enum class region_kind : std::uint32_t {
  shadow_copy = 1,  ///< persistent, with a volatile shadow copy at a fixed distance
  replicas = 2,     ///< several persistent copies at a fixed stride
  log = 3,          ///< written in sequence, truncated after a checkpoint
  checkpoint = 4,   ///< a snapshot; the changes after it are in a log
};

[[nodiscard]] std::string_view name_of(region_kind kind) noexcept;

/// One region of an open pool. Addresses are valid until the pool is closed.
struct region_info {
  std::string name;
  region_kind kind;
  std::uint32_t index;
  unsigned replicas;
  std::size_t bytes;         ///< size of one replica
  std::size_t stride_bytes;  ///< distance from one replica to the next
  std::byte* address;        ///< address of the first replica
  std::byte* shadow_copy;    ///< zero-filled at every open; nullptr for the other kinds

  [[nodiscard]] std::byte* replica(unsigned i) const noexcept { return address + i * stride_bytes; }
};

}  // namespace outlast
