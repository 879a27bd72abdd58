#include <tests/powercut/kill_subjects.hpp>

#include <outlast/containers/baselines/puc_map.hpp>
#include <outlast/containers/bplus_tree.hpp>
#include <outlast/containers/hash_map.hpp>
#include <outlast/containers/managed_map.hpp>
#include <outlast/containers/managed_tree.hpp>
#include <outlast/containers/red_black_tree.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/tx/baselines/cx_ptm.hpp>
#include <outlast/tx/baselines/redo.hpp>
#include <outlast/tx/left_right.hpp>
#include <outlast/tx/redo_opt.hpp>
#include <outlast/verify/explorer/snapshots_of.hpp>
#include <tests/catalogue/by_strings.hpp>
#include <tests/powercut/map_subject.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace outlast::test::powercut {
namespace {

template <class Manager>
using tree =
    containers::managed_map<Manager, containers::red_black_tree<std::uint64_t, std::uint64_t>>;
template <class Manager>
using table = containers::managed_map<Manager, containers::hash_map<std::uint64_t, std::uint64_t>>;

template <class D, template <class...> class Map>
using strings = verify::detail::of_strings<
    containers::managed_map<tx::left_right<D>, Map<std::string, std::string>>>;

template <class D, class Text>
using snapshots = verify::snapshots_of<containers::managed_tree<
    tx::left_right<D>, containers::bplus_tree<Text, Text, roots::default_order<Text>, 8>>>;

using standard_map =
    containers::puc_map<containers::replica_map<std::uint64_t, std::uint64_t>, domain::native>;

constexpr std::uint64_t keys = 100;
constexpr tx::options space{.replica_bytes = std::size_t{4} << 20};

}  // namespace

std::vector<definition> transaction_definitions() {
  return {
      define_map<tree<tx::left_right<domain::process>>>("tx_left_right_tree", keys, space),
      define_map<table<tx::left_right<domain::native>>>("tx_left_right_table", keys, space),
      define_map<tree<tx::redo<domain::process>>>("tx_redo_tree", keys, space),
      define_map<table<tx::redo_opt<domain::native>>>("tx_redo_opt_table", keys, space),
      define_map<snapshots<domain::native, std::uint64_t>>("tx_left_right_bplus", keys, space),
      define_map<verify::detail::of_strings<snapshots<domain::process, std::string>>>(
          "tx_left_right_bplus_strings", keys, space),
      define_map<strings<domain::process, containers::red_black_tree>>("tx_left_right_tree_strings",
                                                                       keys, space),
      define_map<strings<domain::native, containers::hash_map>>("tx_left_right_table_strings", keys,
                                                                space),
      define_map<tree<tx::cx_ptm<domain::process>>>("tx_cx_ptm_tree", keys, space),
      define_map<table<tx::cx_ptm<domain::native>>>("tx_cx_ptm_table", keys, space),
      define_map<standard_map>("tx_cx_puc_map", keys, space),
      define_map<tree<tx::redo_timed<domain::native>>>("tx_redo_timed_tree", keys, space),
  };
}

}  // namespace outlast::test::powercut
