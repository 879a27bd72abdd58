// The operations that the handles of all structures share: those that report about the structure,
// and put() of a map, which follows from update() and insert().
//
// A handle derives from one of the classes below, with itself as first argument. It has its
// `attached` session as member `session_`, and names handle_access a friend.
#pragma once

#include <cstddef>
#include <cstdint>

namespace outlast::roots {

/// Reaches the private members of a handle that the operations below use.
struct handle_access {
  template <class Handle>
  [[nodiscard]] static auto& session(const Handle& of) noexcept {
    return *of.session_;
  }
  template <class Handle, class Range, class Visit>
  static void walk(const Handle& of, const Range& range, Visit& visit) {
    of.walk(range, visit);
  }
};

/// The operations of each handle whose session has was_recovered() and arena().
template <class Handle>
class structure_operations {
 public:
  /// Returns true if the pool was not closed before this process attached the structure, so that
  /// attaching recovered it. For statistics.
  [[nodiscard]] bool was_recovered() const noexcept {
    return handle_access::session(self()).was_recovered();
  }

  /// Returns the arena that contains the nodes of the structure. For statistics and tests.
  [[nodiscard]] auto& arena() noexcept { return handle_access::session(self()).arena(); }

 protected:
  [[nodiscard]] const Handle& self() const noexcept { return static_cast<const Handle&>(*this); }
  [[nodiscard]] Handle& self() noexcept { return static_cast<Handle&>(*this); }
};

/// The operations of each handle whose session also has a base::sharded_count as count().
template <class Handle>
class container_operations : public structure_operations<Handle> {
 public:
  /// Returns the number of elements. The number is exact while no other operation runs; otherwise
  /// it may include or miss elements that are added or removed meanwhile. Wait-free.
  [[nodiscard]] std::size_t size_estimate() const {
    const std::int64_t sum = handle_access::session(this->self()).count().sum();
    return sum < 0 ? 0 : static_cast<std::size_t>(sum);
  }
};

/// The operations of a map that has update() and insert().
template <class Map, class Key, class Value>
class map_operations : public container_operations<Map> {
 public:
  /// Maps `key` to `value`. Returns true if `key` was absent. Atomic, with the progress and the
  /// durability of update() and insert(), and throws what these throw, without effect.
  bool put(const Key& key, const Value& value) {
    for (;;) {
      if (this->self().update(key, value)) return false;
      if (this->self().insert(key, value)) return true;
    }
  }
};

}  // namespace outlast::roots
