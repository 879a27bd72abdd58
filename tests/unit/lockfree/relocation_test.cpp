// Goal: a structure finds all its keys when its pool's address range is taken, however often it has
// to move, cleanly closed or not. Method: occupy the range with a mapping of our own.
#include "tests/support/temp_pool.hpp"

#include <outlast/domain.hpp>
#include <outlast/durable/mirror.hpp>
#include <outlast/lockfree/harris_list.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/lockfree/michael_scott_queue.hpp>
#include <outlast/lockfree/natarajan_tree.hpp>
#include <outlast/lockfree/skiplist.hpp>
#include <outlast/lockfree/stack.hpp>

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace outlast::lockfree {
namespace {

using u64 = std::uint64_t;

/// Keeps a page at an address to itself.
class occupied {
 public:
  explicit occupied(std::uintptr_t address)
      : page_(::mmap(reinterpret_cast<void*>(address), 4096, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0)) {}
  ~occupied() { ::munmap(page_, 4096); }
  occupied(const occupied&) = delete;
  occupied& operator=(const occupied&) = delete;
  [[nodiscard]] bool holds(std::uintptr_t address) const {
    return reinterpret_cast<std::uintptr_t>(page_) == address;
  }

 private:
  void* page_;
};

struct entry {
  u64 key;
  u64 value;
};

/// A sequence as a map: what comes out goes back in.
template <class Sequence>
class all_values_of {
 public:
  using policy_type = typename Sequence::policy_type;

  template <class Pool>
  all_values_of(Pool& pool, const char* name) : sequence_(pool, name) {}

  bool insert(u64 key, u64 value) {
    sequence_.push({key, value});
    return true;
  }
  bool erase(u64 key) {
    std::vector<entry> others;
    bool found = false;
    while (const auto taken = sequence_.pop()) {
      if (taken->key == key) found = true;
      if (taken->key != key) others.push_back(*taken);
    }
    for (const entry& each : others) sequence_.push(each);
    return found;
  }
  [[nodiscard]] std::optional<u64> get(u64 key) {
    std::optional<u64> found;
    sequence_.for_each([&](const entry& each) {
      if (each.key == key) found = each.value;
    });
    return found;
  }
  [[nodiscard]] bool contains(u64 key) { return get(key).has_value(); }

 private:
  Sequence sequence_;
};

template <class Map>
class relocation : public ::testing::Test {
 protected:
  static constexpr u64 keys = 300;

  void fill() {
    Map map(*pool_, "map");
    for (u64 k = 0; k < keys; ++k) ASSERT_TRUE(map.insert(k, k * 3));
    for (u64 k = 0; k < keys; k += 3) ASSERT_TRUE(map.erase(k));
  }
  void leave(bool cleanly) {
    if (cleanly) {
      pool_.close();
    } else {
      pool_.abandon();
    }
  }
  void expect_content() {
    Map map(*pool_, "map");
    for (u64 k = 0; k < keys; ++k) {
      ASSERT_EQ(map.contains(k), k % 3 != 0) << k;
      if (k % 3 != 0) {
        ASSERT_EQ(map.get(k), k * 3);
      }
    }
    // It goes on working where it is.
    ASSERT_TRUE(map.insert(keys + 7, 1));
    ASSERT_TRUE(map.erase(keys + 7));
  }

  /// Opens the pool while the place where it lay last is taken; often enough that places repeat.
  void move_often(bool cleanly) {
    fill();
    std::uintptr_t last = pool_->base();
    for (int move = 0; move < 4; ++move) {
      leave(cleanly);
      const occupied taken(last);
      ASSERT_TRUE(taken.holds(last));
      pool_.open();
      ASSERT_NE(pool_->base(), last);
      expect_content();
      last = pool_->base();
    }
  }

  test::temp_pool<typename Map::policy_type::domain_type> pool_;
};

template <class Tag>
using policy = durable::flit<Tag, durable::automatic, domain::process>;
using mirror = durable::mirror<domain::adr>;
using maps =
    ::testing::Types<skiplist<u64, u64, policy<durable::tag::adjacent>>,
                     harris_list<u64, u64, policy<durable::tag::adjacent>>,
                     harris_list<u64, u64, policy<durable::tag::line<>>>,
                     hash_table<u64, u64, policy<durable::tag::adjacent>>,
                     hash_table<u64, u64, policy<durable::tag::always>>,
                     natarajan_tree<u64, u64, policy<durable::tag::adjacent>>,
                     natarajan_tree<u64, u64, policy<durable::tag::line<>>>,
                     all_values_of<michael_scott_queue<entry, policy<durable::tag::adjacent>>>,
                     all_values_of<stack<entry, policy<durable::tag::adjacent>>>,
                     skiplist<u64, u64, mirror>, hash_table<u64, u64, mirror>,
                     natarajan_tree<u64, u64, mirror>,
                     all_values_of<michael_scott_queue<entry, mirror>>>;
TYPED_TEST_SUITE(relocation, maps);

TYPED_TEST(relocation, moves_after_a_clean_close) { this->move_often(true); }
TYPED_TEST(relocation, moves_after_a_kill) { this->move_often(false); }

TYPED_TEST(relocation, a_root_that_was_not_attached_moves_when_it_is) {
  this->fill();
  const std::uintptr_t first = this->pool_->base();
  this->leave(true);
  {
    const occupied taken(first);
    this->pool_.open();  // mapped elsewhere; nobody attaches the root
    this->leave(true);
  }
  this->pool_.open();
  this->expect_content();
}

}  // namespace
}  // namespace outlast::lockfree
