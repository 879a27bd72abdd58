// Goal: what a process has been answered before it was killed is in the store afterwards: changes,
// calls that are one, erasures and unique numbers.
// Method: a child writes its progress to a pipe and is killed in the middle; the parent opens the
// store and compares it with the last line of progress.
#include <tests/support/store_home.hpp>
#include <tests/unit/server/kill_stand.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

#include <unistd.h>

namespace outlast::server {
namespace {

using test::place;

class stored_items_and_kills : public ::testing::TestWithParam<place> {
 protected:
  static constexpr int kills = 25;
  static std::chrono::microseconds moment(int kill) { return kill_moment(kill); }
  static std::uint64_t number_in(item_space& space, const std::string& key) {
    const std::string text = value_in(space, key);
    return text == "(none)" ? 0 : std::stoull(text);
  }

  served_store at{GetParam()};
};

TEST_P(stored_items_and_kills, keep_changes_that_are_one_whole) {
  std::uint64_t before = 0;
  for (int kill = 0; kill < kills; ++kill) {
    const progress last =
        last_before_kill(at, moment(kill), [&](served_store& in, const report& tell) {
          for (std::uint64_t i = before + 1;; ++i) {
            in->together([&] {
              for (const char* key : {"a", "b", "c", "d"}) put(*in, key, std::to_string(i));
              erase(*in, "odd" + std::to_string(i - 1));
              put(*in, "odd" + std::to_string(i), std::string(1'000, 'x'));
            });
            tell({i, 0});
          }
        });
    const std::uint64_t found = number_in(*at, "a");
    ASSERT_GE(found, last[0]) << "an answer was lost";
    for (const char* key : {"b", "c", "d"}) ASSERT_EQ(number_in(*at, key), found);
    ASSERT_EQ(value_in(*at, "odd" + std::to_string(found)).size(), 1'000U);
    ASSERT_EQ(at->items(), 5U);
    ASSERT_EQ(all_in(*at).size(), 5U);
    before = found;
  }
}

TEST_P(stored_items_and_kills, give_no_number_twice) {
  std::uint64_t greatest = 0;
  for (int kill = 0; kill < kills; ++kill) {
    const progress last =
        last_before_kill(at, moment(kill), [&](served_store& in, const report& tell) {
          for (std::uint64_t i = 0;; ++i) {
            const std::uint64_t unique = put(*in, "k" + std::to_string(i % 3), "x").unique;
            if (unique <= greatest) ::_exit(3);
            tell({unique, 0});
          }
        });
    ASSERT_GT(last[0], greatest);
    greatest = last[0];
    // The last number may have been given, but not reported.
    const std::uint64_t next = put(*at, "k0", "y").unique;
    at->scan(0, 10, noon_ms, [&](std::string_view key, const item& one) {
      if (key != "k0") {
        ASSERT_LT(one.unique, next);
      }
    });
    ASSERT_GT(next, greatest);
    greatest = next;
  }
}

TEST_P(stored_items_and_kills, keep_erasures) {
  for (int kill = 0; kill < kills; ++kill) {
    const progress last =
        last_before_kill(at, moment(kill), [&](served_store& in, const report& tell) {
          std::uint64_t erased = 0;
          for (std::uint64_t i = 1;; ++i) {
            put(*in, "k" + std::to_string(i % 7), std::to_string(i));
            if (i % 20 == 0) {
              in->erase_all(noon_ms, noon_ms);
              erased = i;
            }
            if (i % 11 == 0) in->sweep(noon_ms, 5);
            tell({i, erased});
          }
        });
    // The next change or erasure may have happened, but was not reported.
    std::uint64_t greatest = last[1];
    for (const auto& [key, text] : all_in(*at)) {
      const std::uint64_t number = std::stoull(text);
      ASSERT_GT(number, last[1]) << key << " was erased";
      ASSERT_EQ(key, "k" + std::to_string(number % 7));
      greatest = std::max(greatest, number);
    }
    if (last[0] % 20 != 19 && last[0] > last[1]) {
      ASSERT_GE(greatest, last[0]) << "an answer was lost";
    }
    at->erase_all(noon_ms, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(media, stored_items_and_kills,
                         ::testing::Values(place::record_files, place::record_disk,
                                           place::memory_files, place::disk),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace outlast::server
