// Goal: the checkers of the kill tests and of the demo accept exactly the states that a kill can
// leave. Method: hand-written histories, right and wrong.
#include <apps/demo/reference.hpp>
#include <apps/demo/words.hpp>
#include <tests/powercut/harness.hpp>
#include <tests/powercut/sequence_checker.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace outlast::test::powercut {

std::vector<definition> definitions() { return {}; }

namespace {

using apps::demo::check_result;
using apps::demo::compare_with_exact_count;
using apps::demo::occurrences;
using apps::demo::reference;
using apps::demo::survivor;
using apps::demo::word_key;
using apps::demo::word_scanner;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string compare(map_checker& checker, const std::vector<entry>& survivors) {
  return checker.compare(survivors);
}

/// Thread 0 pushes 1, 2 and 3; thread 1 has popped the value that comes out first.
sequence_checker checker_of(sequence_order order) {
  sequence_checker checker(order);
  for (const std::uint64_t value : {1, 2, 3}) checker.returned(0, {push, 0, value});
  checker.returned(1, {pop, 1, order == sequence_order::queue ? 1U : 3U});
  checker.returned(1, {pop, 0, 0});
  return checker;
}

TEST(SequenceJudge, accepts_what_was_acknowledged) {
  EXPECT_THAT(checker_of(sequence_order::queue).compare(std::vector<entry>{{2, 0}, {3, 0}}),
              IsEmpty());
  EXPECT_THAT(checker_of(sequence_order::stack).compare(std::vector<entry>{{2, 0}, {1, 0}}),
              IsEmpty());
}

TEST(SequenceJudge, accepts_all_or_nothing_of_what_had_begun) {
  for (const std::vector<entry>& left :
       {std::vector<entry>{{2, 0}, {3, 0}}, {{3, 0}}, {{2, 0}, {3, 0}, {4, 0}}, {{3, 0}, {4, 0}}}) {
    sequence_checker checker = checker_of(sequence_order::queue);
    checker.interrupted(0, {push, 0, 4});
    checker.interrupted(1, {pop, 0, 0});
    EXPECT_THAT(checker.compare(left), IsEmpty());
    EXPECT_THAT(checker.compare(left), IsEmpty()) << "it is the truth from now on";
  }
}

TEST(SequenceJudge, accepts_an_answer_that_it_hears_of_before_the_push) {
  sequence_checker checker(sequence_order::queue);
  checker.returned(0, {pop, 1, 7});
  checker.returned(1, {push, 0, 7});
  checker.returned(0, {pop, 1, 8});
  checker.interrupted(1, {push, 0, 8});
  EXPECT_THAT(checker.compare({}), IsEmpty());
}

TEST(SequenceJudge, names_a_lost_value) {
  EXPECT_THAT(checker_of(sequence_order::queue).compare(std::vector<entry>{{3, 0}}),
              HasSubstr("value 2 of thread 0 is lost"));
}

TEST(SequenceJudge, names_a_value_that_came_back) {
  EXPECT_THAT(checker_of(sequence_order::queue).compare(std::vector<entry>{{1, 0}, {2, 0}, {3, 0}}),
              HasSubstr("value 1 of thread 0 is there, and had come out"));
}

TEST(SequenceJudge, names_a_value_that_came_out_twice) {
  sequence_checker checker = checker_of(sequence_order::queue);
  checker.returned(2, {pop, 1, 1});
  EXPECT_THAT(checker.compare(std::vector<entry>{{2, 0}, {3, 0}}), HasSubstr("came out twice"));
}

TEST(SequenceJudge, names_a_value_that_is_there_twice) {
  EXPECT_THAT(checker_of(sequence_order::queue).compare(std::vector<entry>{{2, 0}, {3, 0}, {2, 0}}),
              HasSubstr("value 2 of thread 0 is there twice"));
}

TEST(SequenceJudge, names_a_wrong_order) {
  EXPECT_THAT(checker_of(sequence_order::queue).compare(std::vector<entry>{{3, 0}, {2, 0}}),
              HasSubstr("the order is wrong at value 2"));
  EXPECT_THAT(checker_of(sequence_order::stack).compare(std::vector<entry>{{1, 0}, {2, 0}}),
              HasSubstr("the order is wrong at value 1"));
}

TEST(SequenceJudge, names_a_value_that_was_overtaken) {
  sequence_checker checker(sequence_order::queue);
  checker.returned(0, {push, 0, 1});
  checker.returned(0, {push, 0, 2});
  checker.returned(1, {pop, 1, 2});
  EXPECT_THAT(checker.compare(std::vector<entry>{{1, 0}}),
              HasSubstr("the order is wrong at value 1"));
}

TEST(MapJudge, accepts_what_was_acknowledged) {
  map_checker checker;
  checker.returned(0, {put, 1, 10});
  checker.returned(1, {insert_if_absent, 2, 20});
  checker.returned(1, {insert_if_absent, 2, 21});
  checker.returned(0, {put, 3, 30});
  checker.returned(0, {erase, 3, 0});
  EXPECT_THAT(compare(checker, {{1, 10}, {2, 20}}), IsEmpty());
}

TEST(MapJudge, names_a_lost_key) {
  map_checker checker;
  checker.returned(0, {put, 1, 10});
  EXPECT_THAT(compare(checker, {}), HasSubstr("key 1 with 10 is lost"));
}

TEST(MapJudge, names_a_key_that_came_back) {
  map_checker checker;
  checker.returned(0, {put, 1, 10});
  checker.returned(0, {erase, 1, 0});
  EXPECT_THAT(compare(checker, {{1, 10}}), HasSubstr("acknowledged was nothing"));
}

TEST(MapJudge, names_an_old_value_and_a_double_key) {
  map_checker checker;
  checker.returned(0, {put, 1, 10});
  checker.returned(0, {put, 1, 11});
  EXPECT_THAT(compare(checker, {{1, 10}}), HasSubstr("acknowledged was 11"));
  EXPECT_THAT(compare(checker, {{1, 11}, {1, 11}}), HasSubstr("twice"));
}

TEST(MapJudge, lets_an_interrupted_operation_happen_or_not_but_then_stay_so) {
  for (const bool happened : {false, true}) {
    map_checker checker;
    checker.returned(0, {put, 1, 10});
    checker.interrupted(0, {put, 1, 11});
    EXPECT_THAT(compare(checker, {{1, happened ? 11U : 10U}}), IsEmpty());
    EXPECT_THAT(compare(checker, {{1, happened ? 10U : 11U}}), HasSubstr("key 1"));
  }
}

TEST(MapJudge, grants_nothing_else_to_an_interrupted_operation) {
  map_checker checker;
  checker.returned(0, {put, 1, 10});
  checker.interrupted(0, {erase, 1, 0});
  EXPECT_THAT(compare(checker, {{1, 12}}), HasSubstr("key 1"));
}

std::vector<std::string> words_of(std::string_view text, std::size_t offset = 0) {
  std::vector<std::string> words;
  for (word_scanner scanner(text, offset); scanner.next();) words.emplace_back(scanner.word());
  return words;
}

TEST(WordScanner, finds_maximal_runs_of_letters) {
  EXPECT_THAT(words_of(" ab, c3d\nE"), ElementsAre("ab", "c", "d", "E"));
  EXPECT_THAT(words_of("12 34"), IsEmpty());
}

TEST(WordScanner, skips_the_rest_of_a_word_that_began_before_its_offset) {
  EXPECT_THAT(words_of("abc de", 1), ElementsAre("de"));
  EXPECT_THAT(words_of("abc de", 3), ElementsAre("de"));
  EXPECT_THAT(words_of("abc de", 4), ElementsAre("de"));
}

TEST(WordScanner, cuts_long_words) {
  const std::string text(100, 'x');
  EXPECT_THAT(words_of(text), ElementsAre(std::string(47, 'x')));
}

TEST(Occurrences, pack_a_count_of_24_bits_and_a_position_of_40) {
  const occurrences most{0xff'ffff, 0xff'ffff'ffff};
  EXPECT_EQ(occurrences::unpack(most.pack()), most);
  EXPECT_EQ(most.followed_by(1), (occurrences{0, 1}));
}

survivor found(std::string_view word, std::uint64_t count, std::uint64_t last) {
  return {word_key(word), occurrences{count, last}.pack()};
}

// Positions: a = 1, b = 3, a = 5; in the next pass 7, 9, 11.
constexpr std::string_view text = "a b a ";

TEST(DemoJudge, knows_how_far_an_unacknowledged_word_may_reach) {
  reference exact(text, 1);
  EXPECT_EQ(exact.furthest_in_flight(), 1U);
  exact.advance(0, text.size());  // all of the first pass
  EXPECT_EQ(exact.furthest_in_flight(), text.size() + 1);
}

TEST(DemoJudge, accepts_what_was_acknowledged_and_the_word_in_flight) {
  reference exact(text, 1);
  exact.advance(0, 3);
  EXPECT_EQ(exact.acknowledged(), 2U);
  EXPECT_TRUE(exact.check(std::vector{found("a", 1, 1), found("b", 1, 3)}).clean());
  EXPECT_TRUE(exact.check(std::vector{found("a", 2, 5), found("b", 1, 3)}).clean());
}

TEST(DemoJudge, goes_on_into_the_next_pass) {
  reference exact(text, 1);
  exact.advance(0, 7);
  EXPECT_EQ(exact.acknowledged(), 4U);
  EXPECT_TRUE(exact.check(std::vector{found("a", 3, 7), found("b", 1, 3)}).clean());
}

TEST(DemoJudge, counts_a_lost_update_and_a_lost_word) {
  reference exact(text, 1);
  exact.advance(0, 5);
  EXPECT_EQ(exact.check(std::vector{found("a", 1, 1), found("b", 1, 3)}).lost, 1U);
  EXPECT_EQ(exact.check(std::vector{found("a", 2, 5)}).lost, 1U);
  EXPECT_EQ(exact.check(std::vector<survivor>{}).lost, 3U);
}

TEST(DemoJudge, refuses_what_no_order_of_events_explains) {
  reference exact(text, 1);
  exact.advance(0, 3);
  const auto wrong = [&](const std::vector<survivor>& map) { return exact.check(map).wrong; };
  EXPECT_EQ(wrong({found("a", 3, 7), found("b", 1, 3)}), 1U) << "two words ahead";
  EXPECT_EQ(wrong({found("a", 1, 1), found("b", 2, 9)}), 1U) << "not the next word";
  EXPECT_EQ(wrong({found("a", 1, 1), found("b", 1, 3), found("b", 1, 3)}), 1U) << "twice";
  EXPECT_EQ(wrong({found("a", 1, 1), found("b", 1, 3), found("c", 1, 3)}), 1U) << "made up";
}

TEST(DemoJudge, compares_a_finished_map_with_a_count_of_its_own) {
  EXPECT_TRUE(
      compare_with_exact_count(text, 2, std::vector{found("a", 4, 11), found("b", 2, 9)}).clean());
  EXPECT_EQ(
      compare_with_exact_count(text, 2, std::vector{found("a", 3, 11), found("b", 2, 9)}).lost, 1U);
  EXPECT_EQ(compare_with_exact_count(text, 2, std::vector{found("a", 4, 11)}).lost, 2U);
  EXPECT_EQ(
      compare_with_exact_count(text, 2, std::vector{found("a", 4, 5), found("b", 2, 9)}).wrong, 1U);
}

}  // namespace
}  // namespace outlast::test::powercut
