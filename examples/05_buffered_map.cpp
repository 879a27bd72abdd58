// A table whose operations flush nothing. Run it twice: the second run finds all synced changes.
// Kill it in between: all changes of the last hundredths of a second are lost together, and no
// older change is lost.
#include <outlast/epoch/hash_map.hpp>
#include <outlast/pool/pool.hpp>

#include <cstdint>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

using sessions = outlast::epoch::hash_map<std::string, std::string>;

// [quote]
void serve(sessions& open, const std::string& user, int requests) {
  for (int i = 1; i <= requests; ++i) {
    open.put(user, "request " + std::to_string(i));  // no flush, no wait
  }
}

void log_out(sessions& open, const std::string& user) {
  if (open.erase(user)) open.sync();  // waits until the removal is durable
}
// [/quote]

int main(int argc, char** argv) {
  auto pool = outlast::pool::open_or_create(argc > 1 ? argv[1] : "example.pool");
  sessions open(pool, "sessions");
  std::cout << open.size_estimate() << " sessions found\n";
  std::vector<std::jthread> servers;
  for (const char* user : {"ada", "grace", "barbara"}) {
    servers.emplace_back([&open, user] { serve(open, user, 1000); });
  }
  servers.clear();  // waits for them
  log_out(open, "grace");
  const bool as_expected = open.get("ada") == "request 1000" && !open.contains("grace");
  std::cout << "ada: " << open.get("ada").value_or("nothing") << "\n";
  return as_expected ? 0 : 1;
}
