#pragma once

#include <outlast/domain/concept.hpp>

namespace outlast::domain {

/// `D` with everything that makes stores survive taken away: the null twin of every domain. What is
/// stored through it survives nothing but by luck; baselines are measured on it.
template <persistence_domain D>
struct without_flushes : D {
  /// The least of all promises, whatever D is.
  static constexpr kind current_kind() noexcept { return kind::process; }
  static constexpr bool flushes() noexcept { return false; }
  static void pwb(const void*, site = site::current()) noexcept {}
  static void pfence(site = site::current()) noexcept {}
  static void psync(site = site::current()) noexcept {}
};

}  // namespace outlast::domain
