#include <tests/powercut/disk_subjects.hpp>

#include <outlast/containers/baselines/puc_map.hpp>
#include <outlast/containers/hash_map.hpp>
#include <outlast/containers/managed_map.hpp>
#include <outlast/containers/red_black_tree.hpp>
#include <outlast/durable/mirror.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/epoch/baselines/one_lock_queue.hpp>
#include <outlast/epoch/hash_map.hpp>
#include <outlast/epoch/lockfree_hash_map.hpp>
#include <outlast/epoch/queue.hpp>
#include <outlast/lockfree/harris_list.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/lockfree/natarajan_tree.hpp>
#include <outlast/sets/baselines/soft_in_place.hpp>
#include <outlast/sets/basic_hash.hpp>
#include <outlast/sets/basic_list.hpp>
#include <outlast/tx/baselines/cx_ptm.hpp>
#include <outlast/tx/baselines/redo.hpp>
#include <outlast/tx/left_right.hpp>
#include <outlast/tx/redo_opt.hpp>
#include <outlast/verify/machine/eager_epochs.hpp>
#include <tests/powercut/epochs_on_disk.hpp>
#include <tests/powercut/map_on_disk.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace outlast::test::powercut {
namespace {

using key = std::uint64_t;
constexpr std::size_t pool_bytes = std::size_t{128} << 10;
using disk = domain::lossy_file;
using logged = domain::lossy_logged_file;
using adjacent = durable::flit<durable::tag::adjacent, durable::automatic, disk>;
using hashed = durable::flit<durable::tag::hashed<durable::smallest_tag_table_bytes>,
                             durable::automatic, disk>;
using line =
    durable::flit<durable::tag::line<durable::smallest_tag_table_bytes>, durable::automatic, disk>;
using chosen_by_hand =
    durable::flit<durable::tag::hashed<durable::smallest_tag_table_bytes>, durable::manual, disk>;
using traversing = durable::flit<durable::tag::adjacent, durable::nvtraverse, disk>;
using mirror = durable::mirror<disk, durable::mirrored_values::in_place>;
using logged_adjacent = durable::flit<durable::tag::adjacent, durable::automatic, logged>;

template <class Structure>
file_definition define(const std::string& name, typename map_on_disk<Structure>::parts how) {
  return {name, Structure::policy_type::name(),
          [how] { return std::make_unique<map_on_disk<Structure>>(how); }};
}

template <class Value, class Policy>
file_definition list(const std::string& name) {
  using structure = lockfree::harris_list<key, Value, Policy, std::less<key>, verify::eager_epochs>;
  typename map_on_disk<structure>::parts how;
  how.memory_bytes = pool_bytes;
  how.blocks = [](structure&) { return std::size_t{1}; };  // the root block
  return define<structure>(name, std::move(how));
}

/// Begins with one bucket and looks at every insertion whether to grow.
template <class Value, class Policy>
file_definition table(const std::string& name) {
  using structure =
      lockfree::hash_table<key, Value, Policy, base::default_hash<key>, verify::eager_epochs>;
  typename map_on_disk<structure>::parts how;
  how.memory_bytes = pool_bytes;
  how.make = [](auto& pool) {
    return std::make_unique<structure>(
        pool, "subject",
        lockfree::table_options{.buckets = 1, .grows = true, .growth_check_interval = 1});
  };
  how.blocks = [](structure& of) {  // the root block and the segments of sentinels
    return 2 + static_cast<std::size_t>(std::countr_zero(of.bucket_count()));
  };
  return define<structure>(name, std::move(how));
}

template <class Value, class Policy>
file_definition tree(const std::string& name) {
  using structure =
      lockfree::natarajan_tree<key, Value, Policy, std::less<key>, verify::eager_epochs>;
  typename map_on_disk<structure>::parts how;
  how.memory_bytes = pool_bytes;
  how.blocks = [](structure& of) {  // the root block, and an internal node per key but one
    return std::max(of.size_estimate(), std::size_t{1});
  };
  return define<structure>(name, std::move(how));
}

/// Nodes of erased keys are reused immediately.
template <class Scheme>
file_definition set_list(const std::string& name) {
  using structure =
      sets::basic_list<Scheme, key, std::uint64_t, std::less<key>, verify::eager_epochs>;
  typename map_on_disk<structure>::parts how;
  how.memory_bytes = pool_bytes;
  how.make = [](auto& pool) {
    return std::make_unique<structure>(pool, "subject", sets::set_options{.freed_at_once = 1});
  };
  how.blocks = [](structure&) { return std::size_t{1}; };  // the root block
  return define<structure>(name, std::move(how));
}

/// And with one bucket to begin with.
template <class Scheme>
file_definition set_hash(const std::string& name) {
  using structure =
      sets::basic_hash<Scheme, key, std::uint64_t, base::default_hash<key>, verify::eager_epochs>;
  typename map_on_disk<structure>::parts how;
  how.memory_bytes = pool_bytes;
  how.make = [](auto& pool) {
    sets::table_options options;
    options.freed_at_once = 1;
    options.buckets = 1;
    options.growth_check_interval = 1;
    return std::make_unique<structure>(pool, "subject", options);
  };
  how.blocks = [](structure&) { return std::size_t{1}; };  // the root block
  return define<structure>(name, std::move(how));
}

using tx_tree = containers::red_black_tree<key, std::uint64_t>;
using tx_table = containers::hash_map<key, std::uint64_t>;

/// A map whose operations are transactions.
template <class Map>
file_definition transactions(const std::string& name, unsigned replicas) {
  typename map_on_disk<Map>::parts how;
  how.memory_bytes = pool_bytes;
  const tx::options space{
      .replica_bytes = std::size_t{12} << 10, .page_bytes = 256, .replicas = replicas};
  how.make = [space](auto& pool) { return std::make_unique<Map>(pool, "subject", space); };
  how.blocks = [](Map&) { return std::size_t{1}; };  // the root block
  return define<Map>(name, std::move(how));
}

/// The same, with a window that ends when sync() is called.
template <class Map>
file_definition transactions_with_window(const std::string& name, unsigned replicas) {
  return {name, Map::policy_type::name(),
          [=] { return windows_on_disk<Map>(pool_bytes, replicas); }};
}

/// What the pages of a structure, its clock and its growth need.
constexpr std::size_t epoch_pool_bytes = std::size_t{256} << 10;

template <class Structure, class... Options>
std::unique_ptr<Structure> make_buffered(
    basic_pool<typename Structure::policy_type::domain_type>& pool, const Options&... options) {
  auto made = std::make_unique<Structure>(pool, "subject", options...);
  made->pool_clock().configure({.epoch_length = {}});
  return made;
}

/// Blocks besides one per element: the root block.
template <class Structure>
const typename verify::structure_parts<Structure>::own_blocks& blocks_of() {
  static const typename verify::structure_parts<Structure>::own_blocks one = [](Structure&) {
    return std::size_t{1};
  };
  return one;
}

template <class Structure, class... Options>
file_definition buffered_map(const std::string& name, const Options&... options) {
  using enum verify::map_operation;
  const auto meaning = std::make_shared<verify::map_oracle>(
      std::vector{insert, put, put, update, erase, erase, get, contains}, true);
  return {name, Structure::policy_type::name(), [=] {
            return std::make_unique<epochs_on_disk<Structure>>(
                epoch_pool_bytes, meaning, [=](auto pool) {
                  return std::make_unique<world_of_epochs<verify::map_world<Structure>>>(
                      std::move(pool),
                      [=](auto& in) { return make_buffered<Structure>(in, options...); },
                      blocks_of<Structure>());
                });
          }};
}

template <class Structure>
file_definition buffered_queue(const std::string& name) {
  using world = world_of_epochs<verify::sequence_world<Structure>>;
  static constexpr auto order = verify::sequence_oracle::discipline::queue;
  const auto meaning = std::make_shared<verify::sequence_oracle>(order);
  return {name, Structure::policy_type::name(), [=] {
            return std::make_unique<epochs_on_disk<Structure>>(
                epoch_pool_bytes, meaning, [](auto pool) {
                  return std::make_unique<world>(
                      order, std::move(pool), [](auto& in) { return make_buffered<Structure>(in); },
                      blocks_of<Structure>());
                });
          }};
}

}  // namespace

std::vector<file_definition> disk_subjects() {
  std::vector<file_definition> all = {
      list<std::uint64_t, adjacent>("harris_list"),
      list<verify::wide_value, hashed>("harris_list_wide"),
      table<std::uint64_t, line>("hash_table"),
      table<roots::no_value, adjacent>("hash_table_set"),
      list<verify::wide_value, chosen_by_hand>("harris_list_manual"),
      table<std::uint64_t, traversing>("hash_table_nvtraverse"),
      tree<std::uint64_t, adjacent>("natarajan_tree"),
      tree<verify::wide_value, chosen_by_hand>("natarajan_tree_manual"),
      table<std::uint64_t, mirror>("hash_table_mirror"),
      set_list<sets::link_free<disk>>("link_free_list"),
      set_hash<sets::link_free<disk>>("link_free_hash"),
      set_list<sets::soft_in_place<disk>>("soft_in_place_list"),
      set_hash<sets::soft<disk>>("soft_hash"),
      table<std::uint64_t, logged_adjacent>("hash_table_logged"),
      set_hash<sets::link_free<logged>>("link_free_hash_logged"),
      buffered_map<epoch::hash_map<key, key, logged>>("epoch_hash_map_logged",
                                                      epoch::map_options{.buckets = 2, .load = 4}),
      buffered_map<epoch::lockfree_hash_map<key, key, logged, base::default_hash<key>,
                                            verify::eager_epochs>>("epoch_lockfree_map_logged",
                                                                   sets::table_options{}),
      buffered_queue<epoch::queue<key, logged>>("epoch_queue_logged"),
      buffered_map<
          epoch::lockfree_hash_map<key, key, disk, base::default_hash<key>, verify::eager_epochs>>(
          "epoch_lockfree_map", sets::table_options{}),
      buffered_queue<epoch::queue<key, disk>>("epoch_queue"),
      buffered_map<epoch::hash_map<key, key, disk>>("epoch_hash_map",
                                                    epoch::map_options{.buckets = 2, .load = 4}),
      transactions<containers::managed_map<tx::left_right<logged>, tx_tree>>("tx_left_right_logged",
                                                                             2),
      transactions<containers::managed_map<tx::redo<logged>, tx_table>>("tx_redo_logged", 4),
      transactions<containers::managed_map<tx::redo_opt<logged>, tx_table>>("tx_redo_opt_logged",
                                                                            2),
      transactions<containers::managed_map<tx::cx_ptm<logged>, tx_tree>>("tx_cx_ptm_logged", 3),
      transactions<containers::puc_map<containers::replica_map<key, std::uint64_t>, logged>>(
          "tx_cx_puc_logged", 2),
      transactions<containers::managed_map<tx::redo_opt<disk>, tx_tree>>("tx_redo_opt", 3),
      buffered_queue<epoch::one_lock_queue<key, logged>>("epoch_one_lock_queue_logged"),
      buffered_queue<epoch::one_lock_queue<key, disk>>("epoch_one_lock_queue"),
      transactions_with_window<containers::managed_map<tx::redo_opt<logged>, tx_table>>(
          "tx_redo_opt_window", 3),
      transactions_with_window<containers::managed_map<tx::redo<logged>, tx_tree>>("tx_redo_window",
                                                                                   4),
  };
  for (file_definition& each : stores_on_disk()) all.push_back(std::move(each));
  return all;
}

}  // namespace outlast::test::powercut
