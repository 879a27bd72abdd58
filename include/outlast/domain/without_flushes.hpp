// A domain without persistence, for baselines.
#pragma once

#include <outlast/domain/concept.hpp>

namespace outlast::domain {

/// `D` without flushes and fences: the null variant of every domain. Stored bytes survive only by
/// chance. Baselines are measured on it.
template <persistence_domain D>
struct without_flushes : D {
  /// The weakest promise, for each D.
  static constexpr kind current_kind() noexcept { return kind::process; }
  static constexpr bool flushes() noexcept { return false; }
  static void pwb(const void*, site = site::current()) noexcept {}
  static void pfence(site = site::current()) noexcept {}
  static void psync(site = site::current()) noexcept {}
};

}  // namespace outlast::domain
