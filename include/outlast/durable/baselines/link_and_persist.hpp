// Link and persist: the policy that marks words as durable in the words themselves. [Dav18]
#pragma once

#include <outlast/domain/native.hpp>
#include <outlast/durable/policy.hpp>

#include <string>
#include <string_view>

namespace outlast::durable {

/// Link and persist: the word itself records whether it is durable. A load reads nothing else, and
/// a cell is as large as its value. Values that fill their word do not fit: structures replace
/// their nodes. [Dav18; Wei22, 2]
template <placement Placement = automatic, domain::persistence_domain D = domain::native>
struct link_and_persist {
  using domain_type = D;
  using placement_type = Placement;
  template <class T>
  using cell = linked_cell<T, Placement, D>;
  template <class T>
  using grouped_cell = cell<T>;
  using group = cell_group<tag::always, D>;
  template <class T>
  using field = durable::field<T, D>;
  template <class T>
  using volatile_member = durable::volatile_member<T>;
  template <class Reclaimer>
  using operation = durable::operation<D, D, Reclaimer>;

  template <class T>
  static constexpr bool holds = detail::leaves_owner_bits<T>;
  static constexpr bool durable = true;
  static constexpr unsigned spare_bits = 3;
  static std::string name() { return "link_and_persist<" + std::string(Placement::name()) + ">"; }
  static constexpr std::string_view layout() noexcept { return "marked word"; }
};

}  // namespace outlast::durable
