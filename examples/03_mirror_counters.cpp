// std::atomic in a file. A box office sells each seat once, even if it is killed.
#include <outlast/alloc/arena.hpp>
#include <outlast/durable/mirror.hpp>
#include <outlast/pool/pool.hpp>

#include <iostream>
#include <new>
#include <thread>
#include <vector>

// [quote]
struct box_office {
  outlast::mirror::atomic<std::uint64_t> customers;    // number of customers so far
  outlast::mirror::atomic<std::uint64_t> holder[500];  // of each seat; 0 if it is free

  void serve() {
    const std::uint64_t customer = customers.fetch_add(1) + 1;
    for (auto& seat : holder) {
      std::uint64_t unsold = 0;
      if (seat.compare_exchange_strong(unsold, customer)) return;  // the sale is durable
    }
  }
};

using policy = outlast::durable::mirror<>;
using outlast::durable::to_working;

box_office& find_or_create(outlast::pool& pool, const outlast::attached_root& root,
                           outlast::alloc::arena<policy::domain_type>& arena) {
  outlast::durable::attach_replicas<policy>(pool, arena);  // must come first
  if (root.state == outlast::root_state::fresh) {
    void* const block = arena.allocate(sizeof(box_office), alignof(box_office));
    auto* const office = new (to_working<policy>(static_cast<std::byte*>(block))) box_office;
    outlast::domain::persist<policy::domain_type>(block, sizeof(box_office));
    pool.publish_root(root.index, block);
    return *office;
  }
  auto* const block = reinterpret_cast<box_office*>(pool.base() + root.object_offset);
  auto recovery = arena.begin_recovery();  // frees all blocks that are not marked
  recovery.mark(block);
  recovery.finish();
  return *to_working<policy>(block);
}
// [/quote]

int main(int argc, char** argv) {
  auto pool = outlast::pool::open_or_create(argc > 1 ? argv[1] : "example.pool");
  const outlast::attached_root root = pool.attach_root("office", "box_office", 1, false);
  outlast::alloc::arena<policy::domain_type> arena(pool.pages(), root.index);
  box_office& office = find_or_create(pool, root, arena);
  std::vector<std::jthread> clerks(4);
  for (std::jthread& clerk : clerks) clerk = std::jthread([&] { office.serve(); });
  clerks.clear();  // waits for them
  unsigned sold = 0;
  for (const auto& seat : office.holder) sold += seat != 0 ? 1 : 0;
  std::cout << office.customers << " customers, " << sold << " seats sold\n";
}
