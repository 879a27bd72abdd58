// A list written for std::atomic, made durable by six changed lines (01_durable_list.hpp).
// This is the rest: it allocates the nodes and finds them again.
#include "01_durable_list.hpp"

#include <outlast/alloc/arena.hpp>
#include <outlast/pool/pool.hpp>

#include <exception>
#include <iostream>
#include <new>

// [quote]
class pool_memory {
 public:
  explicit pool_memory(outlast::pool& pool)
      : root_(pool.attach_root("numbers", "number_set", 1, false)),
        arena_(pool.pages(), root_.index) {
    if (root_.state == outlast::root_state::fresh) {
      head_ = make(0, nullptr);
      outlast::durable::operation_completion();
      pool.publish_root(root_.index, head_);
      return;
    }
    head_ = reinterpret_cast<node*>(pool.base() + root_.object_offset);
    auto recovery = arena_.begin_recovery();  // frees all blocks that are not marked
    for (node* at = head_; at != nullptr; at = unmarked(at->next.load())) {
      recovery.mark(at);
      at->next.recover(), at->key.recover();
    }
    recovery.finish();
  }
  node* make(std::uint64_t key, node* next) {
    return new (arena_.allocate(sizeof(node), alignof(node))) node(key, next);
  }
  void unmake(node* never_linked) { arena_.deallocate(never_linked, sizeof(node)); }
  node& head() { return *head_; }

 private:
  outlast::attached_root root_;
  outlast::alloc::arena<outlast::domain::native> arena_;
  node* head_ = nullptr;
};
// [/quote]

int main(int argc, char** argv) {
  try {
    auto pool = outlast::pool::open_or_create(argc > 1 ? argv[1] : "example.pool");
    pool_memory memory(pool);
    number_set numbers(memory, memory.head());
    std::uint64_t next = 1;
    while (numbers.contains(next)) ++next;
    numbers.insert(next);  // durable when it returns
    std::cout << "this is run " << next << '\n';
    return 0;
  } catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
  }
}
