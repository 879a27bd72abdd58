// Goal: a reader of parts sees an item and its parts as they are at one time, changes of an item
// exclude each other, and sweeps, erasures and calls that are one run during them.
// Method: threads whose items have a value that is the number of their parts.
#include <tests/unit/server/parts_stand.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace outlast::server {
namespace {

using test::place;

void in_threads(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::vector<std::thread> crew;
  crew.reserve(count);
  for (std::size_t i = 0; i < count; ++i) crew.emplace_back(work, i);
  for (std::thread& each : crew) each.join();
}

/// Adds a part, or removes it if it is present. The value is the number of parts.
void toggle(item_space& in, std::string_view key, const std::string& name,
            std::int64_t now_ms = noon_ms, std::int64_t expires_ms = 0) {
  std::string value;
  in.modify_parts(key, now_ms, [&](const item* old, item_parts& parts) {
    std::uint64_t count = old == nullptr ? 0 : std::stoull(std::string(old->value));
    if (parts.read(name, [](std::string_view) {})) {
      parts.erase(name);
      --count;
    } else {
      parts.put(name, "x");
      ++count;
    }
    value = std::to_string(count);
    return typed_put(value, item_type::set, expires_ms);
  });
}

class stored_parts_of_threads : public ::testing::TestWithParam<place> {
 protected:
  served_store at{GetParam()};
};

TEST_P(stored_parts_of_threads, lose_no_update) {
  constexpr std::uint64_t rounds = 400;
  in_threads(4, [&](std::size_t mine) {
    for (std::uint64_t i = 0; i < rounds; ++i) {
      const std::string name = std::to_string(mine) + " " + std::to_string(i);
      toggle(*at, "shared", name);
      toggle(*at, "own" + std::to_string(mine), name);
      if (i % 40 == 0) at->together([&] { toggle(*at, "shared", name + "together"); });
    }
  });
  EXPECT_EQ(parts_in(*at, "shared").size(), 4 * (rounds + rounds / 40));
  EXPECT_EQ(whole_in(*at, "shared").value, std::to_string(4 * (rounds + rounds / 40)));
  EXPECT_EQ(parts_in(*at, "own3").size(), rounds);
  EXPECT_EQ(at->items(), 5U);
  EXPECT_EQ(at->bytes(), bytes_in(*at.home));
}

TEST_P(stored_parts_of_threads, are_read_as_of_one_time_during_all_other_calls) {
  std::atomic<std::size_t> working{2};
  std::atomic<std::int64_t> now_ms{noon_ms};
  in_threads(5, [&](std::size_t mine) {
    if (mine < 2) {
      for (std::size_t i = 0; i < 1'500; ++i) {
        const std::int64_t now = ++now_ms;
        const std::string key = "k" + std::to_string(i % 3);
        toggle(*at, key, std::to_string(i % 50), now, i % 5 == 0 ? now + 3 : 0);
        if (i % 20 == 0) erase(*at, key, now);
        if (i % 30 == 0) put_parts(*at, key, {{"a", "x"}}, item_type::set, now);
        if (i % 50 == 0) {
          at->together([&] {
            toggle(*at, "k0", "together", now);
            toggle(*at, "k1", "together", now);
          });
        }
      }
      --working;
      return;
    }
    while (working.load() != 0) {
      if (mine == 2) at->sweep(now_ms.load(), 4);
      if (mine == 3) {
        at->erase_all(now_ms.load(), now_ms.load() + (now_ms.load() % 2 == 0 ? 5 : 0));
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      if (mine != 4) continue;
      for (const char* key : {"k0", "k1", "k2"}) {
        // Some calls have a clock that is late.
        const whole_item one = whole_in(*at, key, now_ms.load() - (working.load() == 2 ? 2 : 0));
        if (one.type == 0) continue;
        ASSERT_EQ(one.value, std::to_string(one.parts.size())) << key;
      }
    }
  });
  at->erase_all(now_ms.load(), 0);
  sweep_all(*at, now_ms.load());
  EXPECT_EQ(at->items(), 0U);
  EXPECT_EQ(at->bytes(), 0U);
  EXPECT_EQ(test::content_of(*at.home).size(), 1U) << "the record";
}

TEST_P(stored_parts_of_threads, change_different_keys_at_the_same_time) {
  // A call that has begun waits for one of another key.
  std::atomic<int> inside{0};
  in_threads(2, [&](std::size_t mine) {
    at->modify_parts("key" + std::to_string(mine), noon_ms, [&](const item*, item_parts& parts) {
      ++inside;
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (inside.load() != 2 && std::chrono::steady_clock::now() < end) {
        std::this_thread::yield();
      }
      EXPECT_EQ(inside.load(), 2) << "the other key waits";
      parts.put("a", "x");
      return typed_put("1");
    });
  });
  EXPECT_EQ(parts_in(*at, "key0").size() + parts_in(*at, "key1").size(), 2U);
}

TEST(StoredPartsOfThreads, with_sync_are_durable_when_a_reader_returns) {
  served_store at(place::record_disk);
  at.options.sync = true;
  at.open();
  in_threads(3, [&](std::size_t mine) {
    for (int i = 0; i < 150; ++i) {
      const std::string key = "k" + std::to_string(i % 5);
      token seen = 0;
      if (mine == 0) {
        seen = put_with(*at, key, "1", [](item_parts& parts) { parts.put("a", "x"); }).version;
      } else if (mine == 1) {
        seen = erase(*at, key).version;
      } else {
        at->read_parts(key, noon_ms, use::counts,
                       [&](const item& one, item_parts&) { seen = one.version; });
      }
      ASSERT_LE(seen, at->durable_token());
    }
  });
}

INSTANTIATE_TEST_SUITE_P(media, stored_parts_of_threads,
                         ::testing::Values(place::record_files, place::record_disk,
                                           place::memory_files),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace outlast::server
