// Goal: an opener refuses, repairs or leaves a redo log as docs/formats/redo-log.md lists it, for
// each combination of facts. Method: the table against the same decision as nested conditions, and
// against the rows of the page.
#include <src/pool/journal/log_decision.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace outlast::pool_detail {
namespace {

constexpr pool_mark all_marks[] = {pool_mark::closed, pool_mark::open, pool_mark::open_logged};
constexpr log_found all_found[] = {log_found::none,           log_found::foreign_file,
                                   log_found::unusable,       log_found::other_pool,
                                   log_found::damaged_inside, log_found::whole};
constexpr log_fit all_fits[] = {log_fit::fits, log_fit::pool_is_older, log_fit::pool_is_newer,
                                log_fit::names_outside};

template <class Visit>
void for_each_combination(Visit visit) {
  for (const pool_mark mark : all_marks) {
    for (const log_found found : all_found) {
      for (const log_fit fit : all_fits) {
        const bool is_known = found >= log_found::damaged_inside;
        if (!is_known && fit != log_fit::fits) continue;
        for (const bool logged : {false, true}) {
          for (const bool salvage : {false, true}) {
            visit(log_facts{mark, logged, salvage, found, fit});
          }
        }
      }
    }
  }
}

std::size_t row_of(const log_facts& facts) {
  std::size_t row = 0;
  while (!log_rules[row].matches(facts)) ++row;
  return row;
}

log_action expected_of_own_log(const log_facts& facts) {
  if (facts.fit == log_fit::pool_is_older) return log_action::refuse_pool_is_older;
  if (facts.fit == log_fit::names_outside) return log_action::refuse_names_outside;
  const bool is_damaged = facts.found == log_found::damaged_inside;
  if (is_damaged && !facts.salvage) return log_action::refuse_damaged_inside;
  if (facts.fit != log_fit::pool_is_newer) return log_action::replay;
  if (facts.mark == pool_mark::closed) return log_action::refuse_stale_log;
  return facts.salvage ? log_action::replay : log_action::refuse_pool_is_newer;
}

log_action expected(const log_facts& facts) {
  const bool required = facts.mark == pool_mark::open_logged;
  const bool demanded = facts.logged || required;
  switch (facts.found) {
    case log_found::none:
      if (!required) return log_action::open_without;
      return facts.salvage ? log_action::open_torn : log_action::refuse_missing;
    case log_found::foreign_file:
      return demanded ? log_action::refuse_unusable : log_action::leave_alone;
    case log_found::unusable: return log_action::refuse_unusable;
    case log_found::other_pool:
      return demanded ? log_action::refuse_other_pool : log_action::leave_alone;
    default: return expected_of_own_log(facts);
  }
}

TEST(LogDecision, each_combination_of_facts_has_the_expected_action) {
  for_each_combination([](const log_facts& facts) {
    EXPECT_EQ(decide(facts), expected(facts))
        << "mark " << int(facts.mark) << ", found " << int(facts.found) << ", fit "
        << int(facts.fit) << ", logged " << facts.logged << ", salvage " << facts.salvage;
  });
}

TEST(LogDecision, each_row_decides_at_least_one_combination) {
  std::set<std::size_t> used;
  for_each_combination([&](const log_facts& facts) { used.insert(row_of(facts)); });
  EXPECT_EQ(used.size(), log_rules.size());
}

TEST(LogDecision, each_action_is_in_the_table_and_only_replay_needs_a_log_of_this_pool) {
  for_each_combination([](const log_facts& facts) {
    if (facts.found >= log_found::damaged_inside) return;
    EXPECT_NE(decide(facts), log_action::replay);
  });
  std::set<log_action> actions;
  for (const log_rule& each : log_rules) actions.insert(each.action);
  EXPECT_EQ(actions.size(), static_cast<std::size_t>(log_action::refuse_pool_is_newer) + 1);
}

constexpr const char* action_names[] = {
    "open_without",         "open_torn",
    "leave_alone",          "replay",
    "refuse_missing",       "refuse_unusable",
    "refuse_other_pool",    "refuse_pool_is_older",
    "refuse_names_outside", "refuse_damaged_inside",
    "refuse_stale_log",     "refuse_pool_is_newer",
};

/// Returns the rows of the table whose head begins with `first_column`.
std::vector<std::string> rows_of_page(const std::string& first_column) {
  std::ifstream page(OUTLAST_REDO_LOG_PAGE);
  EXPECT_TRUE(page.is_open());
  std::vector<std::string> rows;
  bool in_table = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| " + first_column + " |")) {
      in_table = true;
    } else if (in_table && !line.starts_with("|")) {
      break;
    } else if (in_table && !line.starts_with("|---")) {
      rows.push_back(line);
    }
  }
  return rows;
}

TEST(LogDecision, the_page_has_the_actions_of_the_table_in_its_order) {
  const std::vector<std::string> rows = rows_of_page("file under the log's name");
  ASSERT_EQ(rows.size(), log_rules.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string name = action_names[static_cast<std::size_t>(log_rules[i].action)];
    EXPECT_TRUE(rows[i].ends_with("`" + name + "` |")) << rows[i] << " is not " << name;
  }
}

TEST(LogDecision, the_page_explains_each_action) {
  const std::vector<std::string> rows = rows_of_page("action");
  ASSERT_EQ(rows.size(), std::size(action_names));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_TRUE(rows[i].starts_with("| `" + std::string(action_names[i]) + "` |")) << rows[i];
  }
}

}  // namespace
}  // namespace outlast::pool_detail
