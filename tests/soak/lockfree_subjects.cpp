// Lock-free structures, mirrored ones among them.
#include <outlast/durable/mirror.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/lockfree/harris_list.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/lockfree/michael_scott_queue.hpp>
#include <outlast/lockfree/natarajan_tree.hpp>
#include <outlast/lockfree/skiplist.hpp>
#include <outlast/lockfree/stack.hpp>
#include <tests/soak/families.hpp>
#include <tests/soak/map_subject.hpp>
#include <tests/soak/sequence_subject.hpp>

namespace outlast::test::soak {

template <domain::persistence_domain D>
void add_lockfree(subjects& to, basic_pool<D>& pool, const amounts& how) {
  using policy = durable::flit<durable::tag::adjacent, durable::automatic, D>;
  using mirror = durable::mirror<D>;
  const scale some{.operations = how.waiting};
  const scale few{.operations = how.tiny};
  add_map<lockfree::hash_table<u64, u64, policy>>(to, pool, "lockfree hash table", some);
  add_map<lockfree::natarajan_tree<u64, u64, policy>>(to, pool, "lockfree tree", some);
  add_map<lockfree::skiplist<u64, u64, policy>>(to, pool, "lockfree skip list", some);
  add_map<lockfree::harris_list<u64, u64, policy>>(to, pool, "lockfree list", few);
  add_sequence<lockfree::michael_scott_queue<u64, policy>, true>(to, pool, "lockfree queue", some);
  add_sequence<lockfree::stack<u64, policy>, false>(to, pool, "lockfree stack", some);
  add_map<lockfree::hash_table<u64, u64, mirror>>(to, pool, "mirrored hash table", some);
  add_sequence<lockfree::michael_scott_queue<u64, mirror>, true>(to, pool, "mirrored queue", some);
}

template void add_lockfree(subjects&, pool&, const amounts&);
template void add_lockfree(subjects&, basic_pool<domain::logged_file>&, const amounts&);

}  // namespace outlast::test::soak
