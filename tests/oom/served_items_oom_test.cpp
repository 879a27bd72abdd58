// Goal: a call of the key space of a store without memory has no effect, and later calls have one.
// Method: make the n-th operator new of a call fail, or it and all that follow, for n = 1, 2, ...
// until the call meets no failure; compare all items and parts with those before, or with those
// after a call without failures.
#include "tests/oom/failing_new.hpp"

#include <tests/unit/server/parts_stand.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <new>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::server {
namespace {

using kind = item_change::kind;
using test::failing_calls;
using test::place;

/// All that a client sees of a space.
struct view {
  std::map<std::string, whole_item> items;
  std::uint64_t count = 0;
  friend bool operator==(const view&, const view&) = default;
};

struct tested_call {
  std::string_view name;
  /// Makes the first `steps` of the changes.
  std::function<void(stored_items&, std::size_t steps)> run;
  /// A call that fails may have made some of its changes: 0: none. An interrupted sweep continues
  /// later, and the changes of together() stay that precede the failure.
  std::size_t steps = 0;
  bool has_effect = true;
  friend void PrintTo(const tested_call& one, std::ostream* to) { *to << one.name; }
};

class served_items_oom : public ::testing::TestWithParam<tested_call> {
 protected:
  /// Stores the same items as at each other call.
  void prepare() {
    for (const auto& [key, value] : all_in(*at)) erase(*at, key);
    sweep_all(*at);
    put(*at, "string", "a value that is longer than a small string of the library");
    put_parts(*at, "few", {{"a", "1"}, {"b", std::string(300, 'x')}});
    part_map many;
    for (int i = 0; i < 40; ++i) many["a longer name of a part " + std::to_string(i)] = "value";
    put_parts(*at, "many", many, item_type::list);
    put_parts(*at, "expired", many, item_type::set, noon_ms - 10, noon_ms - 5);
    put_parts(*at, "cleared", many, item_type::set);
    put_parts(*at, "cleared", {{"only", "1"}}, item_type::set);
  }
  view seen() {
    view all;
    for (const auto& [key, value] : all_in(*at)) all.items.emplace(key, whole_in(*at, key));
    all.count = at->items();
    EXPECT_EQ(at->bytes(), bytes_in(*at.home));
    return all;
  }

  /// Returns false if the call has thrown std::bad_alloc.
  bool run(failing_calls& plan) {
    test::calls_to_fail = &plan;
    bool has_passed = true;
    try {
      GetParam().run(*at, all_steps);
    } catch (const std::bad_alloc&) {
      has_passed = false;
    }
    test::calls_to_fail = nullptr;
    return has_passed;
  }

  /// Returns what is seen after the first steps of the call, without failures.
  view seen_after(std::size_t steps) {
    prepare();
    GetParam().run(*at, steps);
    return seen();
  }

  static constexpr std::size_t all_steps = 100;
  served_store at{place::record_files};
};

TEST_P(served_items_oom, without_memory_a_call_has_no_effect) {
  prepare();
  const view before = seen();
  const view after = seen_after(all_steps);
  ASSERT_EQ(after != before, GetParam().has_effect);
  std::vector<view> partial{before};
  for (std::size_t i = 1; i <= GetParam().steps; ++i) partial.push_back(seen_after(i));
  std::size_t failures = 0;
  for (const bool all_that_follow : {false, true}) {
    for (failing_calls plan{.first = 1, .all_that_follow = all_that_follow};; ++plan.first) {
      plan.calls = 0;
      plan.met = false;
      prepare();
      const bool has_passed = run(plan);
      const view found = seen();
      const bool is_right = has_passed ? found == after : std::ranges::count(partial, found) != 0;
      ASSERT_TRUE(is_right) << "failure " << plan.first << ::testing::PrintToString(found.items);
      if (!plan.met) {
        ASSERT_TRUE(has_passed);
        break;
      }
      ++failures;
      ASSERT_LT(failures, 2'000U);
    }
  }
  EXPECT_GE(failures, 2U);
  at.open();
  EXPECT_EQ(seen().items, after.items);
}

void edit_parts(stored_items& items, std::string_view key, item_type type) {
  put_with(
      items, key, "a summary that is longer than a small string",
      [](item_parts& parts) {
        parts.put("a", std::string_view());
        parts.put("a new part with a long name, too", "a new value that is long enough");
        parts.erase("b");
        parts.walk("", [](std::string_view, std::string_view) { return true; });
      },
      type);
}

std::vector<tested_call> calls() {
  const auto together = [](stored_items& items, std::size_t steps) {
    items.together([&] {
      if (steps > 0) edit_parts(items, "few", item_type::hash);
      if (steps > 1) edit_parts(items, "new", item_type::hash);
      if (steps > 2) erase(items, "many");
      if (steps > 3) put(items, "string", "a string that replaces another one");
      if (steps > 4) edit_parts(items, "few", item_type::hash);
    });
  };
  return {
      {"put_a_string",
       [](stored_items& items, std::size_t) { put(items, "new", std::string_view("value")); }},
      {"replace_parts_by_a_string",
       [](stored_items& items, std::size_t) { put(items, "many", std::string_view("value")); }},
      {"erase_parts", [](stored_items& items, std::size_t) { erase(items, "many"); }},
      {"store_parts",
       [](stored_items& items, std::size_t) {
         edit_parts(items, "new with a long key", item_type::hash);
       }},
      {"change_parts",
       [](stored_items& items, std::size_t) { edit_parts(items, "few", item_type::hash); }},
      {"store_parts_over_expired_ones",
       [](stored_items& items, std::size_t) { edit_parts(items, "expired", item_type::list); }},
      {"clear_parts",
       [](stored_items& items, std::size_t) {
         put_with(items, "many", "0", [](item_parts& parts) { parts.clear(); }, item_type::list);
       }},
      {"change_together", together, 4},
      {"read_parts",
       [](stored_items& items, std::size_t) {
         items.read_parts("many", noon_ms, use::counts, [](const item&, item_parts& parts) {
           parts.read("a", [](std::string_view) {});
           parts.walk_back("b", [](std::string_view, std::string_view) { return true; });
         });
       },
       0, false},
      {"sweep", [](stored_items& items, std::size_t) { items.sweep(noon_ms, 100); }, 1},
  };
}

INSTANTIATE_TEST_SUITE_P(each, served_items_oom, ::testing::ValuesIn(calls()),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace outlast::server
