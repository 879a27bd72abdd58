// outlast: the command line tool.
#include <apps/commands.hpp>
#include <apps/program.hpp>

int main(int argc, char** argv) {
  CLI::App tool{"Data structures that outlive a crash", "outlast"};
  tool.require_subcommand(1);
  for (const outlast::apps::command add : outlast::apps::all_commands) add(tool);
  return outlast::apps::run_program(tool, argc, argv);
}
