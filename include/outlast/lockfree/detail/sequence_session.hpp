// The session of structures without keys: a chain of nodes that begins at a root block.
//
// A structure defines its root block and its node. This class attaches, creates, closes, moves and
// recovers the root.
#pragma once

#include <outlast/base/hash.hpp>
#include <outlast/base/sharded_count.hpp>
#include <outlast/base/stored_name.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/durable/replicas.hpp>
#include <outlast/lockfree/detail/recovery.hpp>
#include <outlast/root/root_session.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace outlast::lockfree::detail {

/// One pass over the chain of a root after a crash: marks its blocks and clears their counters.
/// `Node` has a cell `next` with links to nodes. Not re-entrant itself, but a crash in it is an
/// ordinary crash, because it stores nothing except counters.
template <class Node, class Policy>
class tracing {
 public:
  using D = typename Policy::domain_type;
  using link = typename decltype(Node::next)::value_type;

  explicit tracing(roots::root_session<D>& of) : of_(of), marking_(of.arena().begin_recovery()) {}

  /// Calls `visit(Node&)` for each node from `first` on. Throws corruption.
  template <class Visit>
  void follow(link first, Visit&& visit) {
    for (Node* at = first.get(); at != nullptr; at = at->next.load().get()) {
      const Node* const block = durable::to_durable<Policy>(at);
      if (!marking_.mark(block)) refuse("runs in a circle");
      require_place<Node>(of_.pool().path(), block, of_.arena().usable_size(block));
      at->next.recover();
      visit(*at);
    }
  }
  /// Marks the block as used.
  void keep(const void* block) { marking_.mark(block); }
  /// Drops a node that is not needed any more; finish() frees it.
  void drop(Node& node) { unlinked_.add(&node); }
  /// Frees everything that was not reached, and the dropped nodes once their removal is durable.
  void finish() {
    marking_.finish();
    unlinked_.free_in(of_.arena());
  }
  [[noreturn]] void refuse(const char* what) const {
    report_corrupt_chain(of_.pool().path(), what);
  }

 private:
  roots::root_session<D>& of_;
  typename alloc::arena<D>::recovery marking_;
  unlinked_nodes<Policy> unlinked_;
};

/// The root type of a sequence of `Value`s.
template <class Value, class Policy>
[[nodiscard]] roots::root_type sequence_type(const std::string& structure) {
  std::string name =
      structure + "<" + std::to_string(sizeof(Value)) + "> over " + std::string(Policy::layout());
  const std::string full = name + base::stored_name<Value>() + ",1";
  return {std::move(name), base::hash_bytes(full), true, Policy::durable};
}

/// The volatile state of an attached sequence.
///
/// `Block` is the root block on media, with an atomic word `count_at_close` and
///   create(session)      makes it an empty sequence; it is zero, and flushed afterwards
///   relocate(session)    moves its links and those of its nodes; re-entrant; fenced afterwards
///   check(session)       throws corruption if a link at which operations begin names no node
///   recover(tracing)     follows and repairs the chain; returns the number of values
template <class Block, class Node, class Policy, template <class> class Reclaimer>
class sequence_session final : public roots::root_session<typename Policy::domain_type> {
 public:
  using D = typename Policy::domain_type;
  using base_type = roots::root_session<D>;
  using reclaimer = Reclaimer<D>;
  using pool_type = basic_pool<D>;
  using link = typename decltype(Node::next)::value_type;
  using base_type::arena;
  using base_type::pool;

  sequence_session(pool_type& in, const attached_root& root)
      : base_type(in, root), nodes_(in.template service<reclaimer>()) {
    const bool all_is_recovered = durable::attach_replicas<Policy>(in, arena());
    if (root.state == root_state::fresh) {
      create();
      return;
    }
    block_ = durable::to_working<Policy>(this->template object<Block>());
    if (root.pointers_base != in.base()) relocate();
    was_recovered_ = root.state != root_state::clean;
    if (was_recovered_ || all_is_recovered) {
      recover();
    } else {
      take_over();
    }
  }

  bool before_close() override {
    D::store(stored().count_at_close, static_cast<std::uint64_t>(count_.sum()),
             std::memory_order_relaxed);
    domain::persist<D>(&stored(), sizeof(Block));
    return true;
  }
  void collect_all() override { nodes_.collect_all(); }
  void forbid() noexcept override { nodes_.forbid(); }

  [[nodiscard]] reclaimer& nodes() noexcept { return nodes_; }
  [[nodiscard]] Block& block() noexcept { return *block_; }
  [[nodiscard]] base::sharded_count& count() noexcept { return count_; }
  [[nodiscard]] bool was_recovered() const noexcept { return was_recovered_; }

  /// Returns a zeroed block, at its address in the working replica. Throws out_of_space.
  template <class T>
  [[nodiscard]] T* allocate_zeroed() {
    T* const block =
        durable::to_working<Policy>(static_cast<T*>(arena().allocate(sizeof(T), alignof(T))));
    durable::blank<Policy>(block, sizeof(T));
    return block;
  }
  /// Starts the write-back of the durable replica of `block`.
  template <class T>
  void flush(const T* block) {
    domain::flush<D>(durable::to_durable<Policy>(block), sizeof(T));
  }

  /// Throws corruption unless a node of this root begins where `at` points.
  void require_node(link at) {
    const Node* const block = durable::to_durable<Policy>(at.get());
    const std::size_t usable = pool().pages().block_bytes(block, this->root().index);
    if (usable == 0) report_corrupt_chain(pool().path(), "is entered where no node is");
    require_place<Node>(pool().path(), block, usable);
  }

 private:
  /// Creates the root. Everything that create() of the block allocates is durable before the root
  /// is published.
  void create() {
    block_ = allocate_zeroed<Block>();
    block_->create(*this);
    domain::persist<D>(&stored(), sizeof(Block));
    pool().publish_root(this->root().index, &stored());
  }
  [[nodiscard]] Block& stored() const noexcept { return *durable::to_durable<Policy>(block_); }

  void take_over() {
    block_->check(*this);
    arena().load_clean();
    count_.start_at(
        static_cast<std::int64_t>(D::load(stored().count_at_close, std::memory_order_relaxed)));
  }

  /// Repairs the sequence after a crash. Re-entrant: a crash in this function is an ordinary crash.
  void recover() {
    tracing<Node, Policy> trace(*this);
    trace.keep(&stored());
    count_.start_at(block_->recover(trace));
    trace.finish();
  }

  /// Moves the sequence to another address. Re-entrant: moves each pointer at most once, also if an
  /// earlier process has moved others.
  void relocate() {
    block_->relocate(*this);
    domain::fence<D>();
    pool().root_relocated(this->root().index);
  }

  reclaimer& nodes_;
  Block* block_ = nullptr;
  base::sharded_count count_;
  bool was_recovered_ = false;
};

}  // namespace outlast::lockfree::detail
