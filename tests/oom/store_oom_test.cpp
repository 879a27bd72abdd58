// Goal: an operation of a store without memory has no effect. It returns an error, or throws
// std::bad_alloc if there is no memory for the error text. Method: make the n-th allocation of this
// thread fail, and all that follow, for n = 0, 1, ... until a call passes; compare with a map.
#include <tests/support/store_home.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <string>

namespace {

thread_local std::size_t allocations_left = ~std::size_t{0};

void* allocate_or_fail(std::size_t size) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left != ~std::size_t{0}) --allocations_left;
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return allocate_or_fail(size); }
void* operator new[](std::size_t size) { return allocate_or_fail(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace outlast::test {
namespace {

class StoreOom : public testing::TestWithParam<place> {
 protected:
  StoreOom() : home(GetParam()) {
    home.more.capacity_bytes = std::size_t{8} << 20;
    EXPECT_EQ(home.open().ToString(), "OK");
    for (int i = 0; i < 200; ++i) put(std::to_string(i), std::string(i, 'v'));
  }

  void put(const std::string& key, const std::string& value) {
    EXPECT_EQ(home->Put({}, key, value).ToString(), "OK");
    model[key] = value;
  }
  void expect_model() { ASSERT_EQ(content_of(*home) == entries(model.begin(), model.end()), true); }

  /// Is the call made with `n` allocations, and answered as it should be?
  static bool passes(std::size_t n, const std::function<db::Status()>& call) {
    allocations_left = n;
    bool passed = false;
    std::string said = "out of memory";
    try {
      const db::Status status = call();
      allocations_left = ~std::size_t{0};
      passed = status.ok();
      if (!passed) said = status.ToString();
    } catch (const std::bad_alloc&) {
    }
    allocations_left = ~std::size_t{0};
    EXPECT_NE(said.find("out of memory"), std::string::npos) << said;
    return passed;
  }

  store_home home;
  std::map<std::string, std::string> model;
};

INSTANTIATE_TEST_SUITE_P(everywhere, StoreOom,
                         testing::Values(place::memory_files, place::disk, place::ordinary_memory,
                                         place::record_files, place::record_disk,
                                         place::ordinary_records),
                         testing::PrintToStringParamName());

TEST_P(StoreOom, a_write_without_memory_has_no_effect) {
  for (int round = 0; round < 20; ++round) {
    const std::string key = std::to_string(round * 10);
    const std::string value(50 * round, 'w');
    std::size_t n = 0;
    while (!passes(n, [&] { return home->Put({}, key, value); })) {
      expect_model();
      ++n;
    }
    EXPECT_TRUE(n > 0 || home.has_records());  // whose writes seldom need memory
    model[key] = value;
    expect_model();
    const std::string gone = std::to_string(round * 10 + 1);
    for (n = 0; !passes(n, [&] { return home->Delete({}, gone); }); ++n) expect_model();
    model.erase(gone);
    expect_model();
  }
}

TEST_P(StoreOom, a_batch_without_memory_has_no_effect) {
  for (int round = 0; round < 5; ++round) {
    db::WriteBatch batch;
    for (int i = 0; i < 50; ++i) {
      const std::string key = std::to_string((i * 7 + round) % 220);
      if (i % 3 == 0) {
        batch.Delete(key);
      } else {
        batch.Put(key, std::string(i * round, 'b'));
      }
    }
    for (std::size_t n = 0; !passes(n, [&] { return home->Write({}, &batch); }); ++n) {
      expect_model();
    }
    for (int i = 0; i < 50; ++i) {
      const std::string key = std::to_string((i * 7 + round) % 220);
      model.erase(key);
      if (i % 3 != 0) model[key] = std::string(i * round, 'b');
    }
    expect_model();
  }
}

TEST_P(StoreOom, a_read_without_memory_changes_nothing) {
  std::string value = "before";
  std::size_t n = 0;
  while (!passes(n, [&] { return home->Get({}, "150", &value); })) {
    EXPECT_EQ(value, "before");
    ++n;
  }
  EXPECT_GT(n, 0U);
  EXPECT_EQ(value, model["150"]);
}

TEST_P(StoreOom, an_iterator_without_memory_says_so) {
  std::size_t failures = 0;
  for (std::size_t n = 0;; ++n) {
    put("changed", std::to_string(n));  // or the last snapshot is taken again
    std::size_t seen = 0;
    const bool passed = passes(n, [&] {
      const std::unique_ptr<db::Iterator> at(home->NewIterator({}));
      for (at->SeekToFirst(); at->Valid(); at->Next()) ++seen;
      for (at->SeekToLast(); at->Valid(); at->Prev()) ++seen;
      return at->status();
    });
    expect_model();
    if (passed) {
      EXPECT_EQ(seen, 2 * model.size());
      break;
    }
    ++failures;
  }
  EXPECT_GT(failures, 3U);
}

TEST_P(StoreOom, an_iterator_goes_on_when_there_is_memory_again) {
  const std::unique_ptr<db::Iterator> at(home->NewIterator({}));
  at->SeekToFirst();
  allocations_left = 0;
  for (int i = 0; i < 100 && at->Valid(); ++i) {
    try {
      at->Next();
    } catch (const std::bad_alloc&) {
      break;
    }
  }
  allocations_left = ~std::size_t{0};
  std::size_t seen = 0;
  for (at->SeekToFirst(); at->Valid(); at->Next()) ++seen;
  EXPECT_EQ(seen, model.size());
}

TEST_P(StoreOom, a_snapshot_without_memory_is_told_where_it_is_read) {
  for (std::size_t n = 0;; ++n) {
    put("changed", std::to_string(n));
    std::string value;
    const bool passed = passes(n, [&] {
      db::ReadOptions then;
      then.snapshot = home->GetSnapshot();
      db::Status status;
      try {
        status = home->Get(then, "150", &value);
      } catch (const std::bad_alloc&) {
        home->ReleaseSnapshot(then.snapshot);
        throw;
      }
      home->ReleaseSnapshot(then.snapshot);
      return status;
    });
    expect_model();
    if (!passed) continue;
    EXPECT_EQ(value, model["150"]);
    break;
  }
  home->CompactRange(nullptr, nullptr);
  home.options.paranoid_checks = true;
  EXPECT_EQ(home.open().ToString(), "OK");
  expect_model();
}

TEST_P(StoreOom, an_opening_without_memory_leaves_the_store_as_it_is) {
  home.close();
  unsigned failures = 0;
  for (std::size_t n = 0;; n += 1 + n / 16) {
    db::DB* opened = nullptr;
    const bool passed =
        passes(n, [&] { return db::DB::Open(home.options, home.more, home.name(), &opened); });
    const std::unique_ptr<db::DB> store(opened);
    if (passed) break;
    EXPECT_EQ(opened, nullptr);
    ++failures;
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(failures, 5U);
  EXPECT_EQ(home.open().ToString(), "OK");
  expect_model();
}

}  // namespace
}  // namespace outlast::test
