// Structures that readers in other processes read.
#include <tests/catalogue/outside_readers.hpp>

#include <functional>

namespace outlast::verify::detail {
namespace {

using number = std::uint64_t;

template <class Policy>
using read_table =
    lockfree::hash_table<number, number, Policy, base::default_hash<number>, poisoning_epochs>;

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
}

}  // namespace outlast::verify::detail
