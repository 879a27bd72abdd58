// Goal: on a disk, what waits for the device in each operation is refused unless the pool was
// opened for it, with the option's name, and nothing is left of the attempt; what does not wait is
// there without. Method: each family on pools of both domains of a disk.
#include <outlast/domain.hpp>
#include <outlast/epoch/buffered_stack.hpp>
#include <outlast/epoch/graph.hpp>
#include <outlast/epoch/hash_map.hpp>
#include <outlast/epoch/lockfree_hash_map.hpp>
#include <outlast/epoch/lockfree_queue.hpp>
#include <outlast/epoch/ordered_map.hpp>
#include <outlast/epoch/queue.hpp>
#include <outlast/lockfree/harris_list.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/lockfree/michael_scott_queue.hpp>
#include <outlast/lockfree/natarajan_tree.hpp>
#include <outlast/lockfree/skiplist.hpp>
#include <outlast/lockfree/stack.hpp>
#include <outlast/sets/link_free_hash.hpp>
#include <outlast/sets/link_free_list.hpp>
#include <outlast/sets/link_free_skiplist.hpp>
#include <outlast/sets/link_free_tree.hpp>
#include <outlast/sets/soft_hash.hpp>
#include <outlast/sets/soft_list.hpp>
#include <outlast/sets/soft_skiplist.hpp>
#include <outlast/sets/soft_tree.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace outlast {
namespace {

using u64 = std::uint64_t;

template <domain::persistence_domain D>
class on_a_disk : public testing::Test {
 protected:
  using flit = durable::flit<durable::tag::adjacent, durable::automatic, D>;
  using transient = durable::transient<D>;

  template <class Structure>
  void expect_refusal() {
    test::temp_directory directory;
    const std::string path = directory.file("pool");
    {
      auto pool = basic_pool<D>::create(path, small);
      EXPECT_NE(refusal_of<Structure>(pool).find("pool_options::per_operation_device_sync"),
                std::string::npos)
          << refusal_of<Structure>(pool);
      EXPECT_TRUE(pool.roots().empty());
      pool.close();
    }
    auto asked = basic_pool<D>::open(path, {.per_operation_device_sync = true});
    {
      Structure attached(asked, "tried");
    }
    asked.close();
  }

  template <class Structure>
  void expect_none() {
    test::temp_directory directory;
    auto pool = basic_pool<D>::create(directory.file("pool"), small);
    {
      Structure attached(pool, "tried");
    }
    pool.close();
  }

  template <class Structure>
  static std::string refusal_of(basic_pool<D>& pool) {
    try {
      Structure attempt(pool, "tried");
    } catch (const error& refused) {
      EXPECT_EQ(refused.reason(), errc::refused);
      return refused.what();
    }
    return "nothing was refused";
  }

  static constexpr pool_options small{.size_bytes = 8 << 20, .log_bytes = 1 << 20};
};

using disks = testing::Types<domain::file, domain::logged_file>;
TYPED_TEST_SUITE(on_a_disk, disks);

TYPED_TEST(on_a_disk, lock_free_structures_are_refused_unless_asked_for) {
  using policy = typename TestFixture::flit;
  this->template expect_refusal<lockfree::hash_table<u64, u64, policy>>();
  this->template expect_refusal<lockfree::harris_list<u64, u64, policy>>();
  this->template expect_refusal<lockfree::skiplist<u64, u64, policy>>();
  this->template expect_refusal<lockfree::natarajan_tree<u64, u64, policy>>();
  this->template expect_refusal<lockfree::michael_scott_queue<u64, policy>>();
  this->template expect_refusal<lockfree::stack<u64, policy>>();
}

TYPED_TEST(on_a_disk, sets_are_refused_unless_asked_for) {
  this->template expect_refusal<sets::link_free_hash<u64, u64, TypeParam>>();
  this->template expect_refusal<sets::link_free_list<u64, u64, TypeParam>>();
  this->template expect_refusal<sets::link_free_skiplist<u64, u64, TypeParam>>();
  this->template expect_refusal<sets::link_free_tree<u64, u64, TypeParam>>();
  this->template expect_refusal<sets::soft_hash<u64, u64, TypeParam>>();
  this->template expect_refusal<sets::soft_list<u64, u64, TypeParam>>();
  this->template expect_refusal<sets::soft_skiplist<u64, u64, TypeParam>>();
  this->template expect_refusal<sets::soft_tree<u64, u64, TypeParam>>();
}

TYPED_TEST(on_a_disk, what_does_not_wait_needs_no_option) {
  using policy = typename TestFixture::transient;
  this->template expect_none<lockfree::hash_table<u64, u64, policy>>();
  this->template expect_none<lockfree::stack<u64, policy>>();
  this->template expect_none<epoch::hash_map<u64, u64, TypeParam>>();
  this->template expect_none<epoch::queue<u64, TypeParam>>();
  this->template expect_none<epoch::stack<u64, TypeParam>>();
  this->template expect_none<epoch::lockfree_queue<u64, TypeParam>>();
  this->template expect_none<epoch::lockfree_hash_map<u64, u64, TypeParam>>();
  this->template expect_none<epoch::ordered_map<u64, u64, TypeParam>>();
  this->template expect_none<epoch::graph<u64, u64, TypeParam>>();
}

}  // namespace
}  // namespace outlast
