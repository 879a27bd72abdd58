// Goal: after a kill, items have the parts that belong to them: the changes of a call are there
// together, a sweep that was interrupted has removed no part of an item that is present, and a
// later sweep removes the rest.
// Method: a child writes its progress to a pipe and is killed; in each of its steps the value of an
// item is the number of its parts. The parent opens the store and compares.
#include <tests/support/store_home.hpp>
#include <tests/unit/server/kill_stand.hpp>
#include <tests/unit/server/parts_stand.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>

namespace outlast::server {
namespace {

using test::place;

class stored_parts_and_kills : public ::testing::TestWithParam<place> {
 protected:
  static constexpr int kills = 25;

  /// Returns all items, and expects that the value of each with parts is their number.
  std::map<std::string, whole_item> expect_whole_items(std::int64_t now_ms = noon_ms) {
    std::map<std::string, whole_item> found;
    for (const auto& [key, value] : all_in(*at, 7, now_ms)) {
      const whole_item one = whole_in(*at, key, now_ms);
      if (one.type != 0) {
        EXPECT_EQ(one.value, std::to_string(one.parts.size())) << key;
      }
      found.emplace(key, one);
    }
    EXPECT_EQ(at->bytes(), bytes_in(*at.home));
    return found;
  }
  /// Expects that a sweep leaves nothing that belongs to no item.
  void expect_clean_sweep(std::int64_t now_ms = noon_ms) {
    const auto before = expect_whole_items(now_ms);
    sweep_all(*at, now_ms);
    EXPECT_EQ(expect_whole_items(now_ms), before);
    std::size_t parts = 0;
    std::size_t sets = 0;
    for (const auto& [key, one] : before) {
      parts += one.parts.size();
      sets += one.type == 0 ? 0 : 1;
    }
    EXPECT_EQ(entries_with(*at.home, '\2'), parts);
    EXPECT_EQ(entries_with(*at.home, '\3'), sets);
    EXPECT_EQ(at->items(), before.size());
  }

  served_store at{GetParam()};
};

/// Adds or removes some parts, so that the value is their number. Requires: no part is changed by
/// another thread.
void edit(item_space& in, const std::string& key, std::mt19937_64& random) {
  std::string value;
  in.modify_parts(key, noon_ms, [&](const item* old, item_parts& parts) {
    const bool is_new = old == nullptr || old->type == 0;
    std::uint64_t count = is_new ? 0 : std::stoull(std::string(old->value));
    for (std::uint64_t left = 1 + random() % 6; left != 0; --left) {
      const std::string name = std::to_string(random() % 60);
      const bool is_there = parts.read(name, [](std::string_view) {});
      if (is_there && random() % 3 == 0) {
        parts.erase(name);
        --count;
      } else {
        parts.put(name, std::string(random() % 200, 'v'));
        count += is_there ? 0 : 1;
      }
    }
    value = std::to_string(count);
    return typed_put(value);
  });
}

TEST_P(stored_parts_and_kills, keep_items_and_parts_together) {
  for (int kill = 0; kill < kills; ++kill) {
    const progress last =
        last_before_kill(at, kill_moment(kill), [&](served_store& in, const report& tell) {
          std::mt19937_64 random(static_cast<std::uint64_t>(kill));
          for (std::uint64_t i = 1;; ++i) {
            const std::string key = "k" + std::to_string(random() % 5);
            const std::uint64_t dice = random() % 12;
            if (dice < 7) edit(*in, key, random);
            if (dice == 7) put_parts(*in, key, {{"only", "1"}});
            if (dice == 8) erase(*in, key);
            if (dice == 9) put(*in, key, "string");
            if (dice == 9) erase(*in, key);
            if (dice == 10) in->sweep(noon_ms, 1 + random() % 4);
            if (dice == 11) {
              in->together([&] {
                edit(*in, key, random);
                edit(*in, "k0", random);
              });
            }
            put_with(*in, "progress", "1",
                     [&](item_parts& parts) { parts.put("last", std::to_string(i)); });
            tell({i, 0});
          }
        });
    const auto found = expect_whole_items();
    ASSERT_EQ(found.count("progress"), 1U);
    ASSERT_GE(std::stoull(found.at("progress").parts.at("last")), last[0]);
    if (kill % 3 == 0) expect_clean_sweep();
    if (::testing::Test::HasFailure()) FAIL() << "after kill " << kill;
  }
}

TEST_P(stored_parts_and_kills, keep_moves_between_items_whole) {
  constexpr std::size_t elements = 40;
  part_map all;
  for (std::size_t i = 0; i < elements; ++i) all[std::to_string(i)] = "x";
  put_parts(*at, "a", all, item_type::set);
  put_parts(*at, "b", {}, item_type::set);
  for (int kill = 0; kill < kills; ++kill) {
    last_before_kill(at, kill_moment(kill), [&](served_store& in, const report& tell) {
      for (std::uint64_t i = 0;; ++i) {
        const std::string name = std::to_string(i * 7 % elements);
        in->together([&] {
          const bool is_in_a = parts_in(*in, "a").contains(name);
          for (const char* key : {"a", "b"}) {
            part_map parts = parts_in(*in, key);
            if (is_in_a == (key[0] == 'a')) {
              parts.erase(name);
            } else {
              parts[name] = "x";
            }
            // Every other one is a new set of parts, whose predecessor stays for a sweep.
            if (i % 2 == 0) {
              put_parts(*in, key, parts, item_type::set);
            } else {
              put_with(
                  *in, key, std::to_string(parts.size()),
                  [&](item_parts& to) {
                    parts.contains(name) ? to.put(name, "x") : to.erase(name);
                  },
                  item_type::set);
            }
          }
        });
        if (i % 5 == 0) in->sweep(noon_ms, 3);
        tell({i, 0});
      }
    });
    part_map both = parts_in(*at, "a");
    const part_map second = parts_in(*at, "b");
    ASSERT_EQ(both.size() + second.size(), elements) << "after kill " << kill;
    both.insert(second.begin(), second.end());
    ASSERT_EQ(both, all);
    expect_whole_items();
  }
  expect_clean_sweep();
}

TEST_P(stored_parts_and_kills, finish_a_sweep_that_was_interrupted) {
  constexpr int items = 12;
  for (int kill = 0; kill < kills; ++kill) {
    const std::int64_t now_ms = noon_ms + kill;
    part_map many;
    for (int i = 0; i < 600; ++i) many[std::to_string(i)] = "value";
    for (int i = 0; i < items; ++i) {
      put_parts(*at, "stays" + std::to_string(i), {{"a", "1"}, {"b", "2"}}, item_type::list);
      put_parts(*at, "expires" + std::to_string(i), i < 2 ? many : part_map{{"a", "1"}},
                item_type::hash, now_ms, now_ms + 1);
      put_parts(*at, "cleared" + std::to_string(i), {{"a", "1"}});
    }
    last_before_kill(at, kill_moment(kill), [&](served_store& in, const report& tell) {
      // The clock of some calls is late: what they see must be whole, too.
      for (std::uint64_t i = 0;; ++i) {
        in->sweep(now_ms + static_cast<std::int64_t>(i % 2), 1);
        const std::string key = "expires" + std::to_string(i % items);
        const whole_item one = whole_in(*in, key, now_ms);
        if (one.type != 0 && one.value != std::to_string(one.parts.size())) ::_exit(3);
        put_parts(*in, "cleared" + std::to_string(i % items), {{"a", "1"}});
        tell({i, 0});
      }
    });
    const auto found = expect_whole_items(now_ms);
    for (int i = 0; i < items; ++i) {
      ASSERT_EQ(found.at("stays" + std::to_string(i)).parts.size(), 2U);
      ASSERT_EQ(found.at("cleared" + std::to_string(i)).parts.size(), 1U);
    }
    if (kill % 4 == 0) expect_clean_sweep(now_ms + 1);
    if (::testing::Test::HasFailure()) FAIL() << "after kill " << kill;
  }
  expect_clean_sweep(noon_ms + kills);
}

INSTANTIATE_TEST_SUITE_P(media, stored_parts_and_kills,
                         ::testing::Values(place::record_files, place::record_disk,
                                           place::memory_files, place::disk),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace outlast::server
