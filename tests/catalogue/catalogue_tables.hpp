// The entries of the hash table, for any policy.
#pragma once

#include <tests/catalogue/catalogue_entries.hpp>

#include <outlast/lockfree/hash_table.hpp>

#include <bit>

namespace outlast::verify::detail {

/// All keys have one hash: equal order words, one bucket.
struct colliding_hash {
  std::uint64_t operator()(std::uint64_t) const noexcept { return 7; }
};

/// The root block and the segments of sentinels.
template <class Table>
std::size_t blocks_of(Table& table) {
  return 2 + static_cast<std::size_t>(std::countr_zero(table.bucket_count()));
}

template <class Table>
typename map_subject<Table>::parts parts_of_table(std::size_t buckets) {
  typename map_subject<Table>::parts how;
  how.make = [buckets](auto& pool) {
    return std::make_unique<Table>(
        pool, "subject",
        lockfree::table_options{.buckets = buckets, .grows = true, .growth_check_interval = 1});
  };
  how.blocks = blocks_of<Table>;
  return how;
}

template <class Value, class Policy>
using table_of = lockfree::hash_table<std::uint64_t, Value, Policy,
                                      base::default_hash<std::uint64_t>, eager_epochs>;

template <class Value, class Policy>
void add_table(list& to, const std::string& name) {
  using structure = table_of<Value, Policy>;
  add_map<structure>(to, name, parts_of_table<structure>(4));
}

template <class Policy>
void add_colliding(list& to) {
  using structure =
      lockfree::hash_table<std::uint64_t, std::uint64_t, Policy, colliding_hash, eager_epochs>;
  add_map<structure>(to, "hash_table_colliding", parts_of_table<structure>(2));
}

/// From one bucket, looking at every insertion whether to grow: several doublings.
template <class Policy>
void add_growing(list& to) {
  using structure = table_of<roots::no_value, Policy>;
  auto how = parts_of_table<structure>(1);
  how.operations = {map_operation::insert};
  add_map<structure>(to, "hash_table_growing", how,
                     {.threads = 2, .operations = 4, .keys = 16, .prefill = 2});
}

}  // namespace outlast::verify::detail
