// The scheme of buffered sets that are non-blocking.
#pragma once

#include <outlast/domain/native.hpp>
#include <outlast/epoch/clock.hpp>
#include <outlast/epoch/detail/nonblocking_set.hpp>
#include <outlast/sets/schemes.hpp>

#include <string>
#include <string_view>

namespace outlast::epoch {

/// Payloads survive, links do not. An update is durable two epochs later, and lookups that overtake
/// it help it to its epoch. A scheme of sets::basic_list and sets::basic_hash.
template <domain::persistence_domain Domain>
struct nonblocking {
  using domain_type = Domain;
  template <class Key, class Value>
  using node = detail::nonblocking_node<Key, Value, Domain>;
  static constexpr bool updates_wait = false;
  static constexpr bool lookups_wait = true;
  static std::string name() { return "montage"; }

  static constexpr bool has_parts = true;
  template <class Node, class Reclaimer, class>
  using operation = detail::nonblocking_operation<Node, Domain, Reclaimer>;
  template <class Node, class Reclaimer>
  using session = detail::nonblocking_session<Node, Domain, Reclaimer>;
};

/// One of those sets, with the members that all buffered structures have.
template <class Set>
class buffered_set : public Set {
  using D = typename Set::policy_type::domain_type;

 public:
  using pool_type = typename Set::pool_type;

  /// Attaches the set as Set's constructor. Throws what that throws.
  template <class... Options>
  buffered_set(pool_type& pool, std::string_view name, const Options&... options)
      : Set(pool, name, options...), clock_(clock_of(pool)) {}

  /// Blocks until every operation that has returned is durable. As clock::sync().
  void sync() { clock_.sync(); }
  [[nodiscard]] epoch::clock<D>& pool_clock() noexcept { return clock_; }

 private:
  epoch::clock<D>& clock_;
};

}  // namespace outlast::epoch
