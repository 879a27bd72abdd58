// A stack as a user of the library would write it: an arena, durable cells, and nodes that are used
// again. What its author may get wrong is when.
#pragma once

#include <outlast/alloc/arena.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/verify/eager_epochs.hpp>
#include <outlast/verify/simulated.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace outlast::test {

/// When a popped node is free.
enum class freeing {
  after_epochs,  ///< when no operation can hold it any more: right
  at_once,       ///< when it is popped: other threads may still read it
};

template <freeing When>
class treiber_stack {
  using D = domain::simulated;

 public:
  using policy_type = durable::flit<durable::tag::adjacent, durable::automatic, D>;
  using pool_type = basic_pool<D>;
  using value_type = std::uint64_t;

 private:
  using epochs = verify::eager_epochs<D>;
  using operation = policy_type::operation<epochs>;

  struct node {
    explicit node(std::uint64_t its_value) : value(its_value) {}
    policy_type::cell<node*> next;
    policy_type::field<std::uint64_t> value;
  };
  using top_cell = policy_type::cell<node*>;

 public:
  treiber_stack(pool_type& pool, std::string_view name)
      : root_(pool.attach_root(name, "treiber_stack", 1, false)),
        arena_(pool.pages(), root_.index) {
    if (root_.state == root_state::fresh) {
      top_ = new (arena_.allocate(sizeof(top_cell), alignof(top_cell))) top_cell(nullptr);
      domain::persist<D>(top_, sizeof *top_);
      pool.publish_root(root_.index, top_);
      return;
    }
    top_ = reinterpret_cast<top_cell*>(pool.base() + root_.object_offset);
    auto recovery = arena_.begin_recovery();
    recovery.mark(top_);
    top_->recover();
    for (node* at = top_->load(); at != nullptr; at = at->next.load()) {
      recovery.mark(at);
      at->next.recover();
    }
    recovery.finish();
  }

  void push(std::uint64_t value) {
    operation op(epochs_);
    node* const fresh = op.template make<node>(arena_, value);
    node* top = top_->load();
    do {
      fresh->next.init(top);
      op.persist_private(*fresh);
    } while (!top_->compare_exchange(top, fresh));
  }

  std::optional<std::uint64_t> pop() {
    operation op(epochs_);
    for (node* top = top_->load(); top != nullptr;) {
      node* const next = top->next.load();
      if (!top_->compare_exchange(top, next)) continue;
      const std::uint64_t value = top->value.get();
      if constexpr (When == freeing::at_once) {
        arena_.deallocate(top);
      } else {
        op.retire(arena_, top);
      }
      return value;
    }
    return std::nullopt;
  }

  template <class Visit>
  void for_each(Visit&& visit) {
    for (node* at = top_->load(); at != nullptr; at = at->next.load()) visit(at->value.get());
  }

  [[nodiscard]] alloc::arena<D>& arena() noexcept { return arena_; }

 private:
  epochs epochs_;
  attached_root root_;
  alloc::arena<D> arena_;
  top_cell* top_ = nullptr;
};

}  // namespace outlast::test
