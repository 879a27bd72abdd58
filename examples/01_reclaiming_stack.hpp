// A stack of your own that pops. A popped node is reused when no thread can hold it any more.
// The program that uses the stack and the verifier include the same source.
#pragma once

#include <outlast/base/hash.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/reclaim/epochs.hpp>
#include <outlast/root/attached.hpp>
#include <outlast/root/root_session.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// [quote]
template <class Policy, template <class> class Reclaimer = outlast::reclaim::epochs>
class reclaiming_stack {
  using domain = typename Policy::domain_type;
  using reclaimer = Reclaimer<domain>;
  using operation = typename Policy::template operation<reclaimer>;
  struct node {
    explicit node(std::uint64_t its_value) : value(its_value) {}
    typename Policy::template cell<node*> next;
    typename Policy::template field<std::uint64_t> value;
  };
  using cell = typename Policy::template cell<node*>;

  /// Stays with the pool until the pool is closed or the root is dropped.
  struct session : outlast::roots::root_session<domain> {
    session(outlast::basic_pool<domain>& pool, const outlast::attached_root& root)
        : outlast::roots::root_session<domain>(pool, root),
          nodes(pool.template service<reclaimer>()) {
      auto& blocks = this->arena();
      if (root.state == outlast::root_state::fresh) {
        top = new (blocks.allocate(sizeof(cell), alignof(cell))) cell(nullptr);
        outlast::domain::persist<domain>(top, sizeof *top);
        pool.publish_root(root.index, top);
        return;
      }
      top = this->template object<cell>();
      if (root.state == outlast::root_state::clean) {
        blocks.load_clean();
        return;
      }
      auto recovery = blocks.begin_recovery();
      recovery.mark(top);
      top->recover();
      for (node* at = top->load(); at != nullptr; at = at->next.load()) {
        recovery.mark(at);
        at->next.recover();
      }
      recovery.finish();
    }
    bool before_close() override { return true; }  // saves only the blocks in use
    void collect_all() override { nodes.collect_all(); }
    void forbid() noexcept override { nodes.forbid(); }

    reclaimer& nodes;
    cell* top = nullptr;
  };

 public:
  using policy_type = Policy;
  using pool_type = outlast::basic_pool<domain>;
  using value_type = std::uint64_t;

  reclaiming_stack(pool_type& pool, std::string_view name)
      : session_(pool, name, {"reclaiming_stack", fingerprint(), false}) {}

  void push(std::uint64_t value) {
    // If the pool is full, this reclaims and tries again.
    outlast::durable::retry_after_reclaim(session_->nodes, [&] {
      operation op(session_->nodes);
      node* const fresh = op.template make<node>(session_->arena(), value);
      node* top = session_->top->load();
      do {
        fresh->next.init(top);
        op.persist_private(*fresh);
      } while (!session_->top->compare_exchange(top, fresh));
    });
  }
  std::optional<std::uint64_t> pop() {
    operation op(session_->nodes);  // visible nodes are not reused before it ends
    for (node* top = session_->top->load(); top != nullptr;) {
      node* const next = top->next.load();
      if (!session_->top->compare_exchange(top, next)) continue;
      const std::uint64_t value = top->value.get();
      op.retire(session_->arena(), top);
      return value;
    }
    return std::nullopt;
  }
  void for_each(auto visit) {
    operation op(session_->nodes);
    for (node* at = session_->top->load(); at != nullptr; at = at->next.load()) {
      visit(at->value.get());
    }
  }
  auto& arena() { return session_->arena(); }

 private:
  /// Equal if and only if the layouts of nodes are equal.
  static std::uint64_t fingerprint() {
    return outlast::base::hash_bytes("reclaiming_stack, 1, " + std::string(Policy::layout()));
  }

  outlast::roots::attached<session> session_;
};
// [/quote]
