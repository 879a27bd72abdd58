// Goal: a transaction without ordinary memory has no effect, one that returns has its whole effect,
// and no block is lost. Method: see operation_table.hpp.
#include "tests/oom/map_operations.hpp"

#include <outlast/containers/array.hpp>
#include <outlast/containers/baselines/puc_map.hpp>
#include <outlast/containers/bplus_tree.hpp>
#include <outlast/containers/hash_map.hpp>
#include <outlast/containers/managed_map.hpp>
#include <outlast/containers/managed_tree.hpp>
#include <outlast/containers/queue.hpp>
#include <outlast/containers/red_black_tree.hpp>
#include <outlast/containers/stack.hpp>
#include <outlast/domain.hpp>
#include <outlast/tx/baselines/cx_ptm.hpp>
#include <outlast/tx/baselines/redo.hpp>
#include <outlast/tx/left_right.hpp>
#include <outlast/tx/redo_opt.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace outlast::test {
namespace {

using u64 = std::uint64_t;
using flushing = domain::adr;
using plain = domain::process;
using tree = containers::red_black_tree<u64, u64>;
using table = containers::hash_map<u64, u64>;
using text_table = containers::hash_map<std::string, std::string>;
using wide_tree = containers::bplus_tree<u64, u64>;

constexpr std::size_t replica_bytes = std::size_t{256} << 10;

template <class Map>
tested_family<Map, numbers> family_of(const std::string& name) {
  auto family = family_of_maps<Map>(name, [](auto& pool) {
    return std::make_unique<Map>(pool, "tested", tx::options{.replica_bytes = replica_bytes});
  });
  if constexpr (requires(Map& m) { m.blocks_besides(); }) {
    family.check = [](Map& m) {
      const std::size_t besides = m.blocks_besides();
      const std::string lost =
          besides == 2 ? "" : std::to_string(besides) + " blocks that are not the map's";
      if constexpr (requires { m.check(); }) return m.check() + lost;
      return lost;
    };
  }
  return family;
}

TEST(TxOperationsOom, left_right) {
  expect_all_or_nothing(
      family_of<containers::managed_map<tx::left_right<flushing>, tree>>("left_right"));
  expect_all_or_nothing(family_of<containers::managed_map<tx::left_right<plain>, text_table>>(
      "left_right of strings"));
}

TEST(TxOperationsOom, redo) {
  expect_all_or_nothing(family_of<containers::managed_map<tx::redo<flushing>, tree>>("redo"));
  expect_all_or_nothing(
      family_of<containers::managed_map<tx::redo_timed<plain>, table>>("redo_timed"));
  expect_all_or_nothing(
      family_of<containers::managed_map<tx::redo_opt<flushing>, table>>("redo_opt"));
  expect_all_or_nothing(
      family_of<containers::managed_map<tx::redo_opt<plain>, text_table>>("redo_opt of strings"));
}

TEST(TxOperationsOom, cx) {
  expect_all_or_nothing(family_of<containers::managed_map<tx::cx_ptm<flushing>, tree>>("cx_ptm"));
  expect_all_or_nothing(
      family_of<containers::puc_map<containers::replica_map<u64, u64>, flushing>>("cx_puc"));
}

/// A snapshot is taken, read and given back.
TEST(TxOperationsOom, managed_tree) {
  using map = containers::managed_tree<tx::redo_opt<flushing>, wide_tree>;
  auto family = family_of_maps<map>("managed_tree", [](auto& pool) {
    return std::make_unique<map>(pool, "tested", tx::options{.replica_bytes = replica_bytes});
  });
  family.check = [](map& m) {
    if (!m.collect()) return std::string("nothing is collected");
    const std::size_t besides = m.blocks_besides();
    return m.check() +
           (besides == 2 ? "" : std::to_string(besides) + " blocks that are not the tree's");
  };
  family.operations.push_back({"take_snapshot",
                               [](map& m) {
                                 const auto then = m.take_snapshot();
                                 std::size_t count = 0;
                                 for (auto at = then.iterate(); at.is_valid(); at.next()) ++count;
                                 return std::to_string(count);
                               },
                               [](numbers& m) { return std::to_string(m.size()); }});
  family.operations.push_back({"update beside a snapshot",
                               [](map& m) {
                                 std::optional<map::snapshot> then;
                                 without_failures([&] { then.emplace(m.take_snapshot()); });
                                 return yes(m.update(present, 5));
                               },
                               [](numbers& m) {
                                 m[present] = 5;
                                 return yes(true);
                               }});
  family.operations.push_back({"iterate",
                               [](map& m) {
                                 std::optional<map::snapshot> then;
                                 without_failures([&] { then.emplace(m.take_snapshot()); });
                                 auto at = then->iterate();
                                 std::size_t count = 0;
                                 for (at.seek_to_first(); at.is_valid(); at.next()) ++count;
                                 return std::to_string(count);
                               },
                               [](numbers& m) { return std::to_string(m.size()); }});
  expect_all_or_nothing(family);
}

}  // namespace
}  // namespace outlast::test
