// Goal: the hash table loses nothing when its process is killed, growing or not, and the harness
// detects a table that does lose operations.
// Method: see harness.hpp.
#include <outlast/domain/process.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <tests/powercut/kill_subjects.hpp>
#include <tests/powercut/map_subject.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

namespace outlast::test::powercut {
namespace {

using adjacent = durable::flit<durable::tag::adjacent, durable::automatic, domain::process>;

/// Claims to be durable and forgets one operation in 50.
class forgetful : public map_subject<lockfree::hash_table<std::uint64_t, std::uint64_t, adjacent>> {
 public:
  using map_subject::map_subject;
  void apply(operation& todo) override {
    if (count_.fetch_add(1) % 50 != 49) map_subject::apply(todo);
  }

 private:
  std::atomic<std::uint64_t> count_{0};
};

void expect_nothing_lost(const char* name, const plan& how = {}) {
  const result outcome = kill_again_and_again(name, how);
  EXPECT_EQ(outcome.complaint, "");
  EXPECT_GT(outcome.kills_at_work, 0U) << "no child was killed in the midst of its work";
  EXPECT_GT(outcome.copies, 0U);
}

}  // namespace

std::vector<definition> definitions() {
  std::vector<definition> all = table_definitions();
  definition broken;
  broken.name = "forgetful";
  broken.open = [](const std::filesystem::path& folder) {
    return std::make_unique<forgetful>(folder, 200);
  };
  all.push_back(broken);
  return all;
}

namespace {

TEST(HashTableKill, loses_nothing_with_adjacent_tags) { expect_nothing_lost("hash_table"); }
TEST(HashTableKill, loses_nothing_with_hashed_tags) { expect_nothing_lost("hash_table_hashed"); }
TEST(HashTableKill, loses_nothing_while_it_grows) { expect_nothing_lost("hash_table_growing"); }
TEST(HashTableKill, loses_nothing_where_updates_replace_nodes) {
  expect_nothing_lost("hash_table_wide");
}
TEST(HashTableKill, loses_nothing_while_it_grows_in_two_replicas) {
  expect_nothing_lost("hash_table_mirror");
}
TEST(HashTableKill, loses_nothing_under_the_instructions_of_adr) {
  if (!flushes_reach_memory()) GTEST_SKIP() << "this CPU cannot flush to persistent memory";
  expect_nothing_lost("hash_table_adr");
}
TEST(HashTableKill, loses_nothing_when_recovery_is_killed_most_of_the_time) {
  expect_nothing_lost("hash_table_growing", {.kills = 30, .early_kills = 2});
}
TEST(HashTableKill, a_table_that_forgets_is_found_out_by_kills) {
  EXPECT_NE(kill_again_and_again("forgetful", {.copies = 0}).complaint, "");
}
TEST(HashTableKill, a_table_that_forgets_is_found_out_by_copies) {
  const result outcome = kill_again_and_again(
      "forgetful", {.kills = 1, .longest_run_ms = 2, .copies = 80, .early_kills = 0});
  EXPECT_NE(outcome.complaint, "");
  EXPECT_EQ(outcome.kills, 0U) << "a copy of the first process suffices";
}

}  // namespace
}  // namespace outlast::test::powercut
