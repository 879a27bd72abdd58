// Goal: changes of a key exclude each other, calls that are one are isolated from all others, and
// walks, sweeps and erasures run during changes.
// Method: threads whose sums are known; a bank whose total never differs for a reader.
#include <tests/unit/server/stored_stand.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace outlast::server {
namespace {

using test::place;

/// Runs `work(index)` in some threads, and waits for them.
void in_threads(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::vector<std::thread> crew;
  crew.reserve(count);
  for (std::size_t i = 0; i < count; ++i) crew.emplace_back(work, i);
  for (std::thread& each : crew) each.join();
}

class stored_items_of_threads : public ::testing::TestWithParam<place> {
 protected:
  served_store at{GetParam()};
};

TEST_P(stored_items_of_threads, lose_no_update) {
  constexpr std::uint64_t rounds = 1'000;
  in_threads(4, [&](std::size_t mine) {
    for (std::uint64_t i = 0; i < rounds; ++i) {
      add_to(*at, "shared" + std::to_string(i % 3), 1);
      add_to(*at, "own" + std::to_string(mine), 1);
      if (i % 50 == 0) at->together([&] { add_to(*at, "shared" + std::to_string(mine % 3), 1); });
    }
  });
  std::uint64_t sum = 0;
  for (int i = 0; i < 3; ++i) sum += add_to(*at, "shared" + std::to_string(i), 0);
  EXPECT_EQ(sum, 4 * (rounds + rounds / 50));
  EXPECT_EQ(add_to(*at, "own2", 0), rounds);
  EXPECT_EQ(at->items(), 7U);
  const std::uint64_t bytes = at->bytes();
  at.open();
  EXPECT_EQ(at->items(), 7U);
  EXPECT_EQ(at->bytes(), bytes);
}

TEST_P(stored_items_of_threads, see_changes_that_are_one_whole_or_not_at_all) {
  constexpr std::uint64_t total = 1'000;
  constexpr std::size_t accounts = 5;
  const auto account = [](std::size_t i) { return "account" + std::to_string(i); };
  put(*at, account(0), std::to_string(total));
  for (std::size_t i = 1; i < accounts; ++i) put(*at, account(i), "0");
  std::atomic<std::size_t> working{2};
  in_threads(4, [&](std::size_t mine) {
    if (mine < 2) {
      for (std::size_t i = 0; i < 500; ++i) {
        at->together([&] {
          const std::size_t from = (mine + i) % accounts;
          const std::uint64_t amount = std::stoull(value_in(*at, account(from))) / 2;
          put(*at, account(from),
              std::to_string(std::stoull(value_in(*at, account(from))) - amount));
          add_to(*at, account((from + 1) % accounts), amount);
        });
      }
      --working;
      return;
    }
    while (working.load() != 0) {
      std::uint64_t sum = 0;
      if (mine == 2) {  // one walk is one point in time, because it is one call
        at->scan(0, 100, noon_ms, [&](std::string_view, const item& one) {
          sum += std::stoull(std::string(one.value));
        });
      } else {
        at->together([&] {
          for (std::size_t i = 0; i < accounts; ++i) {
            sum += std::stoull(value_in(*at, account(i)));
          }
        });
      }
      ASSERT_EQ(sum, total);
    }
  });
}

TEST_P(stored_items_of_threads, have_different_numbers_and_reach_their_tokens) {
  std::array<std::vector<std::uint64_t>, 3> numbers;
  std::atomic<std::size_t> working{numbers.size()};
  in_threads(numbers.size() + 1, [&](std::size_t mine) {
    if (mine == numbers.size()) {
      while (working.load() != 0) at->make_durable();
      return;
    }
    token last = 0;
    for (int i = 0; i < 2'000; ++i) {
      const change_result done = put(*at, "k" + std::to_string(i % 10), "x");
      ASSERT_GT(done.version, last);
      last = done.version;
      numbers[mine].push_back(done.unique);
      // A reader sees this version or a later one, and its token covers that.
      ASSERT_TRUE(at->read("k" + std::to_string(i % 10), noon_ms, use::counts,
                           [&](const item& one) { ASSERT_GE(one.version, last); }));
      ASSERT_GE(at->present_token(), last);
    }
    --working;
  });
  std::set<std::uint64_t> all;
  for (const auto& some : numbers) all.insert(some.begin(), some.end());
  EXPECT_EQ(all.size(), 6'000U);
  at->make_durable();
  EXPECT_EQ(at->durable_token(), at->present_token());
}

TEST_P(stored_items_of_threads, survive_sweeps_and_erasures_during_changes) {
  std::atomic<std::size_t> working{2};
  std::atomic<std::int64_t> now_ms{noon_ms};
  in_threads(5, [&](std::size_t mine) {
    if (mine < 2) {  // each item is stored again before its owner reads it
      const std::string key = "own" + std::to_string(mine);
      for (int i = 0; i < 2'000; ++i) {
        const std::int64_t now = ++now_ms;
        put(*at, "gone" + std::to_string(i % 20), "x", now, now + 1);
        put(*at, key, std::to_string(i), now, i % 2 == 0 ? now : 0);
        if (i % 2 == 1) {
          ASSERT_EQ(value_in(*at, key, now), std::to_string(i));
        }
      }
      --working;
      return;
    }
    while (working.load() != 0) {
      if (mine == 2) at->sweep(now_ms.load(), 7);
      if (mine == 3) at->scan(0, 100, now_ms.load(), [](std::string_view, const item&) {});
      if (mine == 4) {
        at->erase_all(noon_ms, noon_ms + 1'000'000'000);
        EXPECT_LE(at->items(), 22U);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
  });
  at->erase_all(now_ms.load(), 0);
  sweep_all(*at, now_ms.load());
  EXPECT_EQ(at->items(), 0U);
  EXPECT_EQ(at->bytes(), 0U);
  EXPECT_EQ(test::content_of(*at.home).size(), 1U) << "the record";
}

TEST(StoredItemsOfThreads, with_sync_are_durable_when_a_reader_returns) {
  served_store at(place::record_disk);
  at.options.sync = true;
  at.open();
  in_threads(3, [&](std::size_t mine) {
    for (int i = 0; i < 200; ++i) {
      const std::string key = "k" + std::to_string(i % 5);
      token seen = 0;
      if (mine == 0) {
        seen = put(*at, key, "x").version;
      } else if (mine == 1) {
        seen = erase(*at, key).version;
      } else {
        at->read(key, noon_ms, use::counts, [&](const item& one) { seen = one.version; });
      }
      ASSERT_LE(seen, at->durable_token());
    }
  });
}

INSTANTIATE_TEST_SUITE_P(media, stored_items_of_threads,
                         ::testing::Values(place::record_files, place::record_disk,
                                           place::memory_files),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace outlast::server
