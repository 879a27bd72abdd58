// Goal: a write that finds no room on the disk is refused without effect, and the store goes on;
// snapshots take no room for ever.
// Method: batches larger than the log of the store's pool, where the file system allocates no more;
// small stores whose data do not grow, and iterators that come and go.
#include <outlast/pool/file/test_hooks.hpp>
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
  full_disk() { pool_detail::test_hooks().fallocate_fails = ENOSPC; }
  ~full_disk() { pool_detail::test_hooks().fallocate_fails = 0; }
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

/// 20,000 keys of 200 bytes in 64 MiB.
class StoreThatDoesNotGrow : public testing::TestWithParam<place> {
 protected:
  static constexpr int keys = 20'000;

  StoreThatDoesNotGrow() {
    home.more.capacity_bytes = std::size_t{64} << 20;
    EXPECT_EQ(home.open().ToString(), "OK");
    for (int from = 0; from < keys; from += 1'000) write(from, 1'000, 1, 'a');
  }
  void write(int from, int count, int step, char content) {
    db::WriteBatch batch;
    for (int i = 0; i < count; ++i) {
      const int key = (from + i * step) % keys;
      batch.Put("key" + std::to_string(key), std::string(200, content));
    }
    ASSERT_EQ(home->Write({}, &batch).ToString(), "OK");
  }
  /// Rounds of { NewIterator; batch of overwrites; delete the iterator }.
  void write_beside_iterators(int rounds, int at_once) {
    for (int round = 0; round < rounds; ++round) {
      const std::unique_ptr<db::Iterator> at(home->NewIterator({}));
      ASSERT_NO_FATAL_FAILURE(write(round * 37, at_once, 7'919, 'b')) << "in round " << round;
    }
  }

  store_home home{GetParam()};
};

TEST_P(StoreThatDoesNotGrow, is_written_in_large_batches_beside_iterators) {
  write_beside_iterators(300, 1'000);
}

TEST_P(StoreThatDoesNotGrow, is_written_in_small_batches_beside_iterators) {
  write_beside_iterators(1'500, 100);
}

TEST_P(StoreThatDoesNotGrow, is_compacted_beside_iterators) {
  for (int i = 0; i < 10; ++i) {
    const std::unique_ptr<db::Iterator> at(home->NewIterator({}));
    write_beside_iterators(30, 1'000);
    home->CompactRange(nullptr, nullptr);
  }
}

TEST_P(StoreThatDoesNotGrow, takes_more_in_place_of_what_iterators_held) {
  {
    std::vector<std::unique_ptr<db::Iterator>> open;
    for (const char content : {'b', 'c', 'd', 'e', 'f', 'g'}) {
      open.emplace_back(home->NewIterator({}));
      write(0, keys, 1, content);
    }
  }
  // Records of one batch are one piece of the file, and iterators have left it in pieces.
  const int at_once = home.has_records() ? keys / 10 : 5 * keys;
  for (int from = 0; from < 5 * keys; from += at_once) {
    db::WriteBatch more;
    for (int i = from; i < from + at_once; ++i) {
      more.Put("more" + std::to_string(i), std::string(200, 'h'));
    }
    ASSERT_EQ(home->Write({}, &more).ToString(), "OK") << from;
  }
}

/// Too few versions for a thread to look for those that nothing sees any more.
TEST_P(StoreThatDoesNotGrow, takes_more_in_place_of_large_values_that_an_iterator_held) {
  const auto put = [&](const char* prefix, int count, char content) {
    for (int i = 0; i < count; ++i) {
      const std::string value(std::size_t{124} << 10, content);
      ASSERT_EQ(home->Put({}, prefix + std::to_string(i), value).ToString(), "OK") << prefix << i;
    }
  };
  put("large", 160, 'a');
  {
    const std::unique_ptr<db::Iterator> at(home->NewIterator({}));
    put("large", 160, 'b');
  }
  put("more", 200, 'c');
  EXPECT_EQ(value_of(*home, "large7"), std::string(std::size_t{124} << 10, 'b'));
}

INSTANTIATE_TEST_SUITE_P(with, StoreThatDoesNotGrow,
                         testing::Values(place::memory_files, place::record_files),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace outlast::test
