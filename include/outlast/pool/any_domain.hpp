// Bodies of basic_pool, for domains that have no instance in the library. Include this header in
// addition to pool.hpp.
//
//   #include <outlast/pool/any_domain.hpp>
//   outlast::basic_pool<outlast::domain::slow_ns<outlast::domain::adr, 300>> pool = ...;
//
// The library contains basic_pool under process, adr, cache_persistent, file, logged_file, native,
// counting<process> and counting<adr>. A program that uses another domain compiles the bodies
// itself. Without this header it does not link.
#pragma once

#include <outlast/pool/impl/instances.hpp>
#include <outlast/pool/impl/pool_factories.hpp>
#include <outlast/pool/impl/pool_growth.hpp>
#include <outlast/pool/impl/pool_impl.hpp>
