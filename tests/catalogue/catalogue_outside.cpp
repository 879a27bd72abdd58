// Structures that readers in other processes read.
#include <tests/catalogue/outside_readers.hpp>
#include <tests/catalogue/outside_transactions.hpp>

#include <outlast/tx/baselines/redo.hpp>
#include <outlast/tx/redo_opt.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace outlast::verify::detail {
namespace {

using number = std::uint64_t;

template <class Policy>
using read_table =
    lockfree::hash_table<number, number, Policy, base::default_hash<number>, poisoning_epochs>;

template <class Manager>
void add_read_transactions(list& to) {
  to.push_back({"tx_accounts_readers_die",
                std::string(Manager::engine_name()),
                [] {
                  return std::make_unique<accounts_subject<Manager, outside_reads>>(
                      "tx_accounts_readers_die");
                },
                {.threads = 3, .operations = 3, .keys = 3, .prefill = 2}});
}

}  // namespace

void add_outside(list& to) {
  add_outside_readers<read_table<usual_policy>>(
      to, "hash_table", lockfree::table_options{.buckets = 2, .grows = false});
  add_outside_readers<
      lockfree::harris_list<number, wide_value, usual_policy, std::less<number>, poisoning_epochs>>(
      to, "harris_list");
  add_outside_readers<
      lockfree::skiplist<number, number, usual_policy, std::less<number>, poisoning_epochs>>(
      to, "skiplist", lockfree::skiplist_options{.highest = 3, .branching = 2});
  add_outside_readers<
      lockfree::natarajan_tree<number, number, usual_policy, std::less<number>, poisoning_epochs>>(
      to, "natarajan_tree");
  add_read_transactions<tx::redo<domain::simulated>>(to);
  add_read_transactions<tx::redo_opt<domain::simulated>>(to);
}

}  // namespace outlast::verify::detail
