// The checksums of the record engine. On media: docs/formats/records.md.
#include <src/db/records/format.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace outlast::store_detail::records {

std::uint64_t seeded_hash(const void* first, std::size_t bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(first, bytes, seed);
}

std::uint64_t seeded_hash(std::string_view head, std::string_view key,
                          std::uint64_t seed) noexcept {
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_64bits_reset_withSeed(&state, seed);
  for (const std::string_view each : {head, key}) {
    XXH3_64bits_update(&state, each.data(), each.size());
  }
  return XXH3_64bits_digest(&state);
}

}  // namespace outlast::store_detail::records
