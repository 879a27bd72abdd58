// Which sentinel a hash belongs to, and where that sentinel is.
//
// With 2^level buckets, bucket i owns the hashes whose top `level` bits are i, so one level more
// splits each bucket in two neighbours. A sentinel keeps its place for ever: the one that first
// appears at level l stands in segment l, and segment l holds exactly the sentinels that level l
// adds.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace outlast::algorithm {

/// Levels 0 to 40: segment 0 holds one sentinel, segment l holds 2^(l-1).
inline constexpr unsigned max_levels = 41;

/// The place of a sentinel.
struct sentinel_place {
  unsigned segment;
  std::size_t index;
};

[[nodiscard]] constexpr std::size_t sentinels_in(unsigned segment) noexcept {
  return segment == 0 ? 1 : std::size_t{1} << (segment - 1);
}

/// The order of the first hash of the bucket that owns `hash` at `level`: its sentinel's order.
[[nodiscard]] constexpr std::uint64_t bucket_order(std::uint64_t hash, unsigned level) noexcept {
  return level == 0 ? 0 : hash >> (64 - level) << (64 - level);
}

/// Where the sentinel of order `order` stands. The lowest bit set in an order names its level.
[[nodiscard]] constexpr sentinel_place place_of(std::uint64_t order) noexcept {
  if (order == 0) return {0, 0};
  const auto zeros = static_cast<unsigned>(std::countr_zero(order));
  return {64 - zeros, static_cast<std::size_t>(order >> zeros >> 1)};
}

/// The order of the sentinel at a place: the inverse of `place_of`.
[[nodiscard]] constexpr std::uint64_t order_of(sentinel_place place) noexcept {
  if (place.segment == 0) return 0;
  return (std::uint64_t{place.index} << 1 | 1) << (64 - place.segment);
}

/// The order of the sentinel from which bucket `order` is split off: a level less, or several.
[[nodiscard]] constexpr std::uint64_t parent_of(std::uint64_t order) noexcept {
  return order & (order - 1);
}

/// The order of a sentinel is a multiple of 4 until it is linked, plus 2 then; that of a node is
/// its hash with the two lowest bits set: so a sentinel stands before every node of its bucket.
inline constexpr std::uint64_t ready_bit = 2;
inline constexpr std::uint64_t node_bits = 3;

}  // namespace outlast::algorithm
