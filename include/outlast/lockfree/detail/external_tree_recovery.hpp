// The recovery of an external search tree: it marks, checks and moves edges, and finishes half-done
// deletions. No function recurses, because a tree can be as deep as its number of keys.
#pragma once

#include <outlast/algorithm/external_tree.hpp>
#include <outlast/alloc/arena.hpp>
#include <outlast/base/error.hpp>
#include <outlast/domain/parallel.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/lockfree/detail/recovery.hpp>
#include <outlast/pool/pool.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace outlast::lockfree::detail {

[[noreturn]] inline void report_corrupt_tree(const std::string& path, const char* what) {
  throw corruption(path, std::string("a search tree ") + what +
                             "; the pool was damaged outside of Outlast, restore it from a backup");
}

/// Walks a subtree after a crash, before it is shared, children before their parents. Marks its
/// blocks as used, removes flagged leaves, and lowers counters. Re-entrant.
template <class Nodes, class Policy, class Compare>
class tree_repair {
 public:
  using D = typename Policy::domain_type;
  using edge = typename Nodes::edge;
  using cell = typename Nodes::cell;
  using leaf = typename Nodes::leaf;
  using internal = typename Nodes::internal;
  using marking = typename alloc::arena<D>::recovery;

  /// The outermost leaves of a subtree that are not deleted; null pointers if there are none.
  struct extent {
    const leaf* least = nullptr;
    const leaf* greatest = nullptr;
  };

  /// An internal node whose children are not all repaired.
  struct frame {
    cell* named_by;
    internal* node;
    bool left_is_done = false;
    extent left = {};
  };

  tree_repair(const std::string& path, alloc::arena<D>& arena, marking& blocks)
      : path_(path), arena_(arena), blocks_(blocks) {}

  /// Repairs the subtree that `from`, which is recovered, names. Durable at return, except the
  /// removals that free_unlinked() completes. Throws corruption, bad_alloc.
  extent repair_below(cell& from) {
    extent below = enter(from);
    while (!open_.empty()) below = go_on(below);
    return below;
  }

  /// Recovers the node that `at` names.
  internal& examine_internal(edge at) {
    if (!at) report_corrupt_tree(path_, "has a node without a child");
    if (at.has(algorithm::flagged))
      report_corrupt_tree(path_, "has a deleted node that is no leaf");
    examine_block(at, sizeof(internal), alignof(internal));
    internal& node = *Nodes::internal_at(at);
    node.left.recover();
    node.right.recover();
    node.shared.recover();
    durable::expect_recovery<Policy>(node.right.load().get());  // while we are on the left
    return node;
  }

  /// Checks a node both of whose sides are repaired, and removes it if one side is deleted.
  extent leave(const frame& done, extent right) {
    internal& node = *done.node;
    const edge on_the_left = node.left.load();
    const edge on_the_right = node.right.load();
    if (on_the_left.has(algorithm::flagged)) {
      take_out(done, on_the_left, on_the_right);
      return right;
    }
    if (on_the_right.has(algorithm::flagged)) {
      take_out(done, on_the_right, on_the_left);
      return done.left;
    }
    if (on_the_left.has(algorithm::tagged) || on_the_right.has(algorithm::tagged)) {
      report_corrupt_tree(path_, "has a tag that no deletion needs");
    }
    if (!precedes(*done.left.greatest, node) || precedes(*right.least, node)) {
      report_corrupt_tree(path_, "is out of order");
    }
    return {done.left.least, right.greatest};
  }

  /// Removes the only leaf if it is flagged.
  void remove_flagged_root(cell& root) {
    const edge last = root.load();
    if (!last.has(algorithm::flagged)) return;
    root.store(edge{}, durable::role::unlink);
    unlinked_.add(Nodes::leaf_at(last));
  }

  /// Returns the number of keys found so far that are not deleted.
  [[nodiscard]] std::int64_t keys() const noexcept { return keys_; }
  /// Waits for the unlinkings, and then frees the unlinked nodes. Called after marking is finished.
  void free_unlinked() { unlinked_.free_in(arena_); }

 private:
  /// Goes down on the left from `from` to a leaf, and opens the internal nodes on the way.
  extent enter(cell& from) {
    cell* link = &from;
    edge at = link->load();
    while (!at.has(algorithm::to_leaf)) {
      internal& node = examine_internal(at);
      open_.push_back({link, &node});
      link = &node.left;
      at = link->load();
    }
    return examine_leaf(at);
  }

  /// Ends one side of the innermost open node: the side is repaired, and `below` is its remainder.
  extent go_on(extent below) {
    frame& innermost = open_.back();
    if (!innermost.left_is_done) {
      innermost.left_is_done = true;
      innermost.left = below;
      return enter(innermost.node->right);
    }
    const frame done = innermost;
    open_.pop_back();
    return leave(done, below);
  }

  void take_out(const frame& from, edge gone, edge stays) {
    from.named_by->store(stays.without(algorithm::tagged), durable::role::unlink);
    unlinked_.add(Nodes::leaf_at(gone));
    unlinked_.add(from.node);
  }

  extent examine_leaf(edge at) {
    if (!at) report_corrupt_tree(path_, "has a leaf that is nowhere");
    examine_block(at, sizeof(leaf), alignof(leaf));
    const leaf* const here = Nodes::leaf_at(at);
    here->value.recover();
    if (at.has(algorithm::flagged)) return {};
    ++keys_;
    return {here, here};
  }

  void examine_block(edge at, std::size_t bytes, std::size_t align) {
    const auto* const block = durable::to_durable<Policy>(at.get());
    if (!blocks_.mark(block)) report_corrupt_tree(path_, "runs in a circle");
    if (arena_.usable_size(block) < bytes) {
      report_corrupt_tree(path_, "has a node that is too small");
    }
    if (reinterpret_cast<std::uintptr_t>(block) % align != 0) {
      report_corrupt_tree(path_, "has a node at an address that is not aligned");
    }
  }

  template <class One, class Other>
  static bool precedes(const One& one, const Other& other) {
    return Compare{}(one.key.get(), other.key.get());
  }

  const std::string& path_;
  alloc::arena<D>& arena_;
  marking& blocks_;
  std::vector<frame> open_;
  unlinked_nodes<Policy> unlinked_;
  std::int64_t keys_ = 0;
};

/// Repairs a whole tree with several threads: first its top, by one thread, then the subtrees
/// below, then the top again, from the lowest nodes up. Re-entrant.
template <class Nodes, class Policy, class Compare>
class tree_recovery {
  using repair = tree_repair<Nodes, Policy, Compare>;
  using D = typename repair::D;
  using edge = typename repair::edge;
  using cell = typename repair::cell;
  using internal = typename repair::internal;
  using extent = typename repair::extent;

 public:
  tree_recovery(const std::string& path, alloc::arena<D>& arena, typename repair::marking& blocks)
      : path_(path), arena_(arena), blocks_(blocks), top_(path, arena, blocks) {}

  /// Returns the number of keys. Durable at return, except the removals that free_unlinked()
  /// completes. Throws corruption, bad_alloc.
  std::int64_t run(cell& root) {
    root.recover();
    const edge first = root.load();
    if (first.has(algorithm::tagged)) report_corrupt_tree(path_, "begins with a tag");
    if (!first) return 0;
    const unsigned threads = domain::threads_for_opening<D>();
    split(root, threads == 1 ? 2 : threads * subtrees_per_thread);
    // A tree with so few parts is not worth a thread.
    const bool is_small = parts_.size() < subtrees_per_thread;
    repair_subtrees(is_small ? 1 : threads);
    for (std::size_t i = parts_.size(); i-- > 0;) join(parts_[i]);
    top_.remove_flagged_root(root);
    std::int64_t keys = top_.keys();
    for (const repair& each : workers_) keys += each.keys();
    return keys;
  }

  /// Waits for the unlinkings, and then frees the unlinked nodes. Called after marking is finished.
  void free_unlinked() {
    for (repair& each : workers_) each.free_unlinked();
    top_.free_unlinked();
  }

 private:
  static constexpr std::size_t subtrees_per_thread = 32;

  /// A subtree, or a node above subtrees.
  struct part {
    cell* from;
    internal* node = nullptr;  // null: the subtree is some worker's
    std::size_t left = 0;
    std::size_t right = 0;
    extent below = {};
  };

  /// Splits the tree, breadth first, into about this number of subtrees. A part precedes those
  /// below it.
  void split(cell& root, std::size_t subtrees) {
    parts_.push_back({&root});
    for (std::size_t i = 0; i < parts_.size() && parts_.size() - i < subtrees; ++i) {
      const edge at = parts_[i].from->load();
      if (at.has(algorithm::to_leaf)) continue;
      internal& node = top_.examine_internal(at);
      parts_[i].node = &node;
      parts_[i].left = parts_.size();
      parts_.push_back({&node.left});
      parts_[i].right = parts_.size();
      parts_.push_back({&node.right});
    }
  }

  void repair_subtrees(unsigned threads) {
    for (unsigned i = 0; i < threads; ++i) workers_.emplace_back(path_, arena_, blocks_);
    std::atomic<std::size_t> next{0};
    base::in_parallel(threads, [&](unsigned worker) {
      for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < parts_.size();) {
        part& each = parts_[i];
        if (each.node == nullptr) each.below = workers_[worker].repair_below(*each.from);
      }
      domain::fence<D>();  // for the flushes of this thread
    });
  }

  void join(part& above) {
    if (above.node == nullptr) return;
    const typename repair::frame done{above.from, above.node, true, parts_[above.left].below};
    above.below = top_.leave(done, parts_[above.right].below);
  }

  const std::string& path_;
  alloc::arena<D>& arena_;
  typename repair::marking& blocks_;
  repair top_;
  std::vector<repair> workers_;
  std::vector<part> parts_;
};

/// Moves every edge of a tree, from `root` on; afterwards the edges can be loaded. Re-entrant; not
/// fenced.
template <class Nodes, domain::persistence_domain D>
void relocate_tree(basic_pool<D>& pool, const attached_root& attached, typename Nodes::cell& root) {
  using edge = typename Nodes::edge;
  using internal = typename Nodes::internal;
  const relocation<D> move(pool, attached);
  std::size_t steps_left =
      std::size_t{pool.pages().limit()} * pool_format::page_bytes / sizeof(edge);
  std::vector<typename Nodes::cell*> to_move{&root};
  for (; !to_move.empty(); --steps_left) {
    typename Nodes::cell& link = *to_move.back();
    to_move.pop_back();
    const edge after = move.in(link);
    if (!after || after.has(algorithm::to_leaf)) continue;
    const auto* const bytes = reinterpret_cast<const std::byte*>(after.get());
    if ((after.word() & ~edge::mask) % alignof(internal) != 0 || !pool.pages().contains(bytes) ||
        !pool.pages().contains(bytes + sizeof(internal) - 1)) {
      report_corrupt_tree(pool.path(), "leaves the pool");
    }
    if (steps_left == 0) report_corrupt_tree(pool.path(), "runs in a circle");
    internal& node = *Nodes::internal_at(link.load());
    to_move.push_back(&node.right);
    to_move.push_back(&node.left);
  }
}

}  // namespace outlast::lockfree::detail
