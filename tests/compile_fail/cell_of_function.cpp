// The address of a function is another one in the next process; a link to a node is moved with it.
#include <outlast/durable.hpp>

using policy = outlast::durable::flit<>;

#ifdef OUTLAST_GOOD
using held = int*;
#else
using held = void (*)();
#endif

held load(const policy::cell<held>& from) { return from.load(); }
