// Sets without durable links whose updates are durable two epochs later: their nodes, their
// operation guard, and their recovery.
#pragma once

#include <outlast/algorithm/chain.hpp>
#include <outlast/base/parallel.hpp>
#include <outlast/base/sharded_count.hpp>
#include <outlast/epoch/detail/nonblocking_epochs.hpp>
#include <outlast/epoch/detail/nonblocking_memory.hpp>
#include <outlast/epoch/detail/stored_pair.hpp>
#include <outlast/epoch/detail/version.hpp>
#include <outlast/epoch/payload_session.hpp>
#include <outlast/root/storable.hpp>
#include <outlast/sets/detail/set_session.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace outlast::epoch::detail {

/// A key and its value in a payload, and a link to the next node. A key of known length is also in
/// the node: walks touch no persistent memory.
template <storable Key, storable Value, domain::persistence_domain D>
class nonblocking_node : public sets::detail::set_entry<D>, public version<D> {
  using pair = stored_pair<Key, Value>;

  class value_of_payload {
   public:
    explicit value_of_payload(typename pair::payload_type& in) noexcept : in_(in) {}
    [[nodiscard]] typename reading<Value>::view get() const noexcept { return pair::value_of(in_); }

   private:
    typename pair::payload_type& in_;
  };

 public:
  using key_type = Key;
  using mapped_type = Value;
  using payload_type = typename pair::payload_type;

  nonblocking_node(payload_type& its, std::size_t bytes)
      : version<D>(its.header(), bytes), key(pair::key_of(its)), value(its) {
    this->next.init({});
  }

  const sets::detail::copied_bytes<Key> key;
  const value_of_payload value;
};

/// The guard of one operation, for algorithm::chain.
///
/// Invariants:
///   I1  An operation that returns "present" has seen a label in the payload. One that returns
///       "absent" has seen a mark in the payload of the node that it passed, if any.
///   I2  A node is deleted only after it has a label, and unlinked only after it has a mark.
template <class Node, domain::persistence_domain D, reclaim::reclaimer Reclaimer>
class [[nodiscard]] nonblocking_operation {
  using memory = nonblocking_memory<Node, D, Reclaimer>;
  using link = typename Node::link;
  using pair = stored_pair<typename Node::key_type, typename Node::mapped_type>;

 public:
  explicit nonblocking_operation(memory& in)
      : memory_(in), mine_(in.clock().enter_nonblocking()), session_(in.reclaimer().enter()) {}
  ~nonblocking_operation() { memory_.reclaimer().leave(session_); }
  nonblocking_operation(const nonblocking_operation&) = delete;
  nonblocking_operation& operator=(const nonblocking_operation&) = delete;

  /// Makes a node. Throws out_of_space, std::bad_alloc.
  template <class Key, class Value>
  [[nodiscard]] Node* make(const Key& key, const Value& value) {
    using prepared_type = prepared<typename pair::content, D>;
    return memory_.make(pair::template prepare<prepared_type>(memory_.payloads(), key, value));
  }
  void unmake(alloc::arena<D>&, Node* never_linked) noexcept { memory_.unmake(never_linked); }
  static void persist_private(const Node&) noexcept {}
  void retire_unlinked(alloc::arena<D>&, Node* node, const void*) { retire(node); }
  void retire(Node* node) { memory_.retire(node); }

  void admit(Node& node) { confirm(node); }
  void confirm(Node& node) { nonblocking_epochs().label(mine_, node); }
  void passed(Node& node, link next) {
    if (!next.has(algorithm::replaced)) nonblocking_epochs().retire(mine_, node);
  }
  void settle(Node& node, link next) {
    if (!next.has(algorithm::replaced)) return nonblocking_epochs().retire(mine_, node);
    Node& fresh = static_cast<Node&>(*next);
    nonblocking_epochs().label(mine_, fresh);
    nonblocking_epochs().retire_replaced(node, fresh);
  }
  void about_to_replace(Node& old, Node& fresh) { fresh.replaces(old); }

  void has_linked(const Node& fresh) {
    nonblocking_epochs().set_effect(mine_, fresh.stored().template label<D>());
  }
  void has_erased(const Node& gone) {
    nonblocking_epochs().set_effect(mine_, gone.stored().template retired<D>());
  }

 private:
  [[nodiscard]] detail::nonblocking_epochs<D>& nonblocking_epochs() noexcept {
    return memory_.clock().nonblocking_epochs();
  }

  memory& memory_;
  typename detail::nonblocking_epochs<D>::record& mine_;
  typename Reclaimer::session session_;
};

/// The session of such sets, as sets::detail::set_session for sets whose updates are durable at
/// return.
template <class Node, domain::persistence_domain D, reclaim::reclaimer Reclaimer>
class nonblocking_session : public payload_session<D> {
  using base_type = payload_session<D>;
  using pair = stored_pair<typename Node::key_type, typename Node::mapped_type>;
  using payload_type = typename pair::payload_type;

  template <class Place>
  struct placed_payload {
    Place place;
    payload_type* stored;
  };

 public:
  using memory_type = nonblocking_memory<Node, D, Reclaimer>;

  nonblocking_session(typename base_type::pool_type& in, const attached_root& root, std::size_t)
      : base_type(in, root, clock_of(in)),
        memory_(this->arena(), this->clock(), in.template service<Reclaimer>()) {}

  void collect_all() override { memory_.collect_all(); }
  void forbid() noexcept override { memory_.reclaimer().forbid(); }

  [[nodiscard]] memory_type& memory() noexcept { return memory_; }
  [[nodiscard]] base::sharded_count& count() noexcept { return count_; }
  using base_type::threads;

 protected:
  /// Recovers the nodes, as set_session::open().
  template <class PlaceOf, class Precedes, class SameKey>
  auto open(PlaceOf&& place_of, Precedes&& precedes, SameKey&& same_key) {
    using key_view = typename reading<typename Node::key_type>::view;
    using place = std::decay_t<decltype(place_of(std::declval<key_view>()))>;
    using item = placed_payload<place>;
    std::vector<std::vector<payload_header*>> found = this->recovered();
    std::vector<std::vector<item>> heaps(found.size());
    base::for_each_in_parallel(threads(), found.size(), [&](std::size_t part) {
      heaps[part].reserve(found[part].size());
      for (payload_header* const each : found[part]) {
        auto* const its = reinterpret_cast<payload_type*>(each);
        if (!pair::is_whole(*its, this->room_of(each))) {
          this->report_damage("has a payload that is longer than its block");
        }
        heaps[part].push_back({place_of(pair::key_of(*its)), its});
      }
      std::vector<payload_header*>().swap(found[part]);
    });
    const sets::detail::ranges_of_items<item> sorted(heaps, precedes, threads());
    std::vector<std::size_t> begins(sorted.size() + 1);
    for (std::size_t r = 0; r < sorted.size(); ++r) {
      begins[r + 1] = begins[r] + sorted.range(r).size();
    }
    sets::detail::nodes_in_order<Node, place> nodes(begins.back());
    base::for_each_in_parallel(threads(), sorted.size(), [&](std::size_t r) {
      const auto range = sorted.range(r);
      for (std::size_t i = 0; i < range.size(); ++i) {
        for (std::size_t j = i; j > 0 && !precedes(range[j - 1].place, range[i].place); --j) {
          if (same_key(pair::key_of(*range[j - 1].stored), pair::key_of(*range[i].stored))) {
            this->report_damage("has a key twice");
          }
        }
        nodes[begins[r] + i] = {range[i].place, adopt(*range[i].stored)};
      }
    });
    count_.start_at(static_cast<std::int64_t>(nodes.size()));
    return nodes;
  }

 private:
  Node* adopt(payload_type& its) {
    Node* const made = memory_.adopt(its, pair::bytes_of_payload(its));
    made->set_labelled();
    return made;
  }

  memory_type memory_;
  base::sharded_count count_;
};

}  // namespace outlast::epoch::detail
