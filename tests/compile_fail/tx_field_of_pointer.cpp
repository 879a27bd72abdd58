// A plain pointer in a transaction's object leads into one replica, or out of the pool.
#include <outlast/tx/heap.hpp>

struct node {
#ifdef OUTLAST_GOOD
  outlast::tx::pointer<node> next;
#else
  outlast::tx::field<node*> next;
#endif
};

node* make() { return outlast::tx::alloc<node>(); }
