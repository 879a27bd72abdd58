// Goal: for each way in which a process can end, and for each action after a fork, every call
// returns, all acknowledged operations are present, and a child changes nothing of its parent.
// Method: a program that ends in one way runs for every domain, family and way, and another process
// checks the state that it has left. The table is printed. An alarm ends a process that hangs.
#include <tests/support/memory_folder.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace outlast::test::ends {
namespace {

struct reason {
  char letter;
  const char* sentence;
};
struct way {
  std::string name;
  bool closes;
  std::string what_for;
};

/// Those of the program.
std::vector<way> all_ways() {
  std::vector<way> all;
  std::FILE* const from = ::popen(PROCESS_ENDS " ways", "r");
  char line[256];
  while (std::fgets(line, sizeof line, from) != nullptr) {
    std::istringstream fields(line);
    way one;
    std::string closes;
    std::getline(fields, one.name, '\t');
    std::getline(fields, closes, '\t');
    std::getline(fields, one.what_for);
    one.closes = closes == "1";
    all.push_back(one);
  }
  EXPECT_EQ(::pclose(from), 0);
  EXPECT_FALSE(all.empty());
  return all;
}

constexpr reason reasons[] = {
    {'d',
     "a store chooses its domain: native, adr if that is forced, and on a disk logged_file, or "
     "file with the engine of records"},
    {'e', "there is no device that could fail"},
};

/// Why a combination does not exist; ' ' if it does.
char letter_of(const std::string& way, const std::string& family, const std::string& domain) {
  if (family == "store" && (domain == "process" || domain == "file")) return 'd';
  if (family == "records" && (domain == "process" || domain == "logged_file")) return 'd';
  if (way == "error" && domain != "file" && domain != "logged_file") return 'e';
  return ' ';
}

/// Runs the program. "" if it ended well.
std::string run_program(const std::string& folder, const std::string& way,
                        const std::string& family, const std::string& domain) {
  const std::string said = folder + "/test.said";
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, said.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
  std::string program = PROCESS_ENDS;
  std::string way_text = way, family_text = family, domain_text = domain, folder_text = folder;
  char* const arguments[] = {program.data(),     way_text.data(),    family_text.data(),
                             domain_text.data(), folder_text.data(), nullptr};
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return "the program cannot be executed";
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status == 0) return {};
  std::ifstream in(said);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (WIFSIGNALED(status)) {
    return WTERMSIG(status) == SIGALRM ? "it did not return; " + text
                                       : "signal " + std::to_string(WTERMSIG(status)) + "; " + text;
  }
  return "exit status " + std::to_string(WEXITSTATUS(status)) + "; " + text;
}

/// One cell. "" if nothing is wrong.
std::string try_end(const way& how, const std::string& family, const std::string& domain) {
  const scratch_folder folder;
  const std::string path = folder.path().string();
  const std::string ended = run_program(path, how.name, family, domain);
  if (!ended.empty()) return ended;
  const std::string wrong =
      run_program(path, how.closes ? "check-closed" : "check", family, domain);
  return wrong.empty() ? "" : "afterwards: " + wrong;
}

class ProcessEnds : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(of, ProcessEnds,
                         testing::Values("pool", "table", "set", "map", "tx", "store", "records"),
                         [](const auto& info) { return info.param; });

TEST_P(ProcessEnds, lose_nothing) {
  const std::string& family = GetParam();
  const std::vector<way> ways = all_ways();
  unsigned cells = 0;
  std::vector<std::string> wrong;
  std::cout << "\n" << std::left << std::setw(20) << family << std::right;
  for (const way& each : ways) std::cout << std::setw(7) << each.name;
  std::cout << '\n';
  for (const std::string domain : {"process", "native", "adr", "file", "logged_file"}) {
    std::cout << std::left << std::setw(20) << "  " + domain << std::right;
    for (const way& each : ways) {
      const char letter = letter_of(each.name, family, domain);
      std::string text(1, letter);
      if (letter == ' ') {
        ++cells;
        const std::string found = try_end(each, family, domain);
        text = found.empty() ? "ok" : "FAIL";
        if (!found.empty()) {
          wrong.push_back(family + " | " + domain + " | " + each.name + " | " + found);
        }
      }
      EXPECT_NE(text, " ") << "an empty cell";
      std::cout << std::setw(7) << text << std::flush;
    }
    std::cout << '\n';
  }
  for (const way& each : ways) std::cout << each.name << ": " << each.what_for << '\n';
  for (const reason& each : reasons) std::cout << each.letter << ": " << each.sentence << '\n';
  std::cout << cells << " processes checked, " << wrong.size() << " wrong\n";
  for (const std::string& each : wrong) ADD_FAILURE() << each;
}

}  // namespace
}  // namespace outlast::test::ends
