// Arenas under domain::native, compiled once.
#include <outlast/alloc/arena.hpp>

namespace outlast::alloc {

template class arena<domain::native>;

}  // namespace outlast::alloc
