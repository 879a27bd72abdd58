// A value that uses every bit of its word leaves none to say whether it is durable.
#include <outlast/durable/baselines/link_and_persist.hpp>
#include <outlast/durable/policy.hpp>

#include <cstdint>

#ifdef OUTLAST_GOOD
using value = std::uint32_t;
#else
using value = std::uint64_t;
#endif

outlast::durable::link_and_persist<>::cell<value> cell;
