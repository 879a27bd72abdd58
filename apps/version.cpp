// outlast version: what this binary is.
#include <apps/build_info.hpp>
#include <apps/commands.hpp>
#include <outlast/hw/flush.hpp>

#include <iostream>

namespace outlast::apps {
namespace {

void print_version() {
  std::cout << "outlast " << build_info::version << " (" << build_info::commit << ")\n"
            << "built with " << build_info::compiler << ", " << build_info::build_type;
  if (!build_info::sanitizers.empty()) std::cout << ", sanitizers: " << build_info::sanitizers;
  std::cout << "\nflush instruction: " << hw::name_of(hw::chosen_flush_instruction()) << '\n';
}

}  // namespace

void add_version(CLI::App& tool) {
  tool.add_subcommand("version", "Print the version, the build and the flush instruction")
      ->callback(print_version);
}

}  // namespace outlast::apps
