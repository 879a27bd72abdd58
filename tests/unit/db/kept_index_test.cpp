// The index of the record engine that outlives its process: beside a map, after kills at each
// point, and with pools that have changed without it.
#include <outlast/domain/adr.hpp>
#include <outlast/domain/process.hpp>
#include <src/db/records/kept_heap.hpp>
#include <tests/support/memory_region.hpp>
#include <tests/unit/db/record_engines.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <ios>
#include <iterator>
#include <memory>
#include <new>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace outlast::store_detail::records {
namespace {

TEST(kept_heap, gives_each_block_to_one_owner) {
  using heap_type = kept_heap<domain::process>;
  memory_region region;
  auto* const state = new (region.first()) heap_type::state;
  heap_type heap(region, *state);
  heap.begin(sizeof *state);
  std::mt19937_64 random(1);
  std::map<std::byte*, std::size_t> owned;
  for (int i = 0; i < 20'000; ++i) {
    if (owned.size() > 200 || (random() % 3 == 0 && !owned.empty())) {
      auto at = owned.lower_bound(region.first() + random() % region.provided());
      if (at == owned.end()) at = owned.begin();
      for (std::size_t k = 0; k < at->second; k += 37) {
        ASSERT_EQ(at->first[k], static_cast<std::byte>(at->second));
      }
      heap.free(at->first, at->second);
      owned.erase(at);
      continue;
    }
    const std::size_t bytes = 1 + random() % (random() % 16 == 0 ? 100'000 : 3000);
    auto* const got = static_cast<std::byte*>(heap.allocate(bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(got) % base::cache_line_size, 0U);
    const auto after = owned.lower_bound(got);
    if (after != owned.end()) {
      ASSERT_LE(got + bytes, after->first);
    }
    if (after != owned.begin()) {
      ASSERT_GE(got, std::prev(after)->first + std::prev(after)->second);
    }
    std::fill_n(got, bytes, static_cast<std::byte>(bytes));
    owned.emplace(got, bytes);
  }
  for (const auto& [at, bytes] : owned) heap.free(at, bytes);
  EXPECT_EQ(heap.used(), 0U);
  // What was freed suffices for the same sizes again.
  const std::size_t end = region.provided();
  for (const auto& [at, bytes] : owned) static_cast<void>(heap.allocate(bytes));
  EXPECT_EQ(region.provided(), end);
  EXPECT_THROW(static_cast<void>(heap.allocate(std::size_t{1} << 40)), std::bad_alloc);
}

template <class Variant>
class kept_indexes : public record_engines<Variant> {
 protected:
  kept_indexes() {
    this->store->close();
    this->store.reset();
    this->pool.abandon();
    this->index = region;
    this->pool.open();
    this->open();
  }

  std::shared_ptr<memory_region> region = std::make_shared<memory_region>();
};

using variants =
    testing::Types<variant<domain::process, small_shape>, variant<domain::adr, small_shape>,
                   variant<domain::process, usual_shape>, variant<domain::adr, small_marked_shape>>;
TYPED_TEST_SUITE(kept_indexes, variants);

TYPED_TEST(kept_indexes, have_what_a_map_has_after_kills) {
  std::mt19937_64 random(3);
  content model;
  EXPECT_FALSE(this->store->records().has_reopened());
  for (int life = 0; life < 10; ++life) {
    for (int i = 0; i < 300; ++i) this->change(random, 300, 2, model);
    if (life % 3 == 1) this->store->collect();
    this->expect_content(model);
    if (life % 3 != 2) {
      this->kill_and_open();
    } else {
      this->close_and_open();
    }
    EXPECT_TRUE(this->store->records().has_reopened());
    this->expect_content(model);
  }
  // A new index has the same.
  this->index = std::make_shared<memory_region>();
  this->kill_and_open();
  EXPECT_FALSE(this->store->records().has_reopened());
  this->expect_content(model);
}

TYPED_TEST(kept_indexes, lose_the_versions_of_snapshots_and_their_memory) {
  std::mt19937_64 random(4);
  content model;
  for (int life = 0; life < 6; ++life) {
    std::vector<std::unique_ptr<snapshot>> kept;
    for (int i = 0; i < 200; ++i) {
      this->change(random, 40, 2, model);
      if (i % 10 == 0) kept.push_back(this->store->take_snapshot());
    }
    kept.clear();
    this->kill_and_open();
    EXPECT_TRUE(this->store->records().has_reopened());
    this->expect_content(model);
    EXPECT_EQ(this->store->records().kept_bytes(), 0U);
  }
}

/// Kills do not leave more and more memory without an owner.
TYPED_TEST(kept_indexes, stay_as_small_as_their_keys) {
  std::mt19937_64 random(5);
  content model;
  std::size_t bytes = 0;
  for (int life = 0; life < 30; ++life) {
    for (int i = 0; i < 100; ++i) this->change(random, 200, 3, model);
    this->kill_and_open();
    if (life == 10) bytes = this->region->provided();
  }
  this->expect_content(model);
  EXPECT_LE(this->region->provided(), 2 * bytes);
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
void write_bytes(const std::string& path, const std::string& bytes) {
  std::fstream out(path, std::ios::binary | std::ios::in | std::ios::out);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// The pool was opened without the index, or its bytes were replaced by older ones of the same
/// life. The index is not used.
TYPED_TEST(kept_indexes, are_not_used_for_another_state_of_the_pool) {
  std::mt19937_64 random(6);
  content model;
  for (int i = 0; i < 300; ++i) this->change(random, 100, 2, model);
  this->index = nullptr;
  this->kill_and_open();
  for (int i = 0; i < 10; ++i) this->change(random, 100, 2, model);
  this->index = this->region;
  this->kill_and_open();
  EXPECT_FALSE(this->store->records().has_reopened());
  this->expect_content(model);
  for (int more : {0, 1, 50}) {
    for (int i = 0; i < 100; ++i) this->change(random, 100, 2, model);
    const content then = model;
    this->store->compact();  // the cleaner has no work, and changes nothing during the copy
    if (more == 0) this->store.reset();  // with its threads
    const std::string old = bytes_of(this->pool.path());
    for (int i = 0; i < more; ++i) {
      model["k1"] = std::to_string(i);
      this->store->put("k1", model["k1"], false);
    }
    this->store.reset();
    this->pool.abandon();
    write_bytes(this->pool.path(), old);
    this->pool.open();
    this->open();
    EXPECT_EQ(this->store->records().has_reopened(), more == 0);
    this->expect_content(then);
    model = then;
  }
}

TYPED_TEST(kept_indexes, that_find_no_memory_refuse_writes_and_lose_nothing) {
  std::mt19937_64 random(7);
  content model;
  for (int i = 0; i < 100; ++i) this->change(random, 100, 2, model);
  this->region->limit = this->region->provided();
  int refused = 0;
  for (int i = 0; i < 3000 && refused < 20; ++i) {
    const std::string key = "more" + std::to_string(i);
    try {
      this->store->put(key, "v", false);
      model[key] = "v";
    } catch (const std::bad_alloc&) {
      ++refused;
    }
  }
  EXPECT_EQ(refused, 20);
  this->expect_content(model);
  this->kill_and_open();
  this->expect_content(model);
}

}  // namespace
}  // namespace outlast::store_detail::records
