// Sequential code that is atomic and durable. Run it twice: the money is still there. Kill it in
// between: no transfer is half done.
#include <outlast/containers/red_black_tree.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/tx/left_right.hpp>

#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <thread>
#include <vector>

// [quote]
using ledger = outlast::containers::red_black_tree<std::uint64_t, std::uint64_t>;
using bank = outlast::tx::left_right<>;

bool transfer(bank& in, outlast::tx::root<ledger> accounts, std::uint64_t from, std::uint64_t to,
              std::uint64_t amount) {
  return in.update(accounts, [=](ledger& all) {
    const std::uint64_t held = all.get(from).value_or(0);
    all.put(to, all.get(to).value_or(0) + amount);
    if (held < amount) throw std::invalid_argument("not enough");  // undoes the line above
    return all.update(from, held - amount);  // both changes are durable, or none
  });
}
// [/quote]

int main(int argc, char** argv) {
  auto pool = outlast::pool::open_or_create(argc > 1 ? argv[1] : "example.pool");
  bank mine(pool, "bank");
  const auto accounts = mine.root<ledger>("accounts");
  if (mine.update(accounts, [](ledger& all) { return all.insert(1, 1000); })) {
    std::cout << "opened an account\n";
  }
  {
    std::vector<std::jthread> clerks;
    for (std::uint64_t clerk = 2; clerk < 5; ++clerk) {
      clerks.emplace_back([&, clerk] {
        for (int i = 0; i < 100; ++i) transfer(mine, accounts, 1, clerk, 1);
        for (int i = 0; i < 100; ++i) transfer(mine, accounts, clerk, 1, 1);
      });
    }
  }
  bool refused = false;
  try {
    transfer(mine, accounts, 2, 3, 5000);
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  const std::uint64_t sum = mine.read(accounts, [](const ledger& all) {
    std::uint64_t total = 0;
    all.for_each([&](std::uint64_t, std::uint64_t balance) { total += balance; });
    return total;
  });
  std::cout << sum << " in all accounts\n";
  return refused && sum == 1000 ? 0 : 1;
}
