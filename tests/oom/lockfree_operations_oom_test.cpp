// Goal: an operation of a lock-free structure without ordinary memory has no effect, one that
// returns has its whole effect, and no block is lost. Method: see operation_table.hpp.
#include "tests/oom/map_operations.hpp"
#include "tests/oom/sequence_operations.hpp"
#include "tests/support/keys.hpp"

#include <outlast/domain.hpp>
#include <outlast/durable/mirror.hpp>
#include <outlast/lockfree/harris_list.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/lockfree/michael_scott_queue.hpp>
#include <outlast/lockfree/natarajan_tree.hpp>
#include <outlast/lockfree/skiplist.hpp>
#include <outlast/lockfree/stack.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace outlast::test {
namespace {

using u64 = std::uint64_t;
using flushing = durable::flit<durable::tag::adjacent, durable::automatic, domain::adr>;
using plain = durable::flit<durable::tag::adjacent, durable::automatic, domain::process>;

template <class Structure>
std::unique_ptr<Structure> attach(typename Structure::pool_type& pool) {
  return std::make_unique<Structure>(pool, "tested");
}

template <class Map>
void expect_of_maps(const std::string& name) {
  expect_all_or_nothing(family_of_maps<Map>(name, attach<Map>));
}
template <class Sequence>
void expect_of_sequences(const std::string& name, bool is_a_stack) {
  expect_all_or_nothing(family_of_sequences<Sequence>(name, attach<Sequence>, is_a_stack));
}

TEST(LockfreeOperationsOom, list) {
  expect_of_maps<lockfree::harris_list<u64, u64, flushing>>("harris_list");
  expect_of_maps<lockfree::harris_list<u64, wide_value, plain>>("harris_list, wide");
}

TEST(LockfreeOperationsOom, hash_table) {
  expect_of_maps<lockfree::hash_table<u64, wide_value, flushing>>("hash_table, wide");
  // Few buckets: it grows, and links sentinels.
  expect_all_or_nothing(
      family_of_maps<lockfree::hash_table<u64, u64, plain>>("hash_table, growing", [](auto& pool) {
        return std::make_unique<lockfree::hash_table<u64, u64, plain>>(
            pool, "tested", lockfree::table_options{.buckets = 1});
      }));
}

TEST(LockfreeOperationsOom, skiplist) {
  expect_of_maps<lockfree::skiplist<u64, u64, flushing>>("skiplist");
  expect_of_maps<lockfree::skiplist<u64, wide_value, plain>>("skiplist, wide");
}

TEST(LockfreeOperationsOom, tree) {
  expect_of_maps<lockfree::natarajan_tree<u64, u64, flushing>>("natarajan_tree");
  expect_of_maps<lockfree::natarajan_tree<u64, wide_value, plain>>("natarajan_tree, wide");
}

TEST(LockfreeOperationsOom, queue) {
  expect_of_sequences<lockfree::michael_scott_queue<u64, flushing>>("michael_scott_queue", false);
}

TEST(LockfreeOperationsOom, stack) {
  expect_of_sequences<lockfree::stack<wide_value, flushing>>("stack", true);
  expect_of_sequences<lockfree::stack<u64, plain>>("stack, without flushes", true);
}

TEST(LockfreeOperationsOom, mirrored) {
  using mirror = durable::mirror<domain::adr>;
  expect_of_maps<lockfree::hash_table<u64, wide_value, mirror>>("hash_table, mirrored");
}

}  // namespace
}  // namespace outlast::test
