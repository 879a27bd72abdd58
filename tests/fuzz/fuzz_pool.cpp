// The libFuzzer target: any bytes are a recipe for a pool file. recipe.hpp says how.
#include <tests/fuzz/exercise.hpp>

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)outlast::fuzz::exercise(outlast::fuzz::decode({data, size}));
  return 0;
}
