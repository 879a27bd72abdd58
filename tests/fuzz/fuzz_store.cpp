// The libFuzzer target for stores: any bytes are edits of a good one. corrupted_store.hpp says how.
#include <tests/fuzz/corrupted_store.hpp>

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)outlast::fuzz::exercise(outlast::fuzz::decode_store({data, size}));
  return 0;
}
