// A ready lock-free structure. Kill it and run it again: no count is lost.
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/pool/pool.hpp>

#include <cstdint>
#include <exception>
#include <iostream>
#include <thread>
#include <vector>

namespace {

// [quote]
void count_visit(outlast::pool& pool, std::uint64_t visitor) {
  outlast::lockfree::hash_table<std::uint64_t, std::uint64_t> visits(pool, "visits");
  const std::uint64_t before = visits.get(visitor).value_or(0);
  visits.put(visitor, before + 1);  // durable when it returns
  std::cout << "visitor " << visitor << " was here " << before + 1 << " times\n";
}
// [/quote]

/// Four threads insert the same thousand keys. Each key is inserted once.
void insert_together(outlast::pool& pool) {
  outlast::lockfree::hash_table<std::uint64_t> keys(pool, "keys");
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&keys] {
        for (std::uint64_t key = 0; key < 1000; ++key) keys.insert(key);
      });
    }
  }
  std::cout << keys.size_estimate() << " keys\n";
}

}  // namespace

int main(int argc, char** argv) {
  try {
    auto pool = outlast::pool::open_or_create(argc > 1 ? argv[1] : "example.pool");
    count_visit(pool, 42);
    insert_together(pool);
    pool.close();  // without it the next opening recovers, as after a kill
    return 0;
  } catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
  }
}
