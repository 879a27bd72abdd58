// Parses the command line of a program of the tool and prints its errors.
#include <apps/program.hpp>

#include <apps/description.hpp>

#include <exception>
#include <iostream>
#include <string_view>

namespace outlast::apps {
namespace {

int parse_and_run(CLI::App& program, int argc, char** argv) {
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& end) {
    const int status = program.exit(end);
    const bool is_own = dynamic_cast<const CLI::RuntimeError*>(&end) != nullptr;
    return status == 0 || is_own ? status : wrong_usage;
  }
  return 0;
}

}  // namespace

int run_program(CLI::App& program, int argc, char** argv) {
  try {
    if (argc == 2 && std::string_view(argv[1]) == "--describe") {
      print_description(std::cout, program);
      return 0;
    }
    return parse_and_run(program, argc, argv);
  } catch (const std::exception& failure) {
    std::cerr << program.get_name() << ": " << failure.what() << '\n';
    return 1;
  }
}

}  // namespace outlast::apps
