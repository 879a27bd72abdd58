// Pools of the usual domains are compiled once, in the library.
#pragma once

#include <outlast/domain/adr.hpp>
#include <outlast/domain/cache_persistent.hpp>
#include <outlast/domain/counting.hpp>
#include <outlast/domain/file.hpp>
#include <outlast/domain/logged_file.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/pool/pool.hpp>

namespace outlast {

extern template class basic_pool<domain::process>;
extern template class basic_pool<domain::adr>;
extern template class basic_pool<domain::cache_persistent>;
extern template class basic_pool<domain::file>;
extern template class basic_pool<domain::logged_file>;
extern template class basic_pool<domain::native>;
extern template class basic_pool<domain::counting<domain::process>>;
extern template class basic_pool<domain::counting<domain::adr>>;

}  // namespace outlast
