// What hangs off the pool while a set without durable links is attached, and how its keys are found
// again. [Zur19, 3.5, 4.6]
#pragma once

#include <outlast/alloc/arena.hpp>
#include <outlast/base/error.hpp>
#include <outlast/base/sharded_count.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/durable/root_session.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/sets/detail/set_operation.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace outlast::sets::detail {

/// A version of a key as recovery finds it, and where its key belongs.
template <class Stored, class Place>
struct version {
  Place place;
  Stored* stored;
  verdict said;
};

/// A node that is to be linked.
template <class Node, class Place>
struct placed_node {
  Place place;
  Node* node;
};

/// The versions that count, in the order of their places. `found` is sorted by place; `same_key`
/// tells keys of one place apart. What does not count and says it is live is put to `outranked`.
template <class Stored, class Place, class SamePlace, class SameKey>
std::vector<version<Stored, Place>> latest_versions(
    const std::vector<version<Stored, Place>>& found, SamePlace&& same_place, SameKey&& same_key,
    std::vector<Stored*>& outranked) {
  std::vector<version<Stored, Place>> latest;
  for (auto first = found.begin(); first != found.end();) {
    const auto last = std::find_if_not(first, found.end(), [&](const auto& other) {
      return same_place(first->place, other.place);
    });
    for (auto it = first; it != last; ++it) {
      if (!it->said.is_live()) continue;
      const bool is_latest = std::none_of(first, last, [&](const auto& other) {
        return other.said.stamp() > it->said.stamp() && same_key(*other.stored, *it->stored);
      });
      if (is_latest) {
        latest.push_back(*it);
      } else {
        outranked.push_back(it->stored);
      }
    }
    first = last;
  }
  return latest;
}

/// The volatile half of such a set, but for its index.
template <class Node, domain::persistence_domain D, reclaim::reclaimer Reclaimer>
class set_session : public durable::root_session<D> {
  using base_type = durable::root_session<D>;
  using stored = stored_in_pool<Node>;

  /// On media: docs/formats/sets.md. All zero: everything is in the nodes.
  struct alignas(base::cache_line_size) root_block {
    std::uint64_t reserved[8];
  };
  static_assert(sizeof(root_block) == base::cache_line_size);
  static_assert(sizeof(stored) <= base::cache_line_size,
                "key and value must fit a cache line with 16 bytes to spare");

 public:
  using base_type::arena;
  using base_type::pool;
  using memory_type = set_memory<Node, D, Reclaimer>;

  set_session(typename base_type::pool_type& in, const attached_root& root, std::size_t least_freed)
      : base_type(in, root, pool_format::recovery_mode::scan),
        memory_(arena(), in.template service<Reclaimer>(), std::max<std::size_t>(least_freed, 1)),
        was_recovered_(root.state != root_state::fresh && root.state != root_state::clean) {}

  /// What is outranked is gone from the media: the next opener looks at no line twice.
  bool before_close() override {
    memory_.lines().settle();
    return true;
  }
  void collect_all() override { memory_.collect_all(); }
  void forbid() noexcept override { memory_.reclaimer().forbid(); }

  [[nodiscard]] memory_type& memory() noexcept { return memory_; }
  [[nodiscard]] base::sharded_count& count() noexcept { return count_; }
  [[nodiscard]] bool was_recovered() const noexcept { return was_recovered_; }

 protected:
  /// Creates the root, or finds the latest live version of each key. Their nodes come back sorted by
  /// `place_of(key)` and `precedes`. Re-entrant: what it stores says what was so already.
  template <class PlaceOf, class Precedes, class SameKey>
  auto open(PlaceOf&& place_of, Precedes&& precedes, SameKey&& same_key) {
    using key_type = typename Node::key_type;
    using place = std::decay_t<decltype(place_of(std::declval<const key_type&>()))>;
    std::vector<placed_node<Node, place>> nodes;
    if (this->root().state == root_state::fresh) {
      create();
      return nodes;
    }
    const void* const object = this->template object<root_block>();
    auto found = survey(object, place_of);
    std::sort(found.begin(), found.end(),
              [&](const auto& one, const auto& other) { return precedes(one.place, other.place); });
    std::vector<stored*> outranked;
    const auto latest = latest_versions(
        found,
        [&](const place& one, const place& other) {
          return !precedes(one, other) && !precedes(other, one);
        },
        [&](const stored& one, const stored& other) {
          return same_key(one.key.get(), other.key.get());
        },
        outranked);
    // (1) What outranks them is durable: a dead process may have left it in the caches.
    domain::fence<D>();
    for (stored* const each : outranked) {
      each->say(verdict::superseded());
      domain::flush<D>(each, sizeof *each);
    }
    // (2) Before the scan gives back pages of dead nodes that outrank something.
    domain::fence<D>();
    arena().recover_by_scan([&](void* block, std::size_t stride, std::uint64_t) {
      return block == object || (is_stored(stride) && stored_at(block).says().is_live());
    });
    nodes.reserve(latest.size());
    for (const auto& each : latest) {
      nodes.push_back({each.place, memory_.nodes().adopt(*each.stored, each.said)});
    }
    count_.start_at(static_cast<std::int64_t>(latest.size()));
    if (this->root().pointers_base != pool().base()) pool().root_relocated(this->root().index);
    return nodes;
  }

 private:
  static bool is_stored(std::size_t stride) noexcept {
    return stride == alloc::stride_of(alloc::class_of(std::bit_ceil(sizeof(stored))));
  }
  static stored& stored_at(void* block) noexcept { return *static_cast<stored*>(block); }

  void create() {
    void* const block = arena().allocate(sizeof(root_block), alignof(root_block));
    D::zero(block, sizeof(root_block));
    domain::persist<D>(block, sizeof(root_block));
    pool().publish_root(this->root().index, block);
  }

  template <class PlaceOf>
  auto survey(const void* object, PlaceOf&& place_of) {
    using place = std::decay_t<decltype(place_of(stored_at(nullptr).key.get()))>;
    const bool persists = D::flushes() && pool().pages().blocks_may_be_unflushed();
    std::vector<version<stored, place>> found;
    std::uint64_t greatest = 0;
    arena().for_each_stored_block([&](void* block, std::size_t stride) {
      if (block == object || !is_stored(stride)) return;
      stored& each = stored_at(block);
      // What a dead process said may be visible alone; (1) waits for this.
      if (persists) domain::flush<D>(&each, sizeof each);
      const verdict said = each.says();
      if (!said.is_live() && !said.is_dead()) return;
      greatest = std::max(greatest, said.stamp());
      found.push_back({place_of(each.key.get()), &each, said});
    });
    if (greatest > verdict::greatest_stamp) {
      throw corruption(pool().path(), "a node of root " + std::to_string(this->root().index) +
                                          " has stamp " + std::to_string(greatest) +
                                          ", which nobody can have drawn; restore a backup");
    }
    memory_.stamps().begin_above(greatest);
    return found;
  }

  memory_type memory_;
  base::sharded_count count_;
  bool was_recovered_;
};

}  // namespace outlast::sets::detail
