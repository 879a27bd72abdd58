// Transaction managers: accounts in lines of their own, and maps, whose nodes come from the heap in
// the replicas; maps of the standard library under cx_puc.
#include <tests/catalogue/by_strings.hpp>
#include <tests/catalogue/catalogue_entries.hpp>

#include <outlast/containers/baselines/puc_map.hpp>
#include <outlast/containers/bplus_tree.hpp>
#include <outlast/containers/hash_map.hpp>
#include <outlast/containers/managed_map.hpp>
#include <outlast/containers/managed_tree.hpp>
#include <outlast/containers/red_black_tree.hpp>
#include <outlast/tx/baselines/cx_ptm.hpp>
#include <outlast/tx/baselines/redo.hpp>
#include <outlast/tx/left_right.hpp>
#include <outlast/tx/redo_opt.hpp>
#include <outlast/verify/explorer/snapshots_of.hpp>
#include <outlast/verify/explorer/transaction_subject.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace outlast::verify::detail {
namespace {

using left_right = tx::left_right<domain::simulated>;
using redo = tx::redo<domain::simulated>;
using redo_timed = tx::redo_timed<domain::simulated>;
using redo_opt = tx::redo_opt<domain::simulated>;
using cx_ptm = tx::cx_ptm<domain::simulated>;
using tree = containers::red_black_tree<std::uint64_t, std::uint64_t>;
using table = containers::hash_map<std::uint64_t, std::uint64_t>;
using tree_of_strings = containers::red_black_tree<std::string, std::string>;
using table_of_strings = containers::hash_map<std::string, std::string>;
/// Pages as small as they may be.
template <class T>
using bplus_tree = containers::bplus_tree<T, T, roots::default_order<T>, 4>;

using standard_map =
    containers::puc_map<containers::replica_map<std::uint64_t, std::uint64_t>, domain::simulated>;
using standard_table =
    containers::puc_map<containers::replica_unordered_map<std::uint64_t, std::uint64_t>,
                        domain::simulated>;

template <class Map>
void add_made_map(list& to, const std::string& name, bool blocks,
                  const tx::options& space = small_replicas) {
  typename map_subject<Map>::parts how;
  how.make = [space](auto& pool) { return std::make_unique<Map>(pool, "subject", space); };
  to.push_back({name,
                Map::policy_type::name(),
                [name, how] { return std::make_unique<map_subject<Map>>(name, how); },
                {},
                {},
                blocks});
}

template <class Manager>
void add_manager(list& to, bool blocks) {
  const std::string engine(Manager::engine_name());
  to.push_back({"tx_accounts",
                engine,
                [] { return std::make_unique<accounts_subject<Manager>>("tx_accounts"); },
                {.threads = 3, .operations = 3, .keys = 3, .prefill = 2},
                {},
                blocks});
  add_made_map<containers::managed_map<Manager, tree>>(to, "tx_red_black_tree", blocks);
  add_made_map<containers::managed_map<Manager, table>>(to, "tx_hash_map", blocks);
}

}  // namespace

void add_transactions(list& to) { add_manager<left_right>(to, true); }

void add_wait_free_transactions(list& to) {
  add_manager<redo>(to, false);
  add_manager<redo_opt>(to, false);
  add_manager<cx_ptm>(to, false);
  add_made_map<standard_map>(to, "tx_standard_map", false);
  add_made_map<standard_table>(to, "tx_standard_table", false);
}

void add_timed_transactions(list& to) { add_manager<redo_timed>(to, false); }

void add_transactions_of_strings(list& to) {
  add_made_map<of_strings<containers::managed_map<left_right, tree_of_strings>>>(
      to, "tx_red_black_tree_strings", true);
  add_made_map<of_strings<containers::managed_map<left_right, table_of_strings>>>(
      to, "tx_hash_map_strings", true);
}

void add_snapshots(list& to) {
  constexpr tx::options larger{.replica_bytes = 24576, .page_bytes = 256};
  add_made_map<containers::managed_tree<left_right, bplus_tree<std::uint64_t>>>(to, "tx_bplus_tree",
                                                                                true);
  add_made_map<snapshots_of<containers::managed_tree<left_right, bplus_tree<std::uint64_t>>>>(
      to, "tx_bplus_tree_snapshots", true, larger);
  add_made_map<
      of_strings<snapshots_of<containers::managed_tree<left_right, bplus_tree<std::string>>>>>(
      to, "tx_bplus_tree_strings", true, larger);
}

}  // namespace outlast::verify::detail
