// Goal: a store's memory follows its data, however large its writes are, and the store tells of it.
// Method: large values over one key, in memory and on a disk, beside the system's own figures.
#include <outlast/db/db.hpp>
#include <outlast/db/write_batch.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/unit/db/stores.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

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

/// On a disk, with 64 MB of data.
class StoreOnDisk : public testing::Test {
 protected:
  static constexpr unsigned keys = 64'000;
  static constexpr std::size_t replicas = 2;  // that one thread uses

  void SetUp() override {
    if (outlast::test::under_address_sanitizer) GTEST_SKIP() << "which keeps what is freed";
    before_ = resident_anonymous_bytes();
    open();
    if (number_of(*store_, "outlast.log-bytes") == 0) GTEST_SKIP() << "there is no disk";
    put_all(1);
    open();
    // One replica has been read.
    copy_ = taken();
    EXPECT_GT(copy_, std::size_t{keys} * value_.size());
  }
  void open() {
    store_.reset();
    Options options;
    options.create_if_missing = true;
    StoreOptions more;
    more.capacity_bytes = 256 * mib;
    DB* made = nullptr;
    ASSERT_EQ(DB::Open(options, more, place_.at("store"), &made).ToString(), "OK");
    store_.reset(made);
  }
  /// Each key once, every `step`-th of them after the other.
  void put_all(unsigned step) {
    constexpr unsigned at_once = 16;
    WriteBatch batch;
    for (unsigned i = 0; i < keys; ++i) {
      value_[i % value_.size()] ^= 1;
      batch.Put(std::to_string(1'000'000 + std::uint64_t{i} * step % keys), value_);
      if (i % at_once != at_once - 1) continue;
      ASSERT_EQ(store_->Write({}, &batch).ToString(), "OK");
      batch.Clear();
    }
  }
  [[nodiscard]] std::size_t taken() const { return resident_anonymous_bytes() - before_; }
  /// Two copies and a quarter, and what the data do not decide.
  [[nodiscard]] std::size_t limit() {
    return copy_ * (4 * replicas + 1) / 4 + number_of(*store_, "outlast.ring-bytes") + 16 * mib;
  }
  void expect_what_is_told_to_be_true() {
    const auto told = static_cast<double>(number_of(*store_, "leveldb.approximate-memory-usage"));
    const auto here = static_cast<double>(taken());
    EXPECT_GT(told, 0.9 * here);
    EXPECT_LT(told, 1.1 * here);
  }

  test::store_place place_{"disk"};
  std::size_t before_ = 0;
  std::size_t copy_ = 0;  // bytes of one copy of the data
  std::unique_ptr<DB> store_;
  std::string value_ = std::string(1000, 'v');
};

// Pages of its file that had been written to were a third copy, for as long as it was open.
TEST_F(StoreOnDisk, has_two_copies_of_its_data_in_memory) {
  put_all(1);
  EXPECT_LT(taken(), limit());
  expect_what_is_told_to_be_true();
}

TEST_F(StoreOnDisk, soon_has_two_copies_after_writes_all_over) {
  for (const unsigned step : {7919U, 104'729U}) put_all(step);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (taken() > limit() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_LT(taken(), limit());
  expect_what_is_told_to_be_true();
}

INSTANTIATE_TEST_SUITE_P(everywhere, StoreMemory, testing::Values("memory", "disk"),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace outlast::db
