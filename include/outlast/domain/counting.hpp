// A domain that counts flushes and fences.
#pragma once

#include <outlast/base/thread_context.hpp>
#include <outlast/domain/concept.hpp>

namespace outlast::domain {

/// `D`, with exact counts of flushes and fences in the caller's thread context. The counts stay
/// zero if D has nothing to flush. It can be stacked on any domain: `counting<adr>`.
template <persistence_domain D>
struct counting : D {
  static void pwb(const void* address, site where = site::current()) {
    if (D::flushes()) ++base::this_thread().flushes;
    D::pwb(address, where);
  }
  static void pfence(site where = site::current()) noexcept(noexcept(D::pfence(where))) {
    if (D::flushes()) ++base::this_thread().fences;
    D::pfence(where);
  }
  static void psync(site where = site::current()) noexcept(noexcept(D::psync(where))) {
    if (D::flushes()) ++base::this_thread().fences;
    D::psync(where);
  }
};

}  // namespace outlast::domain
