// A view in a member leads to bytes of the process that made it.
#include <outlast/epoch/hash_map.hpp>

#include <cstdint>
#include <string>
#include <string_view>

struct user {
  std::uint64_t number;
#ifdef OUTLAST_GOOD
  char name[32];
#else
  std::string_view name;
#endif
};

using map = outlast::epoch::hash_map<std::string, user>;

bool erase(map& in, std::string_view what) { return in.erase(what); }
