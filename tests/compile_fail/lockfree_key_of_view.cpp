// A view as a key leads to bytes of the process that made it.
#include <outlast/lockfree/hash_table.hpp>

#include <cstdint>
#include <string_view>

#ifdef OUTLAST_GOOD
using key = std::uint64_t;
#else
using key = std::string_view;
#endif

using table = outlast::lockfree::hash_table<key, std::uint64_t>;

bool has(table& in, const key& what) { return in.contains(what); }
