// outlast: the command line tool.
#include <apps/commands.hpp>

#include <exception>
#include <iostream>

namespace {

constexpr int wrong_usage = 2;

int run(int argc, char** argv) {
  CLI::App tool{"Data structures that outlive a crash", "outlast"};
  tool.require_subcommand(1);
  for (const outlast::apps::command add : outlast::apps::all_commands) add(tool);
  try {
    tool.parse(argc, argv);
  } catch (const CLI::ParseError& end) {
    const int status = tool.exit(end);
    const bool is_own = dynamic_cast<const CLI::RuntimeError*>(&end) != nullptr;
    return status == 0 || is_own ? status : wrong_usage;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& failure) {
    std::cerr << "outlast: " << failure.what() << '\n';
    return 1;
  }
}
