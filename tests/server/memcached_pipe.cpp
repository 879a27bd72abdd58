// Executes memcached's text protocol on standard input and output, over a key space in ordinary
// memory: one connection. Ends with it, or with the input.
//
//   memcached_pipe [CUT]      CUT: the conversation gets at most so many bytes in a call
#include <outlast/server/memcached.hpp>
#include <tests/server/pipe.hpp>
#include <tests/support/fake_items.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

int main(int count, char** arguments) {
  using namespace outlast;
  const std::size_t cut =
      count > 1 ? std::max<std::size_t>(1, std::strtoull(arguments[1], nullptr, 10)) : 1 << 16;
  test::fake_items space;
  const server::memcached_options options{.version = "1.6.18", .started_ms = test::now_ms()};
  server::memcached_counters counters;
  const auto connection = server::make_memcached_conversation(space, options, counters);
  return test::converse(*connection, cut);
}
