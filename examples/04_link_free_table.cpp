// A table whose updates flush one line and wait once. Kill it and run it again: no
// count is lost, and none is counted twice.
#include <outlast/pool/pool.hpp>
#include <outlast/sets/link_free_hash.hpp>

#include <cstdint>
#include <iostream>
#include <thread>
#include <vector>

using table = outlast::sets::link_free_hash<std::uint64_t, std::uint64_t>;

// [quote]
void count_visit(table& visits, std::uint64_t visitor) {
  if (visits.insert(visitor, 1)) return;
  for (;;) {
    const std::uint64_t before = visits.get(visitor).value();
    if (visits.compare_and_put(visitor, before, before + 1)) return;  // durable when it returns
  }
}
// [/quote]

int main(int argc, char** argv) {
  auto pool = outlast::pool::open_or_create(argc > 1 ? argv[1] : "example.pool");
  table visits(pool, "visits");
  std::vector<std::jthread> doors(4);
  for (std::jthread& door : doors) {
    door = std::jthread([&] {
      for (int i = 0; i < 250; ++i) count_visit(visits, 42);
    });
  }
  doors.clear();  // waits for them
  std::cout << "visitor 42 was here " << visits.get(42).value() << " times\n";
}
