// A member that is a pointer leads to memory of the process that made it.
#include <outlast/sets/soft_hash.hpp>

#include <cstdint>

struct user {
  char name[32];
#ifdef OUTLAST_GOOD
  std::uint64_t address;
#else
  const char* address;
#endif
};

using table = outlast::sets::soft_hash<std::uint64_t, user>;

bool has(table& in, std::uint64_t what) { return in.contains(what); }
