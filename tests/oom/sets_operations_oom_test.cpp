// Goal: an operation of a set whose links do not survive has no effect without ordinary memory. One
// that returns has its whole effect, and no block is lost. Method: see operation_table.hpp.
#include "tests/oom/map_operations.hpp"
#include "tests/support/keys.hpp"

#include <outlast/domain.hpp>
#include <outlast/sets/link_free_hash.hpp>
#include <outlast/sets/link_free_list.hpp>
#include <outlast/sets/link_free_skiplist.hpp>
#include <outlast/sets/link_free_tree.hpp>
#include <outlast/sets/soft_hash.hpp>
#include <outlast/sets/soft_list.hpp>
#include <outlast/sets/soft_skiplist.hpp>
#include <outlast/sets/soft_tree.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

namespace outlast::test {
namespace {

using u64 = std::uint64_t;
using flushing = domain::adr;
using plain = domain::process;

/// Dead nodes become free one by one.
template <class Map>
void expect_of(const std::string& name) {
  expect_all_or_nothing(family_of_maps<Map>(name, [](auto& pool) {
    if constexpr (std::is_constructible_v<Map, decltype(pool), const char*, sets::table_options>) {
      sets::table_options how;
      how.buckets = 1;
      return std::make_unique<Map>(pool, "tested", how);
    } else {
      return std::make_unique<Map>(pool, "tested");
    }
  }));
}

TEST(SetsOperationsOom, hash) {
  expect_of<sets::link_free_hash<u64, u64, flushing>>("link_free_hash");
  expect_of<sets::soft_hash<u64, u64, plain>>("soft_hash");
  expect_of<sets::soft_hash<std::string, std::string, flushing>>("soft_hash of strings");
}

TEST(SetsOperationsOom, list) {
  expect_of<sets::link_free_list<u64, u64, flushing>>("link_free_list");
  expect_of<sets::soft_list<u64, u64, flushing>>("soft_list");
}

/// Flushes are remembered up to the next fence.
TEST(SetsOperationsOom, on_a_device) {
  expect_of<sets::soft_hash<u64, u64, domain::file>>("soft_hash, synced");
  expect_of<sets::link_free_list<u64, u64, domain::file>>("link_free_list, synced");
}

TEST(SetsOperationsOom, skiplist) {
  expect_of<sets::link_free_skiplist<u64, u64, flushing>>("link_free_skiplist");
  expect_of<sets::soft_skiplist<u64, u64, flushing>>("soft_skiplist");
}

TEST(SetsOperationsOom, tree) {
  expect_of<sets::link_free_tree<u64, u64, flushing>>("link_free_tree");
  expect_of<sets::soft_tree<std::string, std::string, flushing>>("soft_tree of strings");
}

}  // namespace
}  // namespace outlast::test
