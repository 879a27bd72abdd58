// Durability policies: the types of a structure's members, which define the durability of a store.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/domain/without_flushes.hpp>
#include <outlast/durable/cell.hpp>
#include <outlast/durable/cell_group.hpp>
#include <outlast/durable/field.hpp>
#include <outlast/durable/operation.hpp>
#include <outlast/durable/roles.hpp>
#include <outlast/durable/tags.hpp>

#include <concepts>
#include <string>
#include <string_view>

namespace outlast::durable {

/// A durability policy: the types that a structure declares its members with.
///   P::cell<T>             shared and mutable
///   P::grouped_cell<T>     the same, in a node that has several; they share what P::group holds
///   P::field<T>            immutable once published
///   P::volatile_member<T>  rebuilt at each open
///   P::operation<R>        the guard of one operation, over reclaimer R
///   P::holds<T>            whether a cell can hold a T
///   P::spare_bits          low bits of a pointer to an 8-byte aligned node that P leaves free
///   P::layout()            policies with equal layouts can open each other's pools
template <class P>
concept durability_policy = requires {
  typename P::domain_type;
  typename P::template cell<std::uint64_t>;
  typename P::template grouped_cell<std::uint64_t>;
  typename P::group;
  typename P::template field<std::uint64_t>;
  typename P::template volatile_member<std::uint64_t>;
  { P::name() } -> std::convertible_to<std::string>;
  { P::layout() } -> std::convertible_to<std::string_view>;
  { P::template holds<std::uint64_t> } -> std::convertible_to<bool>;
  { P::spare_bits } -> std::convertible_to<unsigned>;
  { P::durable } -> std::convertible_to<bool>;
};

/// Flush if tagged. [Wei22] `Tag` is the way in which a load detects that it need not flush,
/// `Placement` the choice of p-instructions.
template <class Tag = tag::adjacent, placement Placement = automatic,
          domain::persistence_domain D = domain::native>
struct flit {
  static_assert(tag::tag<Tag, D>);
  using domain_type = D;
  using tag_type = Tag;
  using placement_type = Placement;
  template <class T>
  using cell = durable::cell<T, Tag, Placement, D>;
  template <class T>
  using grouped_cell = durable::cell<T, tag::grouped<Tag>, Placement, D>;
  using group = cell_group<tag::grouped<Tag>, D>;
  template <class T>
  using field = durable::field<T, D>;
  template <class T>
  using volatile_member = durable::volatile_member<T>;
  template <class Reclaimer>
  using operation = durable::operation<D, D, Reclaimer>;

  template <class T>
  static constexpr bool holds = sizeof(T) <= 8;
  static constexpr bool durable = true;
  static constexpr unsigned spare_bits = 3;
  static std::string name() {
    return "flit<" + Tag::name() + "," + std::string(Placement::name()) + ">";
  }
  static std::string_view layout() { return Tag::layout(); }
};

/// The null policy: the same source without flushes, fences and tags. Its structures do not survive
/// a crash. It is the baseline of every figure.
template <domain::persistence_domain D = domain::native>
struct transient {
  using domain_type = D;
  using unflushed = domain::without_flushes<D>;
  template <class T>
  using cell = durable::cell<T, tag::always, automatic, unflushed>;
  template <class T>
  using grouped_cell = cell<T>;
  using group = cell_group<tag::always, unflushed>;
  template <class T>
  using field = durable::field<T, unflushed>;
  template <class T>
  using volatile_member = durable::volatile_member<T>;
  template <class Reclaimer>
  using operation = durable::operation<D, unflushed, Reclaimer>;

  template <class T>
  static constexpr bool holds = sizeof(T) <= 8;
  static constexpr bool durable = false;
  static constexpr unsigned spare_bits = 3;
  static std::string name() { return "transient"; }
  static std::string_view layout() { return "transient"; }
};

}  // namespace outlast::durable
