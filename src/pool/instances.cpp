#include <outlast/pool/any_domain.hpp>

namespace outlast {

template class basic_pool<domain::process>;
template class basic_pool<domain::adr>;
template class basic_pool<domain::cache_persistent>;
template class basic_pool<domain::file>;
template class basic_pool<domain::logged_file>;
template class basic_pool<domain::native>;
template class basic_pool<domain::counting<domain::process>>;
template class basic_pool<domain::counting<domain::adr>>;

}  // namespace outlast
