// Cells of one node that share what their tag needs.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/durable/tags.hpp>

#include <cstddef>
#include <cstdint>

namespace outlast::durable {

/// What the cells of a node share, a member of that node; empty where `Tag` keeps nothing in nodes.
/// `Tag` is that of a policy's `grouped_cell`s: cells like others, but for where they may stand.
/// They and their group stand in one block of `alignment` bytes, aligned to as much; the group is
/// its last word.
///
/// Thread-safety: construction and `recover` come before the node is shared.
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

  /// In a node that nobody else can reach yet; flushed with its node.
  explicit cell_group(site where = site::current()) { counter_.template create<D>(where); }
  cell_group(const cell_group&) = delete;
  cell_group& operator=(const cell_group&) = delete;

  /// After a crash, before the node is shared: a tag that the crash left raised comes down.
  /// Re-entrant.
  void recover(site where = site::current()) { counter_.template recover<D>(where); }

 private:
  tag::pool_counter counter_;
};

}  // namespace outlast::durable
