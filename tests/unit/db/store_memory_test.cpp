// Goal: a store's memory follows its data, however large its writes are, and the store tells of it.
// Method: large values over one key, in memory and on a disk, beside the system's own figures.
#include <outlast/db/db.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/unit/db/stores.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>

namespace outlast::db {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

/// Of the process: what no file stands for.
std::size_t resident_anonymous_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::size_t kib = 0;
    if (word == "RssAnon:" && status >> kib) return kib << 10;
  }
  ADD_FAILURE() << "the system does not tell";
  return 0;
}

std::uint64_t number_of(DB& of, const std::string& property) {
  std::string text;
  EXPECT_TRUE(of.GetProperty(property, &text)) << property;
  return text.empty() ? 0 : std::stoull(text);
}

class StoreMemory : public testing::TestWithParam<std::string> {
 protected:
  /// With `bytes` bytes, over one key.
  void put_large(DB& store, int times, std::size_t bytes) {
    std::string value(bytes, 'a');
    for (int i = 0; i < times; ++i) {
      value[static_cast<std::size_t>(i) * 4096] = 'b';
      ASSERT_EQ(store.Put({}, "large", value).ToString(), "OK");
    }
  }

  db::test::store_place place{GetParam()};
};

// Each of 128 remembered transitions kept what its lines held before and after, for ever.
TEST_P(StoreMemory, is_not_the_sum_of_its_large_writes) {
  if (outlast::test::under_address_sanitizer) GTEST_SKIP() << "which keeps what is freed";
  const auto store = test::opened(place.at("store"));
  put_large(*store, 1, mib);
  const std::size_t before = resident_anonymous_bytes();
  put_large(*store, 30, 8 * mib);
  // On a disk two replicas lie in memory, and pages of the one in the file; each with the value
  // and the one before it.
  const std::size_t data = GetParam() == "disk" ? 3 * 16 * mib : 0;
  EXPECT_LT(resident_anonymous_bytes(), before + data + 64 * mib);
}

// It was 0 in memory, and on a disk nothing but the replicas.
TEST_P(StoreMemory, is_told_and_falls_after_large_writes) {
  const auto store = test::opened(place.at("store"));
  const auto put_small = [&] {
    for (int i = 0; i < 300; ++i) ASSERT_EQ(store->Put({}, "small", "value").ToString(), "OK");
  };
  const auto told = [&] { return number_of(*store, "leveldb.approximate-memory-usage"); };
  put_small();
  const std::uint64_t before = told();
  EXPECT_GT(before, 0U);
  EXPECT_LT(before, 16 * mib);
  put_large(*store, 4, 4 * mib);
  const std::uint64_t replicas = GetParam() == "disk" ? 2 * 8 * mib : 0;
  EXPECT_GT(told(), before + 4 * mib);  // as the last transition alone
  put_small();
  EXPECT_LT(told(), before + replicas + 8 * mib);
}

INSTANTIATE_TEST_SUITE_P(everywhere, StoreMemory, testing::Values("memory", "disk"),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace outlast::db
