// Goal: stack and queue lose no value and return none twice when their process is killed, and a
// queue that returns a value twice is detected. Method: see harness.hpp.
#include <outlast/domain/process.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/lockfree/michael_scott_queue.hpp>
#include <tests/powercut/kill_subjects.hpp>
#include <tests/powercut/sequence_subject.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace outlast::test::powercut {
namespace {

using adjacent = durable::flit<durable::tag::adjacent, durable::automatic, domain::process>;

/// Puts one value in 50 back in after it was taken.
class generous : public sequence_subject<lockfree::michael_scott_queue<std::uint64_t, adjacent>> {
 public:
  using sequence_subject::sequence_subject;
  void apply(operation& todo) override {
    sequence_subject::apply(todo);
    if (todo.what != pop || todo.key == 0 || count_.fetch_add(1) % 50 != 49) return;
    operation again{push, 0, todo.value};
    sequence_subject::apply(again);
  }

 private:
  std::atomic<std::uint64_t> count_{0};
};

}  // namespace

std::vector<definition> definitions() {
  std::vector<definition> all = sequence_definitions();
  definition broken;
  broken.name = "generous";
  broken.open = [](const std::filesystem::path& folder) {
    return std::make_unique<generous>(folder);
  };
  broken.make_checker = [] { return std::make_unique<sequence_checker>(sequence_order::queue); };
  all.push_back(broken);
  return all;
}

namespace {

void expect_nothing_lost(const char* name) {
  const result outcome = kill_again_and_again(name, {.kills = 30});
  EXPECT_EQ(outcome.complaint, "");
  EXPECT_GT(outcome.kills_at_work, 0U) << "no child was killed in the midst of its work";
  EXPECT_GT(outcome.copies, 0U);
}

TEST(SequenceKill, a_queue_loses_nothing) { expect_nothing_lost("michael_scott_queue"); }
TEST(SequenceKill, a_queue_of_wide_values_loses_nothing) {
  expect_nothing_lost("michael_scott_queue_wide");
}
TEST(SequenceKill, a_stack_loses_nothing) { expect_nothing_lost("stack"); }
TEST(SequenceKill, a_mirrored_queue_loses_nothing) {
  expect_nothing_lost("michael_scott_queue_mirror");
}
TEST(SequenceKill, a_mirrored_stack_loses_nothing) { expect_nothing_lost("stack_mirror"); }
TEST(SequenceKill, a_queue_that_gives_values_twice_is_found_out) {
  EXPECT_NE(kill_again_and_again("generous", {.kills = 15}).complaint, "");
}

}  // namespace
}  // namespace outlast::test::powercut
