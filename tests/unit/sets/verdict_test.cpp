// Goal: verdicts are what docs/formats/sets.md says, and recovery believes the right ones. Method:
// words, and versions made up by hand.
#include <outlast/domain/process.hpp>
#include <outlast/sets/detail/set_session.hpp>
#include <outlast/sets/detail/verdict.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace outlast::sets::detail {
namespace {

TEST(verdict, has_the_bits_that_the_format_names) {
  EXPECT_EQ(verdict::none().word(), 0U);
  EXPECT_EQ(verdict::live(1).word(), 0x9U);
  EXPECT_EQ(verdict::live(1).durable().word(), 0xdU);
  EXPECT_EQ(verdict::live(2).dead().word(), 0x12U);
  EXPECT_EQ(verdict::live(2).dead().durable().word(), 0x16U);
  EXPECT_EQ(verdict::superseded().word(), 3U);
  EXPECT_EQ(verdict::live((std::uint64_t{1} << 61) - 1).stamp(), (std::uint64_t{1} << 61) - 1);
}

TEST(verdict, says_one_thing) {
  const auto says = [](verdict v) {
    return std::string(v.is_none() ? "n" : "") + (v.is_live() ? "l" : "") +
           (v.is_dead() ? "d" : "") + (v.is_superseded() ? "s" : "") + (v.is_durable() ? "!" : "");
  };
  EXPECT_EQ(says(verdict::none()), "n");
  EXPECT_EQ(says(verdict::live(5)), "l");
  EXPECT_EQ(says(verdict::live(5).durable()), "l!");
  EXPECT_EQ(says(verdict::live(5).durable().dead()), "d") << "a flush of live is none of dead";
  EXPECT_EQ(says(verdict::live(5).dead().durable()), "d!");
  EXPECT_EQ(says(verdict::superseded()), "s");
}

TEST(line_node, is_over_for_lookups_for_ever_also_where_somebody_buries_it_late) {
  line_node<std::uint64_t, std::uint64_t, domain::process> node(1, 2, domain::site::current());
  EXPECT_EQ(node.seen(), phase::not_yet);
  node.say_live(5);
  EXPECT_EQ(node.seen(), phase::not_yet);
  node.note_durable(node.says());
  node.say_dead();
  EXPECT_EQ(node.seen(), phase::current) << "the burial may not survive";
  node.note_durable(node.says());
  EXPECT_EQ(node.seen(), phase::over);
  node.say_dead();
  EXPECT_EQ(node.seen(), phase::over);
  EXPECT_EQ(node.says(), verdict::live(5).dead().durable());
}

struct made_up {
  int key;
  std::string name;
};
using found_version = version<made_up, int>;

/// Names of the versions that count, and of those that are outranked.
std::string judged(std::vector<found_version> found) {
  std::vector<made_up*> outranked;
  std::string names;
  judge_versions(
      std::span(found), [](int one, int other) { return one == other; },
      [](const made_up& one, const made_up& other) { return one.key == other.key; }, outranked,
      [&](const found_version& each) { names += each.stored->name; });
  names += '/';
  for (const made_up* each : outranked) names += each->name;
  return names;
}

TEST(latest_versions, are_those_with_the_greatest_stamp_of_their_key) {
  made_up a{1, "a"}, b{1, "b"}, c{1, "c"}, d{2, "d"};
  const auto live = [](std::uint64_t stamp) { return verdict::live(stamp); };
  EXPECT_EQ(judged({}), "/");
  EXPECT_EQ(judged({{1, &a, live(4)}}), "a/");
  EXPECT_EQ(judged({{1, &a, live(4).dead()}}), "/");
  EXPECT_EQ(judged({{1, &a, live(4)}, {1, &b, live(5)}}), "b/a");
  EXPECT_EQ(judged({{1, &a, live(6)}, {1, &b, live(5)}}), "a/b");
  EXPECT_EQ(judged({{1, &a, live(4)}, {1, &b, live(5).dead()}}), "/a");
  EXPECT_EQ(judged({{1, &a, live(6)}, {1, &b, live(5).dead()}}), "a/");
  EXPECT_EQ(judged({{1, &a, live(6)}, {1, &b, live(5).dead()}, {1, &c, live(2)}}), "a/c");
  EXPECT_EQ(judged({{1, &a, live(6)}, {1, &d, live(7).dead()}}), "a/") << "another key";
  EXPECT_EQ(judged({{1, &a, live(6)}, {1, &d, live(9)}, {1, &b, live(7)}}), "db/a");
  EXPECT_EQ(judged({{1, &a, live(1)}, {2, &d, live(9)}}), "ad/") << "another place";
}

}  // namespace
}  // namespace outlast::sets::detail
