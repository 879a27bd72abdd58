// What hangs off the pool while a skip list is attached: its towers, its recovery.
// Part of skiplist.hpp.
#pragma once

#include <outlast/lockfree/skiplist.hpp>

#include <cstddef>

namespace outlast::lockfree {

template <class Key, class Value, durable::durability_policy Policy,
          std::strict_weak_order<Key, Key> Compare, template <class> class Reclaimer>
class skiplist<Key, Value, Policy, Compare, Reclaimer>::session final
    : public roots::root_session<D> {
  using base_type = roots::root_session<D>;

  /// On media: docs/formats/lockfree.md. The towers' words are valid after a clean close only.
  struct alignas(base::cache_line_size) root_block {
    cell head;
    std::atomic<std::uint64_t> count_at_close;
    typename index::head_words towers;
  };
  static_assert(sizeof(root_block) == 3 * base::cache_line_size);
  static_assert(offsetof(root_block, towers) == sizeof(cell) + 8);
  static_assert(sizeof(node) % 8 == 0 && alignof(node) >= 8, "the tower stands behind the node");

 public:
  using base_type::arena;
  using base_type::pool;

  session(pool_type& in, const attached_root& root, const skiplist_options& options)
      : base_type(in, root),
        nodes_(in.template service<reclaimer>()),
        heights_(std::clamp(options.highest, 1U, algorithm::max_levels_of_tower),
                 std::max(options.branching, 1U)) {
    const bool all_is_recovered = durable::attach_replicas<Policy>(in, arena());
    if (root.state == root_state::fresh) {
      create();
      return;
    }
    block_ = durable::to_working<Policy>(this->template object<root_block>());
    const bool moved = root.pointers_base != in.base();
    if (moved) relocate();
    was_recovered_ = root.state != root_state::clean;
    if (was_recovered_ || all_is_recovered) {
      recover();
      return;
    }
    arena().load_clean();
    count_.start_at(
        static_cast<std::int64_t>(D::load(stored().count_at_close, std::memory_order_relaxed)));
    // Whoever closed the pool may have had the towers in a twin: then the pool has none.
    if (moved || durable::is_mirrored<Policy>) {
      build_towers();
    } else {
      towers_.attach(block_->towers);
    }
  }

  bool before_close() override {
    // Where towers stand in a twin, each opening builds them anew.
    if (&stored() == block_) towers_.flush_towers();
    D::store(stored().count_at_close, static_cast<std::uint64_t>(count_.sum()),
             std::memory_order_relaxed);
    domain::persist<D>(&stored(), sizeof(root_block));
    return true;
  }
  void collect_all() override { nodes_.collect_all(); }
  void forbid() noexcept override { nodes_.forbid(); }

  [[nodiscard]] reclaimer& nodes() noexcept { return nodes_; }
  [[nodiscard]] cell& head() noexcept { return block_->head; }
  /// The link of `before`, or the head's.
  [[nodiscard]] cell& behind(node* before) noexcept {
    return before == nullptr ? head() : before->next;
  }
  [[nodiscard]] index& towers() noexcept { return towers_; }
  [[nodiscard]] algorithm::height_source& heights() noexcept { return heights_; }
  [[nodiscard]] base::sharded_count& count() noexcept { return count_; }
  [[nodiscard]] bool was_recovered() const noexcept { return was_recovered_; }

 private:
  [[nodiscard]] root_block& stored() const noexcept { return *durable::to_durable<Policy>(block_); }

  void create() {
    block_ = durable::to_working<Policy>(
        static_cast<root_block*>(arena().allocate(sizeof(root_block), alignof(root_block))));
    durable::blank<Policy>(block_, sizeof(root_block));
    domain::persist<D>(&stored(), sizeof(root_block));
    towers_.attach(block_->towers);
    pool().publish_root(this->root().index, &stored());
  }

  /// Re-entrant: a crash in here is an ordinary crash.
  void recover() {
    auto marking = arena().begin_recovery();
    marking.mark(&stored());
    detail::unlinked_nodes<Policy> unlinked;
    recover_chain(marking, unlinked);
    marking.finish();
    unlinked.free_in(arena());
  }

  template <class Marking>
  void recover_chain(Marking& marking, detail::unlinked_nodes<Policy>& unlinked) {
    typename index::builder towers(towers_, block_->towers);
    std::int64_t count = 0;
    const node* last = nullptr;
    cell* before = &block_->head;
    before->recover();
    if (before->load().marks() != 0) report("begins with a mark");
    for (link at = before->load(); at;) {
      node& here = recover_node(at, marking);
      const link next = here.next.load();
      if (next.has(algorithm::deleted)) {
        before->store(next.without(algorithm::deleted), durable::role::unlink);
        unlinked.add(&here);
      } else {
        check_order(last, here);
        towers.append(here);
        last = &here;
        before = &here.next;
        ++count;
      }
      at = next.without(algorithm::deleted);
    }
    towers.finish();
    count_.start_at(count);
  }

  template <class Marking>
  node& recover_node(link at, Marking& marking) {
    const node* const block = durable::to_durable<Policy>(at.get());
    if (!marking.mark(block)) report("runs in a circle");
    node& here = *at;
    check_size(here, arena().usable_size(block));
    here.next.recover();
    here.value.recover();
    return here;
  }

  void check_size(const node& here, std::size_t usable) {
    detail::require_place<node>(pool().path(), &here, usable);
    const unsigned height = here.height();
    if (height < 1 || height > algorithm::max_levels_of_tower || usable < bytes_of(height)) {
      report("has a node that is too small for its tower");
    }
  }

  void check_order(const node* last, const node& here) {
    if (last != nullptr && !Compare{}(last->key.get(), here.key.get())) report("is out of order");
  }

  [[noreturn]] void report(const char* what) { detail::report_corrupt_chain(pool().path(), what); }

  /// Re-entrant: moves each pointer of the chain at most once, whoever moved the others. The towers
  /// are not moved but built anew.
  void relocate() {
    detail::relocate_chain(pool(), this->root(), block_->head);
    domain::fence<D>();
    pool().root_relocated(this->root().index);
  }

  /// The chain is whole: it was closed cleanly.
  void build_towers() {
    typename index::builder towers(towers_, block_->towers);
    const node* last = nullptr;
    algorithm::visit_chain(block_->head, [&](node& here) {
      check_size(
          here, pool().pages().block_bytes(durable::to_durable<Policy>(&here), this->root().index));
      check_order(last, here);
      towers.append(here);
      last = &here;
      return true;
    });
    towers.finish();
  }

  reclaimer& nodes_;
  algorithm::height_source heights_;
  root_block* block_ = nullptr;
  index towers_;
  base::sharded_count count_;
  bool was_recovered_ = false;
};

}  // namespace outlast::lockfree
