// A stack of your own that pops.
#include "01_reclaiming_stack.hpp"

#include <outlast/pool/pool.hpp>

#include <iostream>

// [quote]
using stack = reclaiming_stack<outlast::durable::flit<>>;

void work_in(outlast::pool& pool) {
  stack undo(pool, "undo");
  undo.push(1);
  undo.push(2);
  while (const auto last = undo.pop()) std::cout << *last << '\n';
  undo.push(3);
}
// [/quote]
int main(int argc, char** argv) {
  auto pool = outlast::pool::open_or_create(argc > 1 ? argv[1] : "example.pool");
  work_in(pool);
  pool.close();
}
