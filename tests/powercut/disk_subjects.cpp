#include <tests/powercut/disk_subjects.hpp>

#include <outlast/durable/mirror.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/lockfree/harris_list.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/lockfree/natarajan_tree.hpp>
#include <outlast/sets/basic_hash.hpp>
#include <outlast/sets/basic_list.hpp>
#include <outlast/verify/eager_epochs.hpp>
#include <tests/powercut/map_on_disk.hpp>

#include <algorithm>
#include <bit>
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
using adjacent = durable::flit<durable::tag::adjacent, durable::automatic, disk>;
using hashed = durable::flit<durable::tag::hashed<durable::smallest_tag_table_bytes>,
                             durable::automatic, disk>;
using line =
    durable::flit<durable::tag::line<durable::smallest_tag_table_bytes>, durable::automatic, disk>;
using chosen_by_hand =
    durable::flit<durable::tag::hashed<durable::smallest_tag_table_bytes>, durable::manual, disk>;
using traversing = durable::flit<durable::tag::adjacent, durable::nvtraverse, disk>;
using mirror = durable::mirror<disk, durable::mirrored_values::in_place>;

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

/// Nodes of erased keys are used again at once.
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

}  // namespace

std::vector<file_definition> disk_subjects() {
  return {
      list<std::uint64_t, adjacent>("harris_list"),
      list<verify::wide_value, hashed>("harris_list_wide"),
      table<std::uint64_t, line>("hash_table"),
      table<lockfree::no_value, adjacent>("hash_table_set"),
      list<verify::wide_value, chosen_by_hand>("harris_list_manual"),
      table<std::uint64_t, traversing>("hash_table_nvtraverse"),
      tree<std::uint64_t, adjacent>("natarajan_tree"),
      tree<verify::wide_value, chosen_by_hand>("natarajan_tree_manual"),
      table<std::uint64_t, mirror>("hash_table_mirror"),
      set_list<sets::link_free<disk>>("link_free_list"),
      set_hash<sets::link_free<disk>>("link_free_hash"),
      set_list<sets::soft_in_place<disk>>("soft_in_place_list"),
      set_hash<sets::soft<disk>>("soft_hash"),
  };
}

}  // namespace outlast::test::powercut
