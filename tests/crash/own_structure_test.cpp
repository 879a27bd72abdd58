// Goal: the author of a structure can replay a failure by the text that it has printed, and try
// mutants of the structure. Method: a small stack with a planted defect, by the calls and by the
// program.
#include "toy_stack.hpp"

#include <outlast/base/error.hpp>
#include <outlast/verify/explorer/replay.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace outlast::test {
namespace {

using sound_stack = verify::bare_subject<toy_stack<stack_defect::none>>;

verify::options brief() {
  verify::options how;
  how.seconds = 20;
  how.max_executions = 3000;
  return how;
}

/// What stands in quotation marks in a call that a failure has printed.
std::string text_of(const verify::failure& found) {
  const std::string begin = "outlast::verify::replay(tested, \"";
  EXPECT_TRUE(found.replay.starts_with(begin) && found.replay.ends_with("\")")) << found.replay;
  return found.replay.substr(begin.size(), found.replay.size() - begin.size() - 2);
}

/// Runs the program with these arguments. What it prints, and its exit status behind it.
std::string run(verify::subject& tested, std::vector<std::string> arguments,
                const verify::options& how) {
  std::vector<char*> argv = {const_cast<char*>("./verify_stack")};
  for (std::string& each : arguments) argv.push_back(each.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = verify::run_program(tested, static_cast<int>(argv.size()), argv.data(), how);
  const std::string complaint = testing::internal::GetCapturedStderr();
  return testing::internal::GetCapturedStdout() + complaint + "status " + std::to_string(status);
}

/// As a shell takes a line apart.
std::vector<std::string> shell_words(const std::string& line) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '\'') quoted = !quoted;
    if (c == ' ' && !quoted) words.emplace_back();
    if (c != '\'' && (c != ' ' || quoted)) words.back() += c;
  }
  return words;
}

std::string line_with(const std::string& text, const std::string& what) {
  const std::size_t at = text.find(what);
  return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
}

TEST(OwnStructure, fails_again_by_the_text_that_its_failure_prints) {
  auto tested = stack_subject<stack_defect::no_completion_fence>();
  verify::options how = brief();
  how.within = {.threads = 3, .operations = 2, .keys = 2, .prefill = 1};
  const verify::report first = verify::explorer(tested, how).run();
  ASSERT_TRUE(first.found);
  const verify::report again = verify::replay(tested, text_of(*first.found));
  ASSERT_TRUE(again.found) << text_of(*first.found);
  EXPECT_EQ(first.found->history, again.found->history);
  EXPECT_EQ(first.found->crashes, again.found->crashes);
  EXPECT_EQ(first.found->replay, again.found->replay);
}

TEST(OwnStructure, is_checked_by_the_options_of_its_program) {
  auto tested = stack_subject<stack_defect::no_completion_fence>();
  const std::string printed = run(tested, {}, brief());
  EXPECT_TRUE(printed.ends_with("status 1")) << printed;
  const std::string command = line_with(printed, "./verify_stack --replay ");
  ASSERT_FALSE(command.empty()) << printed;
  std::vector<std::string> words = shell_words(command);
  words.erase(words.begin());
  const std::string again = run(tested, words, brief());
  EXPECT_TRUE(again.ends_with("status 1")) << again;
  EXPECT_EQ(line_with(again, "  history:"), line_with(printed, "  history:"));
  EXPECT_EQ(line_with(again, "  schedule:"), line_with(printed, "  schedule:"));
  EXPECT_EQ(line_with(again, "./verify_stack --replay "), command);
}

TEST(OwnStructure, is_shown_the_options_of_its_program) {
  auto tested = stack_subject<stack_defect::none>();
  EXPECT_TRUE(run(tested, {"--seconds", "0.1"}, {}).ends_with("status 0"));
  EXPECT_NE(run(tested, {"--help"}, {}).find("--mutants"), std::string::npos);
  const std::string wrong = run(tested, {"--replays", "5"}, {});
  EXPECT_NE(wrong.find("--replays"), std::string::npos) << wrong;
  EXPECT_TRUE(wrong.ends_with("status 2")) << wrong;
  EXPECT_TRUE(run(tested, {"--replay", "--seed", "many"}, {}).ends_with("status 2"));
}

TEST(OwnStructure, is_refused_a_text_that_makes_no_sense) {
  auto tested = stack_subject<stack_defect::none>();
  for (const char* const text :
       {"--seed", "--seed x", "--sead 5", "--schedule '0*1", "--mutant 'nowhere.hpp:1 flush late'",
        "--strategy quick", "--model m68k", "seed 5"}) {
    EXPECT_THROW(static_cast<void>(verify::replay(tested, text)), error) << text;
  }
  EXPECT_FALSE(verify::replay(tested, "--seed 5 --execution 3").found);
}

TEST(OwnStructure, has_its_flushes_and_fences_switched_off_by_one_call) {
  auto tested = stack_subject<stack_defect::none>();
  verify::options how = brief();
  how.max_executions = 500;
  const std::vector<verify::mutant> all = verify::try_mutants_in(tested, how, {"toy_stack"});
  ASSERT_FALSE(all.empty());
  for (const verify::mutant& each : all) {
    EXPECT_TRUE(to_text(each.made).starts_with("toy_stack.hpp:")) << to_text(each);
  }
  const auto killed = [](const verify::mutant& each) { return each.killed; };
  EXPECT_GT(std::count_if(all.begin(), all.end(), killed), 3);
  EXPECT_TRUE(verify::try_mutants_in(tested, how, {"no_such_file"}).empty());

  const auto found = std::find_if(all.begin(), all.end(), killed);
  how.mutated = found->made;
  const verify::report first = verify::explorer(tested, how).run();
  ASSERT_TRUE(first.found);
  EXPECT_TRUE(verify::replay(tested, text_of(*first.found)).found) << first.found->replay;
  const std::string printed = run(tested, {"--seconds", "0.2", "--mutants", "toy_stack"}, {});
  EXPECT_NE(printed.find("mutants killed"), std::string::npos) << printed;
}

TEST(OwnStructure, has_no_mutants_while_it_fails_itself) {
  auto tested = stack_subject<stack_defect::no_completion_fence>();
  EXPECT_THROW(static_cast<void>(verify::try_mutants_in(tested, brief())), error);
}

TEST(OwnStructure, is_shown_results_and_their_threads) {
  auto tested = stack_subject<stack_defect::no_completion_fence>();
  verify::options how = brief();
  how.minimise = false;
  how.within.prefill = 0;
  std::string printed;
  for (how.seed = 1; how.seed < 40; ++how.seed) {
    const verify::report done = verify::explorer(tested, how).run();
    if (done.found) printed += to_text(*done.found);
  }
  EXPECT_NE(printed.find(") -> done"), std::string::npos) << printed;
  EXPECT_NE(printed.find("take() -> nothing"), std::string::npos) << printed;
  EXPECT_EQ(printed.find("-> no"), printed.find("-> nothing")) << printed;
  EXPECT_EQ(printed.find("thread 2"), std::string::npos) << "of two threads\n" << printed;
}

}  // namespace
}  // namespace outlast::test
