// A pool is a file of named, typed roots. Structures of different families share one.
//
// Run it twice: the second run finds what the first one stored.
#include <outlast/lockfree/harris_list.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/pool/pool.hpp>

#include <cstdint>
#include <exception>
#include <iostream>

namespace {

// [quote]
void count_a_run(outlast::pool& pool) {
  // Each name is one root. The pool stores its type.
  outlast::lockfree::harris_list<std::uint64_t, std::uint64_t> totals(pool, "totals");
  outlast::lockfree::hash_table<std::uint64_t> seen(pool, "seen");

  const std::uint64_t runs = totals.get(0).value_or(0) + 1;
  totals.put(0, runs);  // durable when it returns
  seen.insert(runs);    // so is this
  std::cout << "run " << runs << ", " << seen.size_estimate() << " runs seen\n";
}
// [/quote]

void open_as_something_else(outlast::pool& pool) {
  try {
    const outlast::lockfree::hash_table<std::uint64_t> wrong(pool, "totals");
  } catch (const outlast::error& refused) {
    std::cout << "refused, as it should be: " << refused.what() << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    auto pool = outlast::pool::open_or_create(argc > 1 ? argv[1] : "example.pool");
    std::cout << pool.guarantee() << '\n';
    count_a_run(pool);
    open_as_something_else(pool);
    pool.close();  // without it the next opening recovers, as after a crash
    return 0;
  } catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
  }
}
