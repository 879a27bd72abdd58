// Cells of one node that share what their tag needs.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/durable/tags.hpp>

#include <cstddef>
#include <cstdint>

namespace outlast::durable {

/// The tag that the cells of a node share, as a member of that node. It is empty if `Tag` keeps
/// nothing in nodes. `Tag` is that of a policy's `grouped_cell`s. The cells and their group must be
/// in one block of `alignment` bytes, aligned to as much; the group is its last word.
///
/// Thread-safety: construction and `recover` must precede the sharing of the node.
template <class Tag, domain::persistence_domain D>
class cell_group {
 public:
  static constexpr std::size_t alignment = alignof(std::uint64_t);

  cell_group() = default;
  cell_group(const cell_group&) = delete;
  cell_group& operator=(const cell_group&) = delete;

  void recover() noexcept {}
};

template <domain::persistence_domain D>
class cell_group<tag::adjacent_to_group, D> {
  using site = domain::site;

 public:
  static constexpr std::size_t alignment = tag::adjacent_to_group::block_bytes;

  /// Makes the group of a node that no other thread can reach yet. It is flushed with its node.
  explicit cell_group(site where = site::current()) { counter_.template create<D>(where); }
  cell_group(const cell_group&) = delete;
  cell_group& operator=(const cell_group&) = delete;

  /// Lowers the tag if a crash left it raised. Must be called before the node is shared.
  /// Re-entrant.
  void recover(site where = site::current()) { counter_.template recover<D>(where); }

 private:
  tag::pool_counter counter_;
};

}  // namespace outlast::durable
