// A shared mutable word that survives: `std::atomic<T>` with roles.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/durable/atomic_functions.hpp>
#include <outlast/durable/detail/atomic_interface.hpp>
#include <outlast/durable/detail/owned_word.hpp>
#include <outlast/durable/detail/tagged_word.hpp>
#include <outlast/durable/roles.hpp>

#include <atomic>

namespace outlast::durable {

/// A cell under the P-V interface: p-accesses flush if tagged, v-accesses do not. [Wei22, Algorithm
/// 4] It has the members of `std::atomic<T>`, for any trivially copyable T of up to 8 bytes. Each
/// member has two more parameters: a role, and the site, which callers must not pass.
/// docs/guides/mirror.md lists the differences.
///
/// The placement maps the role of an access to a p- or a v-instruction. The default roles are
/// `decide` for loads, `link` for stores and `update` for arithmetic: p-instructions under every
/// placement.
///
/// Thread-safety: all members may be called concurrently, except construction, `init` and
/// `recover`. Progress: lock-free; a load is wait-free; `wait` blocks. Memory order: loads acquire,
/// stores release, and read-modify-writes do both. A weaker `std::memory_order` argument has no
/// effect, because a p-load must see the tag that was raised before the store it reads from (errata
/// 2.2). seq_cst is honoured. Durability: a p-store is durable when it returns. The result of a
/// p-load is durable before the caller's next store to a cell, and before its operation guard is
/// destroyed.
///
/// On domains without flushes the tags are never touched: a cell costs as much as a std::atomic.
template <class T, class Tag, class Placement, domain::persistence_domain D>
class cell : public detail::atomic_interface<detail::tagged_word<T, Tag, Placement, D>> {
  using interface = detail::atomic_interface<detail::tagged_word<T, Tag, Placement, D>>;

 public:
  cell() : cell(T{}) {}
  /// Makes a cell of a node that no other thread can reach yet. It is flushed with its node.
  cell(T value, domain::site where = domain::site::current()) : interface(value, where) {}
  cell(const cell&) = delete;
  cell& operator=(const cell&) = delete;
  using interface::operator=;
};

/// A cell whose word contains the tag: as `cell`, for pointers and values of up to 6 bytes. Other
/// types do not compile. Always 8 bytes. Every store, arithmetic included, is a loop of
/// compare-and-swaps: lock-free. [Dav18; Wei22, 2]
template <class T, class Placement, domain::persistence_domain D>
class linked_cell : public detail::atomic_interface<detail::owned_word<T, Placement, D>> {
  using interface = detail::atomic_interface<detail::owned_word<T, Placement, D>>;

 public:
  linked_cell() : linked_cell(T{}) {}
  /// Makes a cell of a node that no other thread can reach yet. It is flushed with its node.
  linked_cell(T value, domain::site where = domain::site::current()) : interface(value, where) {}
  linked_cell(const linked_cell&) = delete;
  linked_cell& operator=(const linked_cell&) = delete;
  using interface::operator=;
};

}  // namespace outlast::durable
