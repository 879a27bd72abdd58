// Transactional structures.
#include <outlast/containers/baselines/puc_map.hpp>
#include <outlast/containers/hash_map.hpp>
#include <outlast/containers/managed_map.hpp>
#include <outlast/containers/red_black_tree.hpp>
#include <outlast/tx/baselines/cx_ptm.hpp>
#include <outlast/tx/left_right.hpp>
#include <tests/soak/families.hpp>
#include <tests/soak/snapshot_subject.hpp>
#include <tests/soak/tree_map.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace outlast::test::soak {

template <domain::persistence_domain D>
void add_transactions(subjects& to, basic_pool<D>& pool, const amounts& how) {
  const auto megabytes = [](std::size_t count, unsigned replicas) {
    return tx::options{.replica_bytes = count << 20, .replicas = replicas};
  };
  const scale some{.operations = how.waiting};
  const scale few{.operations = how.tiny};
  using table = containers::hash_map<u64, std::string>;
  using tree = containers::red_black_tree<u64, u64>;
  using object = containers::replica_map<u64, u64>;
  add_map<containers::managed_map<tx::left_right<D>, table>>(to, pool, "left-right map", some,
                                                             megabytes(32, 2));
  add_map<containers::managed_map<tx::cx_ptm<D>, tree>>(to, pool, "cx-ptm tree", some,
                                                        megabytes(16, 4));
  add_map<containers::puc_map<object, D>>(to, pool, "cx-puc map", few, megabytes(4, 4));

  tx::options wanted = megabytes(128, 4);
  wanted.window = std::chrono::milliseconds(10);
  scale large{.operations = how.quick, .large = true, .has_replicas = true};
  large.number = static_cast<unsigned>(to.size());
  to.push_back(std::make_unique<snapshot_subject<tree_map<D>>>(
      "redo-opt tree", std::make_unique<tree_map<D>>(pool, "redo-opt tree", wanted), large));
}

template void add_transactions(subjects&, pool&, const amounts&);
template void add_transactions(subjects&, basic_pool<domain::logged_file>&, const amounts&);

}  // namespace outlast::test::soak
