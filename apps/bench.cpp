// outlast bench: starts outlast-bench, a program of its own, so that the tool is built without the
// cross product of structures and policies that is measured.
#include <apps/commands.hpp>

#include <outlast/base/error.hpp>

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace outlast::apps {
namespace {

std::filesystem::path benchmark_program() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "outlast-bench";
}

/// Becomes the benchmark program. Returns only by an exception.
[[noreturn]] void start(std::vector<std::string> arguments) {
  std::string program = benchmark_program().string();
  std::vector<char*> pointers{program.data()};
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
  const std::string cause = std::generic_category().message(errno);
  throw error(errc::not_found, program,
              "the benchmarks cannot be started (" + cause + "); `make build` builds them");
}

}  // namespace

void add_bench(CLI::App& tool) {
  CLI::App* const bench = tool.add_subcommand(
      "bench", "Measure experiments: FILE... [--quick] [--json] [--micro NAME]; --help for more");
  bench->set_help_flag();
  bench->prefix_command();
  bench->callback([bench] { start(bench->remaining()); });
}

}  // namespace outlast::apps
