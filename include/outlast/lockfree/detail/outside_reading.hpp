// The common parts of the readers of all structures, in another process than the writer's.
#pragma once

#include <outlast/algorithm/chain.hpp>
#include <outlast/algorithm/tree_probes.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/durable/roles.hpp>
#include <outlast/durable/tags.hpp>
#include <outlast/pool/pool_reader.hpp>
#include <outlast/reclaim/epochs.hpp>
#include <outlast/root/root_session.hpp>

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace outlast::lockfree {

/// True if the reclaimer waits for readers in other processes.
template <template <class> class Reclaimer>
inline constexpr bool waits_for_outside_readers = false;
template <>
inline constexpr bool waits_for_outside_readers<reclaim::epochs> = true;

}  // namespace outlast::lockfree

namespace outlast::lockfree::detail {

using durable::role;

/// The tag of a reader. Counters in the pool are those of the writer. A table of counters is in the
/// memory of the writer: without it, each load on which a result depends flushes.
template <class Tag>
using tag_of_reader = std::conditional_t<std::is_same_v<Tag, durable::tag::adjacent>,
                                         durable::tag::adjacent, durable::tag::always>;

/// The policy by which a reader reads nodes of `Policy`, of the same layout.
template <class Policy>
struct reading_policy {
  static_assert(sizeof(Policy) == 0,
                "readers in other processes read structures whose policy is durable::flit: other "
                "policies store while they read, or keep what is read in the writer's memory");
};
template <class Tag, class Placement, class D>
struct reading_policy<durable::flit<Tag, Placement, D>> {
  using type = durable::flit<tag_of_reader<Tag>, Placement, D>;
  static_assert(tag_of_reader<Tag>::layout() == Tag::layout());
};

template <class Policy, template <class> class Reclaimer>
struct reading {
  static_assert(waits_for_outside_readers<Reclaimer>,
                "readers in other processes need a structure whose Reclaimer is reclaim::epochs");
  using policy = typename reading_policy<Policy>::type;
  using domain_type = typename Policy::domain_type;
  using pool_reader = basic_pool_reader<domain_type>;
  using operation = typename pool_reader::operation;
};

[[nodiscard]] inline pool_detail::wanted_root wanted(std::string_view name,
                                                     const roots::root_type& type) {
  return {std::string(name), type.name, type.fingerprint};
}

/// A root of which only the object's address is kept.
template <domain::persistence_domain D, class Object>
class object_root final : public basic_pool_reader<D>::root {
 public:
  object_root(basic_pool_reader<D>& in, pool_detail::wanted_root wanted)
      : basic_pool_reader<D>::root(in, std::move(wanted)) {
    this->renew();
  }
  [[nodiscard]] Object& object() const noexcept {
    return *reinterpret_cast<Object*>(object_.load(std::memory_order_relaxed));
  }

 private:
  // The caller's later loads of object() follow its load of a word that is stored after this.
  void found(std::byte* object) override { object_.store(object, std::memory_order_relaxed); }

  std::atomic<std::byte*> object_{nullptr};
};

/// Calls `visit(node)` for the live nodes from the link `at` on, in order, until it returns false.
/// `holds(node)` returns whether there can be a node. Returns false if there cannot.
template <class Link, class Holds, class Visit>
[[nodiscard, gnu::always_inline]] inline bool walk_chain(Link at, Holds&& holds, Visit&& visit) {
  constexpr std::uintptr_t marks = algorithm::deleted | algorithm::replaced_in<Link>;
  for (at = at.without(marks); at;) {
    if (!holds(at.get())) return false;
    const Link next = at->next.load(role::decide);
    if (!next.has(algorithm::deleted) && !visit(*at)) return true;
    at = next.without(marks);
  }
  return true;
}

/// Copies the entry of a node, and visits the copy if it is right: after an eviction the node may
/// be anything.
template <class Operation, class Node, class Visit>
void visit_copy(const Operation& op, const Node& node, Visit& visit) {
  const auto key = node.key.get();
  const auto value = node.value.load();
  if (!op.is_valid()) op.throw_evicted();
  visit(key, value);
}

/// The operations of a sorted map, from those of `Map`:
///   find(op, key)     an optional of the node of the key or nullptr; nothing: no node can be there
///   last(op)          the same, of the greatest key
///   walk(op, from, visit)  calls visit(node) for live nodes in order, from one on that does not
///                          follow the key at `from` (nullptr: the first), until it returns false;
///                          returns false if no node can be there
template <class Map, class Key, class Value, class Compare>
class sorted_reading {
 public:
  /// Returns true if `key` is present. Lock-free. The result is durable at return.
  [[nodiscard]] bool contains(const Key& key) const {
    return root().run([&](auto& op) -> std::optional<bool> {
      const auto found = self().find(op, key);
      if (!found) return std::nullopt;
      return *found != nullptr;
    });
  }
  /// Returns the value of `key`, or nothing. Lock-free. The result is durable at return.
  [[nodiscard]] std::optional<Value> get(const Key& key) const {
    return root().run([&](auto& op) -> std::optional<std::optional<Value>> {
      const auto found = self().find(op, key);
      if (!found) return std::nullopt;
      return *found == nullptr ? std::optional<Value>() : (*found)->value.load();
    });
  }
  /// Returns the least key that it found and its value, or nothing. The key was present at one
  /// moment of the call, and each lesser key was absent at one moment. Lock-free. The result is
  /// durable at return.
  [[nodiscard]] std::optional<std::pair<Key, Value>> min() const {
    using entry = std::optional<std::pair<Key, Value>>;
    return root().run([&](auto& op) -> std::optional<entry> {
      entry first;
      const auto take = [&](const auto& node) {
        first.emplace(node.key.get(), node.value.load());
        return false;
      };
      if (!self().walk(op, nullptr, take)) return std::nullopt;
      return first;
    });
  }
  /// Returns the greatest key that it found and its value, otherwise as min().
  [[nodiscard]] std::optional<std::pair<Key, Value>> max() const {
    using entry = std::optional<std::pair<Key, Value>>;
    return root().run([&](auto& op) -> std::optional<entry> {
      const auto found = self().last(op);
      if (!found) return std::nullopt;
      if (*found == nullptr) return entry();
      return entry(std::pair<Key, Value>((*found)->key.get(), (*found)->value.load()));
    });
  }
  /// Calls `visit(key, value)` in key order for each key that is present during the whole walk. A
  /// key that is inserted or erased meanwhile may be visited or not. No retired node of the pool is
  /// freed while the walk runs, up to the writer's pool_options::reader_patience_ms. Throws
  /// error{refused} if the walk takes longer, or if the writer meanwhile closes the pool or drops
  /// a root that the walk reads; what was visited before was right. A walk reads its own root and
  /// those that `visit` reads. If `visit` reads several other roots, any dropped root ends the
  /// walk. Throws what `visit` throws.
  template <class Visit>
  void for_each(Visit&& visit) const {
    walk_range(nullptr, nullptr, visit);
  }
  /// Like for_each(), for the keys that are not less than `from` and less than `to`.
  template <class Visit>
  void for_each_in(const Key& from, const Key& to, Visit&& visit) const {
    walk_range(&from, &to, visit);
  }

 protected:
  sorted_reading() = default;
  ~sorted_reading() = default;

 private:
  [[nodiscard]] const Map& self() const noexcept { return static_cast<const Map&>(*this); }
  [[nodiscard]] auto& root() const noexcept { return *self().root_; }

  template <class Visit>
  void walk_range(const Key* from, const Key* to, Visit& visit) const {
    (void)root().run_once([&](auto& op) -> std::optional<bool> {
      const auto visit_node = [&](const auto& node) {
        if (to != nullptr && !Compare{}(node.key.get(), *to)) return false;
        if (from == nullptr || !Compare{}(node.key.get(), *from)) visit_copy(op, node, visit);
        return true;
      };
      if (!self().walk(op, from, visit_node)) return std::nullopt;
      return true;
    });
  }
};

}  // namespace outlast::lockfree::detail
