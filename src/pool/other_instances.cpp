// Pools of the other domains, compiled once.
#include <outlast/pool/any_domain.hpp>

namespace outlast {

template class basic_pool<domain::cache_persistent>;
template class basic_pool<domain::file>;
template class basic_pool<domain::logged_file>;
template class basic_pool<domain::native>;
template class basic_pool<domain::counting<domain::process>>;

}  // namespace outlast
