// Goal: threads share a store: what one has written all see, batches whole; a thousand iterators
// and snapshots show their moment while others write; nobody waits for a writer that has stopped.
// Method: values that tell the batch they are of; an order of keys in which a chosen thread stops
// inside of its operation; on a file system in memory, on a disk and in ordinary memory.
#include <outlast/db/comparator.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/support/store_home.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace outlast::test {
namespace {

class StoreThreads : public testing::TestWithParam<place> {
 protected:
  StoreThreads() : home(GetParam()) {}

  store_home home;
};

INSTANTIATE_TEST_SUITE_P(everywhere, StoreThreads,
                         testing::Values(place::memory_files, place::disk, place::ordinary_memory,
                                         place::record_files, place::record_disk,
                                         place::ordinary_records),
                         testing::PrintToStringParamName());

/// How much is done: less where each step is watched.
constexpr int some(int steps) { return under_thread_sanitizer ? steps / 10 : steps; }

/// Keys that each batch gives the same value.
constexpr int width = 40;
std::string key_of(int i) { return "key " + std::to_string(1000 + i); }

db::Status write_all(db::DB& store, const std::string& value) {
  db::WriteBatch batch;
  for (int i = 0; i < width; ++i) batch.Put(key_of(i), value);
  return store.Write({}, &batch);
}

/// The value that all keys have, from here; "" if they differ.
std::string value_of_all(db::Iterator& it) {
  std::string value;
  int count = 0;
  for (it.SeekToFirst(); it.Valid(); it.Next(), ++count) {
    if (count == 0) value = it.value().ToString();
    if (it.value() != db::Slice(value) || it.key() != db::Slice(key_of(count))) return "";
  }
  return count == width && it.status().ok() ? value : "";
}

/// Writes batches until it is told to stop.
class writers {
 public:
  writers(db::DB& store, int threads) {
    for (int t = 0; t < threads; ++t) {
      threads_.emplace_back([this, &store, t] {
        for (int n = 0; !stop_; ++n) {
          // Short and long ones: in the page and beside it.
          const std::string value = std::to_string(t) + "/" + std::to_string(n);
          const std::string padding(n % 2 == 0 ? 0 : 100, '.');
          if (!write_all(store, value + padding).ok()) ++failures_;
          ++written_;
        }
      });
    }
  }
  ~writers() { stop(); }
  writers(const writers&) = delete;
  writers& operator=(const writers&) = delete;

  void stop() {
    stop_ = true;
    threads_.clear();
  }
  void wait_for(int more) const {
    const int until = written_ + more;
    while (written_ < until) std::this_thread::yield();
  }
  [[nodiscard]] int failures() const { return failures_; }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<int> written_{0};
  std::atomic<int> failures_{0};
  std::vector<std::jthread> threads_;
};

TEST_P(StoreThreads, has_a_thousand_iterators_and_snapshots_open_under_writers) {
  ASSERT_EQ(home.open().ToString(), "OK");
  ASSERT_TRUE(write_all(*home, "first").ok());
  constexpr std::size_t each = 1000;
  std::vector<std::unique_ptr<db::Iterator>> iterators;
  std::vector<const db::Snapshot*> snapshots;
  std::vector<std::string> seen;
  {
    writers busy(*home, 2);
    for (std::size_t i = 0; i < each; ++i) {
      iterators.emplace_back(home->NewIterator({}));
      snapshots.push_back(home->GetSnapshot());
      db::ReadOptions then;
      then.snapshot = snapshots.back();
      seen.push_back(value_of(*home, key_of(0), then));
      if (i % 100 == 0) busy.wait_for(5);
    }
    busy.wait_for(some(100));
    for (std::size_t i = 0; i < each; i += 3) {
      ASSERT_NE(value_of_all(*iterators[i]), "") << i;
    }
    busy.stop();
    EXPECT_EQ(busy.failures(), 0);
  }
  for (std::size_t i = 0; i < each; ++i) {
    db::ReadOptions then;
    then.snapshot = snapshots[i];
    const std::unique_ptr<db::Iterator> it(home->NewIterator(then));
    ASSERT_EQ(value_of_all(*it), seen[i]) << i;
    ASSERT_EQ(value_of(*home, key_of(width - 1), then), seen[i]) << i;
    ASSERT_NE(value_of_all(*iterators[i]), "") << i;
  }
  // They differ: the writers were not idle.
  EXPECT_GT(std::vector<std::string>(seen.begin(), std::unique(seen.begin(), seen.end())).size(),
            5U);
  iterators.clear();
  for (const db::Snapshot* one : snapshots) home->ReleaseSnapshot(one);
  home.options.paranoid_checks = true;
  EXPECT_EQ(home.open().ToString(), "OK");
}

TEST_P(StoreThreads, lets_threads_iterate_and_write_at_once) {
  ASSERT_EQ(home.open().ToString(), "OK");
  constexpr int threads = 3;
  const int keys = some(2000);
  const auto own_key = [](int t, int i) {
    return std::to_string(t) + ":" + std::to_string(100'000 + i);
  };
  for (int t = 0; t < threads; ++t) {
    for (int i = 0; i < keys; ++i) ASSERT_TRUE(home->Put({}, own_key(t, i), "old").ok());
  }
  {
    std::vector<std::jthread> all;
    for (int t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        const std::unique_ptr<db::Iterator> it(home->NewIterator({}));
        int i = 0;
        for (it->Seek(own_key(t, 0)); it->Valid() && i < keys; it->Next(), ++i) {
          ASSERT_EQ(it->key().ToString(), own_key(t, i));
          ASSERT_EQ(it->value().ToString(), "old");
          ASSERT_TRUE(home->Delete({}, own_key(t, i)).ok());
          ASSERT_TRUE(home->Delete({}, own_key(t, i + 1)).ok());
          ASSERT_TRUE(home->Put({}, own_key(t, i) + "x", std::string(100, 'n')).ok());
        }
        EXPECT_EQ(i, keys);
      });
    }
  }
  const entries left = content_of(*home);
  EXPECT_EQ(left.size(), static_cast<std::size_t>(threads * keys));
  for (const auto& [key, value] : left) EXPECT_EQ(key.back(), 'x') << key;
}

TEST_P(StoreThreads, sees_what_it_wrote_and_nothing_older_than_it_saw) {
  ASSERT_EQ(home.open().ToString(), "OK");
  ASSERT_TRUE(home->Put({}, "shared", "0").ok());
  constexpr int threads = 3;
  const int steps = some(3000);
  std::vector<std::jthread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      const std::string own = "of " + std::to_string(t);
      int shared = 0;
      for (int n = 0; n < steps; ++n) {
        ASSERT_TRUE(home->Put({}, own, std::to_string(n)).ok());
        ASSERT_EQ(value_of(*home, own), std::to_string(n));
        if (n % 16 == 0) {
          db::ReadOptions now;
          now.snapshot = home->GetSnapshot();
          ASSERT_EQ(value_of(*home, own, now), std::to_string(n));
          home->ReleaseSnapshot(now.snapshot);
        }
        ASSERT_TRUE(t != 0 || home->Put({}, "shared", std::to_string(n)).ok());
        const int now = std::stoi(value_of(*home, "shared"));
        ASSERT_GE(now, shared);
        shared = now;
      }
    });
  }
}

TEST_P(StoreThreads, opens_for_one_of_those_that_try) {
  constexpr int threads = 4;
  std::atomic<int> opened{0};
  std::atomic<int> refused{0};
  std::atomic<int> tried{0};
  {
    std::vector<std::jthread> all;
    for (int t = 0; t < threads; ++t) {
      all.emplace_back([&] {
        db::DB* store = nullptr;
        const db::Status status = db::DB::Open(home.options, home.more, home.name(), &store);
        const std::unique_ptr<db::DB> own(store);
        if (status.ok()) ++opened;
        if (status.IsIOError()) ++refused;
        ++tried;
        while (tried < threads) std::this_thread::yield();
      });
    }
  }
  EXPECT_EQ(opened, 1);
  EXPECT_EQ(refused, threads - 1);
}

/// By bytes; a thread that wants to stop does so in its next comparison, until it is let go.
class stopping_order final : public db::Comparator {
 public:
  int Compare(const db::Slice& a, const db::Slice& b) const override {
    if (stops_ && !has_stopped_.exchange(true)) {
      while (!goes_on_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return a.compare(b);
  }
  const char* Name() const override { return "test.stopping"; }
  void FindShortestSeparator(std::string*, const db::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

  /// This thread stops.
  void stop_here() const { stops_ = true; }
  void wait_until_stopped() const {
    while (!has_stopped_) std::this_thread::yield();
  }
  void go_on() const { goes_on_ = true; }

 private:
  static inline thread_local bool stops_ = false;
  mutable std::atomic<bool> has_stopped_{false};
  mutable std::atomic<bool> goes_on_{false};
};

TEST_P(StoreThreads, does_not_wait_for_a_writer_that_has_stopped) {
  if (home.has_records()) GTEST_SKIP() << "writers of a key wait for each other";
  const stopping_order order;
  home.options.comparator = &order;
  home.more.replicas = 4;
  ASSERT_EQ(home.open().ToString(), "OK");
  ASSERT_TRUE(write_all(*home, "first").ok());
  const std::unique_ptr<db::Iterator> before(home->NewIterator({}));
  std::string answer;
  std::jthread stopped([&] {
    order.stop_here();
    answer = home->Put({}, "stopped", "value").ToString();
  });
  order.wait_until_stopped();
  // Nothing here returns if it waits for that thread.
  EXPECT_EQ(value_of(*home, key_of(3)), "first");
  EXPECT_EQ(value_of_all(*before), "first");
  for (int n = 0; n < 100; ++n) {
    const std::string value = std::to_string(n);
    ASSERT_TRUE(write_all(*home, value).ok());
    ASSERT_EQ(value_of(*home, key_of(3)), value);
    ASSERT_TRUE(home->Delete({}, "stopped").ok());
    ASSERT_EQ(value_of(*home, "stopped"), "(none)");
    const std::unique_ptr<db::Iterator> now(home->NewIterator({}));
    ASSERT_EQ(value_of_all(*now), value);
  }
  std::string text;
  EXPECT_TRUE(home->GetProperty("leveldb.stats", &text));
  home->CompactRange(nullptr, nullptr);
  order.go_on();
  stopped.join();
  EXPECT_EQ(answer, "OK");
  EXPECT_EQ(value_of(*home, "stopped"), "(none)");  // others have done it, before they deleted it
}

TEST_P(StoreThreads, reads_with_two_replicas_while_the_writer_of_one_has_stopped) {
  const stopping_order order;
  home.options.comparator = &order;
  home.more.replicas = 2;
  ASSERT_EQ(home.open().ToString(), "OK");
  ASSERT_TRUE(write_all(*home, "first").ok());
  db::ReadOptions then;
  then.snapshot = home->GetSnapshot();
  std::jthread stopped([&] {
    order.stop_here();
    EXPECT_TRUE(home->Put({}, "stopped", "value").ok());
  });
  order.wait_until_stopped();
  for (int n = 0; n < some(1000); ++n) {
    ASSERT_EQ(value_of(*home, key_of(n % width)), "first");
    ASSERT_EQ(value_of(*home, key_of(n % width), then), "first");
  }
  EXPECT_EQ(content_of(*home, then).size(), std::size_t{width});
  order.go_on();
  stopped.join();
  home->ReleaseSnapshot(then.snapshot);
  EXPECT_EQ(value_of(*home, "stopped"), "value");
}

}  // namespace
}  // namespace outlast::test
