// The volatile table of flit-counters that the hashed tags share.
#pragma once

#include <outlast/base/cache_line.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace outlast::durable {

/// A flit-counter counts the p-stores under way at the places that map to it. 16 bits: a thread
/// raises at most one counter at a time and thread slots stop short of 2^16, so it cannot wrap.
/// Accessed as a std::atomic, through the domain.
using flit_counter = std::uint16_t;

inline constexpr std::size_t smallest_tag_table_bytes = std::size_t{4} << 10;
inline constexpr std::size_t largest_tag_table_bytes = std::size_t{64} << 20;

namespace detail {
/// One table for all pools, types and sizes: a smaller table is its beginning. Sharing a counter is
/// always safe and costs at most a flush too many. [Wei22, 5.1] Zero pages until they are used.
extern flit_counter tag_table[largest_tag_table_bytes / sizeof(flit_counter)];
}  // namespace detail

/// The counters of a table of `bytes` bytes. For the verifier, which saves and restores them: tags
/// never survive a crash.
[[nodiscard]] inline std::span<flit_counter> tag_counters(std::size_t bytes) noexcept {
  return {detail::tag_table, bytes / sizeof(flit_counter)};
}

}  // namespace outlast::durable
