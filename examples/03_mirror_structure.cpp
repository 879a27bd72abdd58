// A list written for std::atomic, made durable by three changed lines
// (03_mirrored_list.hpp). This is the rest: it allocates the nodes and finds them again.
#include "03_mirrored_list.hpp"

#include <outlast/alloc/arena.hpp>
#include <outlast/pool/pool.hpp>

#include <iostream>
#include <new>

using outlast::durable::to_durable, outlast::durable::to_working;

// [quote]
class pool_memory {
  using policy = outlast::durable::mirror<>;
  using domain = policy::domain_type;

 public:
  explicit pool_memory(outlast::pool& pool)
      : root_(pool.attach_root("numbers", "mirrored_set", 1, false)),
        arena_(pool.pages(), root_.index) {
    outlast::durable::attach_replicas<policy>(pool, arena_);
    if (root_.state == outlast::root_state::fresh) {
      head_ = make(0, nullptr);
      outlast::domain::fence<domain>();
      pool.publish_root(root_.index, to_durable<policy>(head_));
      return;
    }
    head_ = to_working<policy>(reinterpret_cast<node*>(pool.base() + root_.object_offset));
    auto recovery = arena_.begin_recovery();  // frees all blocks that are not marked
    for (node* at = head_; at != nullptr; at = unmarked(at->next.load())) {
      recovery.mark(to_durable<policy>(at));
      at->next.recover();
    }
    recovery.finish();
  }
  node* make(std::uint64_t key, node* next) {
    auto* const block = static_cast<node*>(arena_.allocate(sizeof(node), alignof(node)));
    node* const fresh = new (to_working<policy>(block)) node(key, next);
    outlast::domain::flush<domain>(block, sizeof(node));  // the linking store waits for it
    return fresh;
  }
  void unmake(node* never_linked) { arena_.deallocate(to_durable<policy>(never_linked)); }
  node& head() { return *head_; }

 private:
  outlast::attached_root root_;
  outlast::alloc::arena<domain> arena_;
  node* head_ = nullptr;
};
// [/quote]
int main(int argc, char** argv) {
  auto pool = outlast::pool::open_or_create(argc > 1 ? argv[1] : "example.pool");
  pool_memory memory(pool);
  number_set numbers(memory, memory.head());
  std::uint64_t next = 1;
  while (numbers.contains(next)) ++next;  // flushes nothing
  numbers.insert(next);                   // durable when it returns
  std::cout << "this is run " << next << '\n';
}
