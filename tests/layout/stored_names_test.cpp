// Goal: the names of types that fingerprints in pools contain are those of commit 4683cc8.
// Method: these names, as g++ and clang write them, are compared with literals that a program
// compiled from that commit has printed.
#include <outlast/base/stored_name.hpp>
#include <outlast/containers/array.hpp>
#include <outlast/containers/baselines/puc_map.hpp>
#include <outlast/containers/bplus_tree.hpp>
#include <outlast/containers/byte_string.hpp>
#include <outlast/containers/hash_map.hpp>
#include <outlast/containers/list_set.hpp>
#include <outlast/containers/queue.hpp>
#include <outlast/containers/red_black_tree.hpp>
#include <outlast/containers/stack.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/root/storable.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace outlast::test {
namespace {

using base::stored_name;
using u64 = std::uint64_t;
using std::string;

TEST(StoredNames, of_containers_are_those_of_format_1) {
  using namespace containers;
  EXPECT_EQ(stored_name<array<u64>>(), "N7outlast2tx3seq5arrayImEE");
  EXPECT_EQ((stored_name<bplus_tree<u64, u64>>()),
            "N7outlast2tx3seq10bplus_treeImmSt4lessImELm31EEE");
  EXPECT_EQ((stored_name<bplus_tree<string, string>>()),
            "N7outlast2tx3seq10bplus_treeINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES8_"
            "St4lessIvELm47EEE");
  EXPECT_EQ((stored_name<bplus_tree<u64, string, std::greater<u64>, 8>>()),
            "N7outlast2tx3seq10bplus_treeImNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt7g"
            "reaterImELm8EEE");
  EXPECT_EQ((stored_name<hash_map<u64, u64>>()),
            "N7outlast2tx3seq8hash_mapImmNS_4base12default_hashImEEEE");
  EXPECT_EQ((stored_name<hash_map<string, string>>()),
            "N7outlast2tx3seq8hash_mapINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES8_NS_"
            "4base12default_hashIS8_EEEE");
  EXPECT_EQ(stored_name<list_set<u64>>(), "N7outlast2tx3seq8list_setImEE");
  EXPECT_EQ(stored_name<queue<u64>>(), "N7outlast2tx3seq5queueImEE");
  EXPECT_EQ((stored_name<red_black_tree<u64, u64>>()), "N7outlast2tx3seq14red_black_treeImmEE");
  EXPECT_EQ((stored_name<red_black_tree<string, string>>()),
            "N7outlast2tx3seq14red_black_treeINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
            "S8_EE");
  EXPECT_EQ(stored_name<stack<u64>>(), "N7outlast2tx3seq5stackImEE");
  EXPECT_EQ(stored_name<byte_string>(), "N7outlast2tx11byte_stringE");
  EXPECT_EQ((stored_name<replica_map<u64, u64>>()),
            "St3mapImmSt4lessImEN7outlast2tx17replica_allocatorISt4pairIKmmEEEE");
}

TEST(StoredNames, of_keys_and_values_are_those_of_format_1) {
  EXPECT_EQ(stored_name<roots::no_value>(), "N7outlast7durable8no_valueE");
  EXPECT_EQ(stored_name<lockfree::no_value>(), "N7outlast7durable8no_valueE");
  EXPECT_EQ(stored_name<base::default_hash<u64>>(), "N7outlast4base12default_hashImEE");
  EXPECT_EQ(stored_name<const u64>(), "m");
}

TEST(StoredNames, are_found_inside_of_other_types) {
  using namespace containers;
  EXPECT_EQ((stored_name<queue<array<int>>>()), "N7outlast2tx3seq5queueINS1_5arrayIiEEEE");
  EXPECT_EQ((stored_name<std::pair<stack<int>, roots::no_value>>()),
            "St4pairIN7outlast2tx3seq5stackIiEENS0_7durable8no_valueEE");
  EXPECT_EQ((stored_name<std::pair<byte_string, byte_string>>()),
            "St4pairIN7outlast2tx11byte_stringES2_E");
}

}  // namespace
}  // namespace outlast::test
