// Goal: a thread that is idle holds back nothing of what it has retired: neither memory of the
// pool, nor what its operations did not wait for.
// Method: one thread erases every key while another stands inside a walk, and idles; then the walk
// ends, and a third thread needs the memory.
#include "tests/support/temp_pool.hpp"

#include <outlast/domain.hpp>
#include <outlast/epoch/lockfree_hash_map.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/sets/soft_hash.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <semaphore>
#include <thread>

namespace outlast {
namespace {

using u64 = std::uint64_t;
using process = domain::process;
using flushing = domain::counting<domain::adr>;
template <class D>
using strict = durable::flit<durable::tag::adjacent, durable::automatic, D>;

template <class Map, class D>
struct on {
  using map_type = Map;
  using domain_type = D;
};

template <class On>
class idle_threads : public ::testing::Test {
 protected:
  static constexpr u64 few = 2'000;  // what threads keep at hand

  void fill() {
    try {
      for (;; ++count_) (void)map_.insert(count_, count_);
    } catch (const out_of_space&) {
    }
  }
  void erase_all() {
    for (u64 key = 0; key < count_; ++key) (void)map_.erase(key);
  }
  [[nodiscard]] u64 inserted_again() {
    for (u64 key = 0; key < count_; ++key) {
      try {
        (void)map_.insert(key, key);
      } catch (const out_of_space&) {
        return key;
      }
    }
    return count_;
  }

  test::temp_pool<typename On::domain_type> pool_{std::size_t{2} << 20};
  typename On::map_type map_{*pool_, "map"};
  u64 count_ = 0;
};
using maps = ::testing::Types<on<lockfree::hash_table<u64, u64, strict<process>>, process>,
                              on<lockfree::hash_table<u64, u64, strict<flushing>>, flushing>,
                              on<sets::soft_hash<u64, u64, flushing>, flushing>,
                              on<epoch::lockfree_hash_map<u64, u64, process>, process>>;
TYPED_TEST_SUITE(idle_threads, maps);

TYPED_TEST(idle_threads, leave_their_memory_to_others) {
  this->fill();
  ASSERT_GT(this->count_, 2 * this->few);
  std::binary_semaphore walks(0);
  std::binary_semaphore erased(0);
  std::binary_semaphore ends(0);
  std::thread walker([&] {
    bool first = true;
    this->map_.for_each([&](const auto&...) {
      if (!first) return;
      first = false;
      walks.release();
      erased.acquire();
    });
  });
  std::thread idler([&] {
    walks.acquire();
    this->erase_all();
    erased.release();
    ends.acquire();
  });
  walker.join();
  EXPECT_GE(this->inserted_again() + this->few, this->count_);
  ends.release();
  idler.join();
}

}  // namespace
}  // namespace outlast
