// The random numbers of the record of a served space.
#include <src/server/stored/space_record.hpp>

#include <random>

namespace outlast::server::stored {

namespace {

std::uint64_t random_word() {
  std::random_device source;
  return std::uint64_t{source()} << 32 | source();
}

}  // namespace

base::hash_key random_seed() { return {random_word(), random_word()}; }

}  // namespace outlast::server::stored
