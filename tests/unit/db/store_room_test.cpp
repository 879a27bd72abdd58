// Goal: a write that finds no room on the disk is refused without effect, and the store goes on.
// Method: batches larger than the log of the store's pool, where the file system allocates no more.
#include <outlast/pool/detail/seams.hpp>
#include <tests/support/store_home.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace outlast::test {
namespace {

const db::WriteOptions synced = [] {
  db::WriteOptions made;
  made.sync = true;
  return made;
}();
constexpr int values = 36;
constexpr std::size_t value_bytes = std::size_t{1} << 20;

/// The file system is full from now on.
struct full_disk {
  full_disk() { pool_detail::test_seams().fallocate_fails = ENOSPC; }
  ~full_disk() { pool_detail::test_seams().fallocate_fails = 0; }
  full_disk(const full_disk&) = delete;
  full_disk& operator=(const full_disk&) = delete;
};

db::WriteBatch large_batch(char content) {
  db::WriteBatch batch;
  for (int i = 0; i < values; ++i) {
    batch.Put("large" + std::to_string(i), std::string(value_bytes, content));
  }
  return batch;
}

class StoreWithoutRoom : public testing::Test {
 protected:
  StoreWithoutRoom() {
    home.more.capacity_bytes = std::size_t{256} << 20;
    EXPECT_EQ(home.open().ToString(), "OK");
    for (const char content : {'a', 'b', 'a'}) {  // there is space for another copy of them
      for (int i = 0; i < values; ++i) {
        const std::string key = "large" + std::to_string(i);
        EXPECT_EQ(home->Put({}, key, std::string(value_bytes, content)).ToString(), "OK");
      }
    }
    EXPECT_EQ(home->Put({}, "small", "0").ToString(), "OK");
  }
  void expect_large(char content) {
    for (int i = 0; i < values; ++i) {
      ASSERT_EQ(value_of(*home, "large" + std::to_string(i)), std::string(value_bytes, content));
    }
  }

  store_home home{place::disk};
};

TEST_F(StoreWithoutRoom, refuses_a_large_batch_without_effect_and_goes_on) {
  {
    const full_disk full;
    db::WriteBatch large = large_batch('c');
    const db::Status refused = home->Write(synced, &large);
    EXPECT_TRUE(refused.IsIOError()) << refused.ToString();
    expect_large('a');
    EXPECT_EQ(home->Put(synced, "small", "1").ToString(), "OK");
    EXPECT_EQ(home->Delete(synced, "large0").ToString(), "OK");
    EXPECT_EQ(home->Put(synced, "large0", std::string(1'000, 'd')).ToString(), "OK");
  }
  db::WriteBatch large = large_batch('c');
  EXPECT_EQ(home->Write(synced, &large).ToString(), "OK");
  ASSERT_EQ(home.open().ToString(), "OK");
  expect_large('c');
  EXPECT_EQ(value_of(*home, "small"), "1");
}

TEST_F(StoreWithoutRoom, refuses_no_small_write_that_comes_with_a_large_one) {
  const full_disk full;
  std::atomic<bool> over{false};
  std::vector<std::thread> crew;
  std::array<int, 2> last{};
  for (std::size_t t = 0; t < last.size(); ++t) {
    crew.emplace_back([&, t] {
      while (!over.load()) {
        const std::string number = std::to_string(++last[t]);
        ASSERT_EQ(home->Put({}, "thread" + std::to_string(t), number).ToString(), "OK");
      }
    });
  }
  for (int i = 0; i < 3; ++i) {
    db::WriteBatch large = large_batch('c');
    EXPECT_TRUE(home->Write(synced, &large).IsIOError());
  }
  over.store(true);
  for (std::thread& each : crew) each.join();
  expect_large('a');
  for (std::size_t t = 0; t < last.size(); ++t) {
    EXPECT_EQ(value_of(*home, "thread" + std::to_string(t)), std::to_string(last[t]));
  }
}

}  // namespace
}  // namespace outlast::test
