// The checksum of a store's entry. On media: docs/formats/store.md.
#include <outlast/db/detail/changes.hpp>

#include <cstdint>
#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace outlast::store_detail {

std::uint32_t checksum_of(std::string_view key, std::string_view value) noexcept {
  const XXH64_hash_t seed = XXH3_64bits(key.data(), key.size());
  return static_cast<std::uint32_t>(XXH3_64bits_withSeed(value.data(), value.size(), seed));
}

}  // namespace outlast::store_detail
