// A key with padding has no stable hash: its padding bytes are anything.
#include <outlast/base/hash.hpp>

#include <cstdint>

struct key {
  std::uint32_t first;
#ifdef OUTLAST_GOOD
  std::uint32_t padding;
#endif
  std::uint64_t second;
};

std::uint64_t hash_of(const key& k) { return outlast::base::default_hash<key>{}(k); }
