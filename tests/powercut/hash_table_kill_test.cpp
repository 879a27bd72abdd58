// Goal: the hash table loses nothing when its process is killed, growing or not, and a harness that
// would not notice a loss does not pass for one that finds none.
// Method: see harness.hpp.
#include <outlast/domain/adr.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/hw/flush.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <tests/powercut/map_subject.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

namespace outlast::test::powercut {
namespace {

using adjacent = durable::flit<durable::tag::adjacent, durable::automatic, domain::process>;
using hashed = durable::flit<durable::tag::hashed<>, durable::automatic, domain::process>;
using adjacent_adr = durable::flit<durable::tag::adjacent, durable::automatic, domain::adr>;

constexpr std::uint64_t few_keys = 200;
constexpr std::uint64_t many_keys = 20'000;

/// A value of more than 8 bytes, so that updates replace nodes.
struct wide {
  std::uint64_t value = 0;
  std::uint64_t again = 0;

  wide() = default;
  wide(std::uint64_t v) : value(v), again(~v) {}
  operator std::uint64_t() const noexcept { return again == ~value ? value : 0xbad; }
};

template <class Value, class Policy>
definition table(const char* name, std::uint64_t keys) {
  using structure = lockfree::hash_table<std::uint64_t, Value, Policy>;
  return {name, [keys](const std::filesystem::path& folder) {
            // A small table, so that it grows while it is killed.
            return std::make_unique<map_subject<structure, Policy>>(
                folder, keys, lockfree::table_options{.buckets = 4});
          }};
}

/// Claims to be durable and forgets one operation in 500.
class forgetful
    : public map_subject<lockfree::hash_table<std::uint64_t, std::uint64_t, adjacent>, adjacent> {
 public:
  using map_subject::map_subject;
  void apply(const operation& todo) override {
    if (count_.fetch_add(1) % 500 != 499) map_subject::apply(todo);
  }

 private:
  std::atomic<std::uint64_t> count_{0};
};

bool flushes_reach_memory() { return hw::best_flush_instruction() != hw::flush_instruction::none; }

void expect_nothing_lost(const char* name, const plan& how = {}) {
  const result outcome = kill_again_and_again(name, how);
  EXPECT_EQ(outcome.complaint, "");
  EXPECT_GT(outcome.operations, 0U) << "no child came to do anything";
}

}  // namespace

std::vector<definition> definitions() {
  return {
      table<std::uint64_t, adjacent>("adjacent", few_keys),
      table<std::uint64_t, hashed>("hashed", few_keys),
      table<std::uint64_t, adjacent>("growing", many_keys),
      table<wide, hashed>("wide", few_keys),
      table<std::uint64_t, adjacent_adr>("adjacent on adr", few_keys),
      {"forgetful",
       [](const std::filesystem::path& folder) {
         return std::make_unique<forgetful>(folder, few_keys);
       }},
  };
}

namespace {

TEST(HashTableKill, loses_nothing_with_adjacent_tags) { expect_nothing_lost("adjacent"); }
TEST(HashTableKill, loses_nothing_with_hashed_tags) { expect_nothing_lost("hashed"); }
TEST(HashTableKill, loses_nothing_while_it_grows) { expect_nothing_lost("growing"); }
TEST(HashTableKill, loses_nothing_where_updates_replace_nodes) { expect_nothing_lost("wide"); }
TEST(HashTableKill, loses_nothing_under_the_instructions_of_adr) {
  if (!flushes_reach_memory()) GTEST_SKIP() << "this CPU cannot flush to persistent memory";
  expect_nothing_lost("adjacent on adr");
}
TEST(HashTableKill, loses_nothing_when_recovery_is_killed_most_of_the_time) {
  expect_nothing_lost("growing", {.kills = 30, .longest_run_ms = 10, .early_kills = 2});
}
TEST(HashTableKill, a_table_that_forgets_is_found_out) {
  EXPECT_NE(kill_again_and_again("forgetful").complaint, "");
}

}  // namespace
}  // namespace outlast::test::powercut
