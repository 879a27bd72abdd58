// Lock-free code of your own, made durable: a stack whose links are durable cells.
#include <outlast/alloc/arena.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/pool/pool.hpp>

#include <iostream>

// [quote]
using policy = outlast::durable::flit<>;  // flush if tagged: each store is durable when it returns
using domain = policy::domain_type;

struct node {
  explicit node(std::uint64_t its_value) : value(its_value) {}
  policy::cell<node*> next;            // shared and mutable
  policy::field<std::uint64_t> value;  // never changes once the node is linked
};
class durable_stack {
 public:
  explicit durable_stack(outlast::pool& pool)
      : root_(pool.attach_root("stack", "durable_stack", 1, false)),
        arena_(pool.pages(), root_.index) {
    if (root_.state == outlast::root_state::fresh) {
      top_ = new (arena_.allocate(sizeof *top_, alignof(node))) policy::cell<node*>(nullptr);
      outlast::domain::persist<domain>(top_, sizeof *top_);
      pool.publish_root(root_.index, top_);
      return;
    }
    top_ = reinterpret_cast<policy::cell<node*>*>(pool.base() + root_.object_offset);
    auto recovery = arena_.begin_recovery();  // frees all blocks that are not marked
    recovery.mark(top_);
    top_->recover();
    for_each([&](node& each) { recovery.mark(&each), each.next.recover(); });
    recovery.finish();
  }
  void push(std::uint64_t value) {
    node* const fresh = new (arena_.allocate(sizeof(node), alignof(node))) node(value);
    for (node* top = top_->load();;) {
      fresh->next.init(top);
      outlast::domain::flush<domain>(fresh, sizeof(node));
      if (top_->compare_exchange(top, fresh)) return;  // waits for the node, links it durably
    }
  }
  void for_each(auto visit) {
    for (node* at = top_->load(); at != nullptr; at = at->next.load()) visit(*at);
  }

 private:
  outlast::attached_root root_;
  outlast::alloc::arena<domain> arena_;
  policy::cell<node*>* top_ = nullptr;
};
// [/quote]
int main(int argc, char** argv) {
  auto pool = outlast::pool::open_or_create(argc > 1 ? argv[1] : "example.pool");
  durable_stack stack(pool);
  stack.push(42);
  std::uint64_t sum = 0;
  stack.for_each([&](node& each) { sum += each.value.get(); });
  std::cout << "the sum of all runs: " << sum << '\n';
}
