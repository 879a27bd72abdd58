// An item of a cache in the pool: a payload whose tail is the key and the value.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/epoch/items.hpp>
#include <outlast/epoch/payload.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace outlast::epoch::detail {

/// The content of a payload. On media: docs/formats/epoch.md.
struct item_head {
  std::uint32_t key_bytes;
  std::uint32_t value_bytes;
  std::uint64_t unique;
  std::int64_t expires_ms;
  std::uint32_t flags;
  std::uint32_t state;  ///< generation and marks
};
static_assert(sizeof(item_head) == 32 && offsetof(item_head, unique) == 8);
static_assert(offsetof(item_head, expires_ms) == 16 && offsetof(item_head, flags) == 24);
static_assert(offsetof(item_head, state) == 28);

using item_payload = payload<item_head>;

/// The state of an item: two marks, and the number of times that all items had been removed when it
/// was stored, modulo 2^30.
struct item_state {
  static constexpr std::uint32_t stale_bit = 1;
  static constexpr std::uint32_t winner_bit = 2;
  static constexpr unsigned generation_shift = 2;
  static constexpr std::uint32_t generations = std::uint32_t{1} << (32 - generation_shift);

  [[nodiscard]] static std::uint32_t of(item_marks marks, std::uint32_t generation) noexcept {
    return (marks.is_stale ? stale_bit : 0) | (marks.has_winner ? winner_bit : 0) |
           generation << generation_shift;
  }
  [[nodiscard]] static item_marks marks(std::uint32_t state) noexcept {
    return {(state & stale_bit) != 0, (state & winner_bit) != 0};
  }
  [[nodiscard]] static std::uint32_t generation(std::uint32_t state) noexcept {
    return state >> generation_shift;
  }
};

[[nodiscard]] inline std::string_view key_of(const item_payload& in) noexcept {
  return {reinterpret_cast<const char*>(in.tail()), in.unsafe().key_bytes};
}
[[nodiscard]] inline std::string_view value_of(const item_payload& in) noexcept {
  return {reinterpret_cast<const char*>(in.tail()) + in.unsafe().key_bytes,
          in.unsafe().value_bytes};
}
/// Returns the bytes that an item takes in the pool.
[[nodiscard]] inline std::size_t bytes_of(std::size_t key_bytes, std::size_t value_bytes) noexcept {
  return base::round_up(item_payload::size_with(key_bytes + value_bytes), 16);
}
[[nodiscard]] inline std::size_t bytes_of(const item_payload& in) noexcept {
  return bytes_of(in.unsafe().key_bytes, in.unsafe().value_bytes);
}
[[nodiscard]] inline bool is_whole(const item_payload& in, std::size_t room) noexcept {
  return room >= sizeof(item_payload) &&
         item_payload::size_with(std::size_t{in.unsafe().key_bytes} + in.unsafe().value_bytes) <=
             room;
}
[[nodiscard]] inline std::span<const std::byte> bytes_of(std::string_view text) noexcept {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace outlast::epoch::detail
