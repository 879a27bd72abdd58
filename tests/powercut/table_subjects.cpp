#include <tests/powercut/kill_subjects.hpp>

#include <outlast/domain/adr.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/durable/mirror.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/hw/flush.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <tests/powercut/map_subject.hpp>
#include <tests/powercut/wide_value.hpp>

#include <cstdint>

namespace outlast::test::powercut {
namespace {

using adjacent = durable::flit<durable::tag::adjacent, durable::automatic, domain::process>;
using hashed = durable::flit<durable::tag::hashed<>, durable::automatic, domain::process>;
using adjacent_adr = durable::flit<durable::tag::adjacent, durable::automatic, domain::adr>;
using mirror = durable::mirror<domain::native>;

constexpr std::uint64_t few_keys = 200;
constexpr std::uint64_t many_keys = 5'000;

/// A small table, so that it grows while it is killed.
template <class Value, class Policy>
definition table(const std::string& name, std::uint64_t keys) {
  using structure = lockfree::hash_table<std::uint64_t, Value, Policy>;
  return define_map<structure>(name, keys, lockfree::table_options{.buckets = 4});
}

}  // namespace

std::vector<definition> table_definitions() {
  std::vector<definition> all{
      table<std::uint64_t, adjacent>("hash_table", few_keys),
      table<std::uint64_t, hashed>("hash_table_hashed", few_keys),
      table<std::uint64_t, adjacent>("hash_table_growing", many_keys),
      table<wide, hashed>("hash_table_wide", few_keys),
      table<std::uint64_t, mirror>("hash_table_mirror", many_keys),
  };
  if (flushes_reach_memory()) {
    all.push_back(table<std::uint64_t, adjacent_adr>("hash_table_adr", few_keys));
  }
  return all;
}

bool flushes_reach_memory() { return hw::best_flush_instruction() != hw::flush_instruction::none; }

}  // namespace outlast::test::powercut
