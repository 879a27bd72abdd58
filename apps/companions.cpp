// Starts the commands that are programs of their own.
#include <apps/companions.hpp>

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

/// Replaces this process by the companion. Throws if that fails; it does not return otherwise.
[[noreturn]] void execute(const companion& which, std::vector<std::string> arguments) {
  const std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::string program = (folder / which.program).string();
  std::vector<char*> pointers{program.data()};
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
  const int code = errno;
  throw error(errc::not_found, program,
              "`outlast " + std::string(which.command) +
                  "` executes this program, which cannot be started (" +
                  std::generic_category().message(code) + "); `cmake --build DIRECTORY --target " +
                  std::string(which.program) +
                  "` builds it in the build directory, `make build` in build/release");
}

void add(CLI::App& tool, const companion& which) {
  CLI::App* const added =
      tool.add_subcommand(std::string(which.command), std::string(which.description));
  added->set_help_flag();
  added->prefix_command();
  added->callback([added, &which] { execute(which, added->remaining()); });
}

}  // namespace

void add_bench(CLI::App& tool) { add(tool, companions[0]); }
void add_demo(CLI::App& tool) { add(tool, companions[1]); }
void add_verify(CLI::App& tool) { add(tool, companions[2]); }

}  // namespace outlast::apps
