// Mutants of the index that outlives its process. Each is found by the tests of the index: by kills
// at any point, beside a map, or with a pool that has changed without the index.
//
// The number of the life has no mutant (P11): a life that changes the pool makes segments, and the
// index does not list them.
#include <broken_records/record_engine.hpp>
#include <outlast/domain/process.hpp>
#include <tests/support/memory_region.hpp>
#include <tests/unit/db/killed_index.hpp>
#include <tests/unit/db/record_engines.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <ios>
#include <iterator>
#include <memory>
#include <random>
#include <string>

namespace outlast::store_detail::records {
namespace {

struct broken_shape : broken_records::usual_shape {
  static constexpr unsigned leaf_slots = small_shape::leaf_slots;
  static constexpr unsigned page_keys = small_shape::page_keys;
  static constexpr std::size_t key_locks = small_shape::key_locks;
  static constexpr std::size_t min_segment_bytes = small_shape::min_segment_bytes;
  static constexpr std::size_t max_segment_bytes = small_shape::max_segment_bytes;
  static constexpr bool large_pages = false;
};
struct broken_variant {
  using domain_type = domain::process;
  using shape = broken_shape;
  using engine_type = broken_records::record_engine<domain_type, shape>;
};

/// Switches a sentence of the protocol off. 0: none.
class without {
 public:
  explicit without(int number) { ::outlast::broken_records::defect = number; }
  ~without() { ::outlast::broken_records::defect = 0; }
  without(const without&) = delete;
  without& operator=(const without&) = delete;
};

TEST(kept_index_mutants, are_found_by_kills) {
  for (const int number : {194, 195, 196, 198, 199}) {
    const without sentence(number);
    killed_indexes<broken_variant> store(std::chrono::seconds(3));
    EXPECT_NE(kill_again_and_again(store, 4000), "") << "mutant " << number;
  }
}
TEST(kept_index_mutants, are_found_by_kills_without_space) {
  const without sentence(206);
  killed_indexes<broken_variant> store(std::chrono::seconds(3));
  EXPECT_NE(kill_again_and_again(store, 20'000, true), "");
}
TEST(kept_index_mutants, are_none_if_nothing_is_switched_off) {
  for (const bool is_full : {false, true}) {
    killed_indexes<broken_variant> store(std::chrono::seconds(60));
    EXPECT_EQ(kill_again_and_again(store, 50, is_full), "");
  }
}

/// A store with an index in memory.
class kept_store : public record_engines<broken_variant> {
 public:
  kept_store() {
    store->close();
    store.reset();
    pool.abandon();
    index = region;
    pool.open();
    open();
  }
  void TestBody() override {}
  void change_some(int changes) {
    for (int i = 0; i < changes; ++i) change(random, 40, 2, model);
  }

  std::shared_ptr<memory_region> region = std::make_shared<memory_region>();
  std::mt19937_64 random{7};
  content model;
};

/// The bytes of the pool were replaced by older ones.
bool survives_an_older_pool() {
  kept_store of;
  of.change_some(200);
  of.store->compact();  // the cleaner has no work
  of.store->put("k1", "older", false);
  content then = of.model;
  then["k1"] = "older";
  std::ifstream in(of.pool.path(), std::ios::binary);
  const std::string old{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  of.store->put("k1", "newer", false);
  of.store.reset();
  of.pool.abandon();
  std::fstream out(of.pool.path(), std::ios::binary | std::ios::in | std::ios::out);
  out.write(old.data(), static_cast<std::streamsize>(old.size()));
  out.close();
  of.pool.open();
  of.open();
  return of.store->check().empty() && content_of(*of.store->take_snapshot()) == then;
}
/// Snapshots existed at the kill.
bool survives_snapshots() {
  kept_store of;
  of.change_some(50);
  {
    const auto seen = of.store->take_snapshot();
    of.change_some(50);
    const auto more = of.store->take_snapshot();
    of.change_some(50);
  }
  of.kill_and_open();
  // Their memory is used again.
  for (int i = 0; i < 3; ++i) {
    const auto again = of.store->take_snapshot();
    of.change_some(100);
  }
  return of.store->check().empty() && content_of(*of.store->take_snapshot()) == of.model;
}

TEST(kept_index_mutants, are_found_with_an_older_pool) {
  EXPECT_TRUE(survives_an_older_pool());
  const without sentence(197);
  EXPECT_FALSE(survives_an_older_pool());
}
/// What is left of nodes is used again, so that the process can end by a signal.
TEST(kept_index_mutants, end_the_process_or_are_found_with_snapshots) {
  EXPECT_TRUE(survives_snapshots());
  EXPECT_DEATH(
      {
        ::outlast::broken_records::defect = 200;
        if (!survives_snapshots()) std::abort();
      },
      "");
}

}  // namespace
}  // namespace outlast::store_detail::records
