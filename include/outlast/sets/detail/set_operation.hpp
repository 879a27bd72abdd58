// One operation on a set whose links do not survive: which states it stores, and when. [Zur19]
//
// The protocols and their arguments: docs/papers/durable-sets.md.
#pragma once

#include <outlast/alloc/arena.hpp>
#include <outlast/base/cache_line.hpp>
#include <outlast/base/hash.hpp>
#include <outlast/base/per_thread.hpp>
#include <outlast/base/zeroed_array.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/reclaim/concept.hpp>
#include <outlast/sets/detail/set_node.hpp>
#include <outlast/sets/detail/superseded_lines.hpp>
#include <outlast/sets/detail/volatile_blocks.hpp>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace outlast::sets::detail {

/// Counts from which stamps are drawn. Keys share them; equal keys have the same one.
template <domain::persistence_domain D>
class stamp_counts {
 public:
  stamp_counts() : counts_(count) {}

  /// Returns a number greater than all that were drawn with the same `number`. Wait-free.
  [[nodiscard]] std::uint64_t draw(std::uint64_t number) {
    return counts_[number % count].fetch_add(1, std::memory_order_relaxed) + 1;
  }
  /// Makes all later stamps greater than `stamp`. Not thread-safe: must be called before the set is
  /// shared.
  void begin_above(std::uint64_t stamp) {
    for (std::size_t i = 0; i < count; ++i) counts_[i].raise_to(stamp, std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t count = 1024;

  base::zeroed_array<domain::volatile_word<D, std::uint64_t>> counts_;
};

/// The part of a node in the pool: all of it, or its record.
template <class Node, bool HasCopy = Node::has_copy>
struct stored_part {
  using type = Node;
  static Node& of(Node& node) noexcept { return node; }
};
template <class Node>
struct stored_part<Node, true> {
  using type = typename Node::record_type;
  static type& of(Node& node) { return node.stored(); }
};
template <class Node>
using stored_in_pool = typename stored_part<Node>::type;

/// The allocation of nodes.
template <class Node, domain::persistence_domain D>
class node_store {
  using stored = stored_in_pool<Node>;

 public:
  explicit node_store(alloc::arena<D>& arena) : arena_(arena) {}

  [[nodiscard]] alloc::arena<D>& arena() noexcept { return arena_; }

  /// Makes a version that is not linked yet and has no state. Throws out_of_space, and
  /// std::bad_alloc if the node has a copy.
  template <class Key, class Value>
  [[nodiscard]] Node* make(const Key& key, const Value& value) {
    static_assert(std::is_trivially_destructible_v<Node>);
    const domain::site where = domain::site::current();
    if constexpr (Node::has_copy) {
      void* const beside = copies_.take();
      try {
        return ::new (beside) Node(*store(key, value, where));
      } catch (...) {
        copies_.give(beside);
        throw;
      }
    } else {
      return store(key, value, where);
    }
  }

  /// Returns the node of a version in the pool, whose state `said` is durable. Throws
  /// std::bad_alloc.
  [[nodiscard]] Node* adopt(stored& found, node_state said) {
    if constexpr (Node::has_copy) {
      auto* const made = ::new (copies_.take()) Node(found);
      made->note_durable(said);
      return made;
    } else {
      found.store_state(said.durable());
      return &found;
    }
  }

  /// Returns the bytes of volatile memory of copies. For statistics.
  [[nodiscard]] std::size_t volatile_bytes() const {
    if constexpr (Node::has_copy) {
      return copies_.reserved_bytes();
    } else {
      return 0;
    }
  }

  /// Frees a node that no thread holds.
  void free(Node* node) noexcept {
    stored& gone = stored_part<Node>::of(*node);
    if constexpr (stored::is_distant) arena_.deallocate(const_cast<std::byte*>(gone.data()));
    arena_.deallocate(&gone, sizeof(stored));
    if constexpr (Node::has_copy) copies_.give(node);
  }

 private:
  struct no_copies {};

  template <class Key, class Value>
  stored* store(const Key& key, const Value& value, domain::site where) {
    if constexpr (stored::is_distant) {
      const std::size_t bytes = stored::bytes_for(key, value);
      // A block of another stride than a record's: recovery does not take it for one.
      auto* const elsewhere =
          static_cast<std::byte*>(arena_.allocate(std::max(bytes, base::cache_line_size + 1), 16));
      try {
        return ::new (allocate()) stored(elsewhere, key, value, where);
      } catch (...) {
        arena_.deallocate(elsewhere);
        throw;
      }
    } else {
      return ::new (allocate()) stored(key, value, where);
    }
  }
  void* allocate() { return arena_.allocate(sizeof(stored), std::bit_ceil(sizeof(stored))); }

  alloc::arena<D>& arena_;
  [[no_unique_address]] std::conditional_t<Node::has_copy, volatile_blocks<Node, D>, no_copies>
      copies_;
};

/// The volatile memory that the operations of one set share.
template <class Node, domain::persistence_domain D, reclaim::reclaimer Reclaimer>
class set_memory {
 public:
  /// Makes the memory. Each thread frees dead nodes in groups of `min_freed`, at least 1.
  set_memory(alloc::arena<D>& arena, Reclaimer& reclaimer, std::size_t min_freed)
      : nodes_(arena),
        reclaimer_(reclaimer),
        min_freed_(min_freed),
        dead_([min_freed](std::uint32_t) { return std::make_unique<dead_nodes>(min_freed); }) {}

  [[nodiscard]] node_store<Node, D>& nodes() noexcept { return nodes_; }
  [[nodiscard]] Reclaimer& reclaimer() noexcept { return reclaimer_; }
  [[nodiscard]] stamp_counts<D>& stamps() noexcept { return stamps_; }
  [[nodiscard]] superseded_lines<D>& lines() noexcept { return lines_; }
  /// Returns the owner of calls, for nodes that are retired elsewhere.
  [[nodiscard]] const base::callee::reference& owner_of_calls() noexcept {
    return nodes_.arena().owner_of_calls();
  }

  /// Retires a node that the caller's store has unlinked and whose next link was `next`.
  void retire(Node* node, typename Node::link next) {
    const bool is_dead = !next.has(algorithm::replaced);
    is_dead ? retire_dead(node) : retire_superseded(node);
  }
  void retire_dead(Node* node) { reclaimer_.retire(node, this, dispose_dead, owner_of_calls()); }
  void retire_superseded(Node* node) {
    reclaimer_.retire(node, this, dispose_superseded, owner_of_calls());
  }

  /// For durable::retry_after_reclaim: frees all dead nodes, except the few that each other thread
  /// gathers.
  void collect_for_room() {
    reclaimer_.collect_for_room();
    free_dead(dead_.local());
  }
  /// Frees all dead nodes. Requires: no operation runs.
  void collect_all() {
    reclaimer_.collect_all();
    dead_.for_each([this](dead_nodes& each) { free_dead(each); });
  }

 private:
  /// Nodes that no thread can hold any more.
  struct dead_nodes {
    explicit dead_nodes(std::size_t most) { nodes.reserve(most); }
    std::vector<Node*> nodes;
    std::size_t freed = 0;  // of whatever kind
  };
  /// After this number of freed nodes a thread returns pages without a node to the pool.
  static constexpr std::size_t freed_between_trims = std::size_t{1} << 15;

  // If there is no memory to record a node, the next opening finds it, however this one ends.

  /// Frees a superseded node: its state reaches the media before the next state of the block.
  static void dispose_superseded(void* context, void* object) noexcept {
    if (object == nullptr) return;
    auto& self = *static_cast<set_memory*>(context);
    self.nodes_.free(static_cast<Node*>(object));
    try {
      if (dead_nodes* const mine = self.dead_.local_or_null()) self.count_freed(*mine, 1);
    } catch (...) {
      // No volatile memory, or a device that fails: the pages stay where they are.
    }
  }
  static void dispose_dead(void* context, void* object) noexcept {
    if (object == nullptr) return;
    auto& self = *static_cast<set_memory*>(context);
    try {
      dead_nodes* const mine = self.dead_.local_or_null();
      if (mine == nullptr) return self.free_one(static_cast<Node*>(object));
      mine->nodes.push_back(static_cast<Node*>(object));
      if (mine->nodes.size() >= self.min_freed_) self.free_dead(*mine);
    } catch (...) {
      // A device that fails: what was not freed is found by the next opening.
    }
  }
  /// Frees one node, which the thread has no room to record.
  void free_one(Node* dead) {
    lines_.settle();
    nodes_.free(dead);
  }
  /// Waits until the versions that these nodes outrank are gone, then frees the nodes.
  void free_dead(dead_nodes& dead) {
    if (dead.nodes.empty()) return;
    lines_.settle();
    for (Node* node : dead.nodes) nodes_.free(node);
    const std::size_t freed = dead.nodes.size();
    dead.nodes.clear();
    count_freed(dead, freed);
  }
  void count_freed(dead_nodes& mine, std::size_t count) {
    mine.freed += count;
    if (mine.freed < freed_between_trims) return;
    mine.freed = 0;
    (void)nodes_.arena().trim();
  }

  node_store<Node, D> nodes_;
  Reclaimer& reclaimer_;
  const std::size_t min_freed_;
  stamp_counts<D> stamps_;
  superseded_lines<D> lines_;
  base::per_thread<dead_nodes> dead_;
};

/// Selects the count of a sorted set's stamps: equal keys have the same one.
template <class Key, class Compare>
struct sorted_stamps {
  std::uint64_t operator()(typename reading<Key>::view key) const noexcept {
    constexpr bool equal_means_same_bits = (std::integral<Key> || std::same_as<Key, std::string>) &&
                                           std::same_as<Compare, default_order<Key>>;
    if constexpr (equal_means_same_bits) {
      return base::default_hash<Key>{}(key);
    } else {
      return 0;
    }
  }
};

/// The guard of one operation, for algorithm::chain.
///
/// Invariants:
///   I1  A node has no state until it is linked, and "dead" or "superseded" only once it is marked.
///   I2  An operation that returns "present" has waited for the flush of the node's state. One that
///       returns "absent" has waited for the flush of "dead" in the node that it passed. A node is
///       unlinked only after that. Lookups wait only under Scheme::lookups_wait; the others return
///       the former state.
///   I3  A node becomes "superseded" only after the flush of its replacement's state was waited
///       for, and is unlinked only after that.
///   I4  The block of a dead node gets other content only after all older versions of its key are
///       superseded on the media.
///   I5  If lookups do not wait, a link is marked only after the flush of "live" in its node was
///       waited for.
template <class Scheme, class Node, reclaim::reclaimer Reclaimer, class StampOf>
class [[nodiscard]] set_operation {
  using D = typename Scheme::domain_type;
  using memory = set_memory<Node, D, Reclaimer>;
  using link = typename Node::link;
  using site = domain::site;

 public:
  explicit set_operation(memory& in) : memory_(in), session_(in.reclaimer().enter()) {}
  ~set_operation() { memory_.reclaimer().leave(session_); }
  set_operation(const set_operation&) = delete;
  set_operation& operator=(const set_operation&) = delete;

  /// Makes a version that is not linked yet and has no state. Throws out_of_space.
  template <class Key, class Value>
  [[nodiscard]] Node* make(const Key& key, const Value& value) {
    return memory_.nodes().make(key, value);
  }
  void unmake(alloc::arena<D>&, Node* never_linked) noexcept { memory_.nodes().free(never_linked); }
  void persist_private(const Node&) noexcept {}
  void retire_unlinked(alloc::arena<D>&, Node* node, const void*) { retire(node); }
  /// Retires a node that is unlinked.
  void retire(Node* node) { memory_.retire(node, node->next.load(durable::role::decide)); }

  /// Prepares a linked node: its link may be marked at return.
  void admit(Node& node, site where = site::current()) {
    if constexpr (Scheme::lookups_wait) {
      (void)with_stamp(node, where);
    } else {
      confirm(node, where);
    }
  }

  /// Makes the state of a linked node durable at return, unless a durable version outranks it.
  void confirm(Node& node, site where = site::current()) {
    if constexpr (!Scheme::lookups_wait) {
      if (node.seen() != phase::not_yet) return;
    }
    const node_state said = with_stamp(node, where);
    if (said.is_durable() || said.is_superseded()) return;
    make_durable(node, said, false, where);
  }

  /// Makes the end of a node durable at return, if its marked link means that it was erased.
  void passed(Node& node, link next, site where = site::current())
    requires(Scheme::lookups_wait)
  {
    if (!next.has(algorithm::replaced)) bury(node, where);
  }

  /// Prepares a node whose link is marked: it may be unlinked at return.
  void settle(Node& node, link next, site where = site::current()) {
    if (!next.has(algorithm::replaced)) {
      bury(node, where);
    } else if (!node.state().is_superseded()) {
      supersede(node, static_cast<Node&>(*next), where);
    }
  }

  /// Makes the end of an erased node durable at return.
  void bury(Node& node, site where = site::current()) {
    const node_state said = node.state();
    if (said.is_dead() && said.is_durable()) return;
    node.store_dead(where);
    const bool was_durable = !Scheme::lookups_wait || (said.is_live() && said.is_durable());
    make_durable(node, said.dead(), was_durable, where);
  }

  /// Makes `fresh`, which has replaced `old`, durable at return, unless a durable version outranks
  /// it.
  void supersede(Node& old, Node& fresh, site where = site::current()) {
    confirm(fresh, where.at(1));
    old.store_state(node_state::superseded(), where.at(2));
    memory_.lines().add(&stored_part<Node>::of(old), where.at(3));
  }

  /// The result of a lookup that does not wait.
  struct sight {
    Node* answer;  ///< the version that counts; null: the key is not there
    link onward;   ///< behind all versions that were looked at
  };
  /// Returns the valid version among `first` and its replacements: the durable state at one moment
  /// since the caller's operation began. Wait-free with fewer than 2^16 threads: a version that is
  /// reached after as many replacements was linked meanwhile, so the one before it was current
  /// meanwhile.
  [[nodiscard]] sight look(Node& first)
    requires(!Scheme::lookups_wait)
  {
    Node* before = nullptr;
    Node* at = &first;
    for (std::size_t versions = 0;; ++versions) {
      const phase its = at->seen();
      const link next = at->next.load(durable::role::decide);
      if (its == phase::not_yet) return {before, onward(next)};
      if (its == phase::over) return {nullptr, onward(next)};
      if (!next.has(algorithm::replaced) || versions == max_versions) {
        return {at, onward(next)};
      }
      before = std::exchange(at, static_cast<Node*>(next.get()));
    }
  }

 protected:
  [[nodiscard]] memory& shared() noexcept { return memory_; }

 private:
  static constexpr std::size_t max_versions = std::size_t{1} << 16;

  static link onward(link next) { return next.without(algorithm::deleted | algorithm::replaced); }

  /// Returns the state of a linked node, which has a stamp at return.
  node_state with_stamp(Node& node, site where) {
    const node_state said = node.state();
    if (!said.is_none()) return said;
    node.store_live(memory_.stamps().draw(StampOf{}(node.key.get())), where);
    return node.state();
  }

  /// Makes the state durable together with the key, without which it means nothing. The key may be
  /// durable already.
  void make_durable(Node& node, node_state said, bool key_is_durable, site where) {
    if constexpr (stored_in_pool<Node>::is_distant) {
      if (!key_is_durable) {
        const auto& its = stored_part<Node>::of(node);
        domain::flush<D>(its.data(), its.data_bytes(), where.at(1));
      }
    }
    memory_.lines().flush_before_wait(where.at(2));
    domain::persist_before_return<D>(&stored_part<Node>::of(node), sizeof(stored_in_pool<Node>),
                                     where);
    node.note_durable(said);
  }

  memory& memory_;
  typename Reclaimer::session session_;
};

/// Calls `visit(node)` for the live nodes after `first`, in order, until it returns false. The
/// visited nodes are durable, and so is the end of erased nodes that it passes.
template <class Node, class Operation, class Cell, class Visit>
void visit_nodes(Operation& op, const Cell& first, Visit&& visit) {
  using namespace algorithm;
  using link = typename Cell::value_type;
  for (link at = first.load(durable::role::decide); at;) {
    if (at.has(sentinel)) {
      at = at->next.load(durable::role::decide);
      continue;
    }
    Node& here = static_cast<Node&>(*at);
    if constexpr (requires { op.look(here); }) {
      const auto seen = op.look(here);
      if (seen.answer != nullptr && !visit(std::as_const(*seen.answer))) return;
      at = seen.onward;
    } else {
      const link next = here.next.load(durable::role::decide);
      if (next.has(deleted)) {
        op.passed(here, next);
      } else {
        op.confirm(here);
        if (!visit(std::as_const(here))) return;
      }
      at = next.without(deleted | replaced);
    }
  }
}

}  // namespace outlast::sets::detail
