// outlast version: prints the version and the build of this binary.
#include <apps/build_info.hpp>
#include <apps/commands.hpp>
#include <outlast/hw/flush.hpp>
#include <outlast/pool/format.hpp>

#include <nlohmann/json.hpp>

#include <iostream>
#include <memory>

namespace outlast::apps {
namespace {

void print_version(bool json) {
  if (json) {
    std::cout << nlohmann::ordered_json{{"version", build_info::version},
                                        {"commit", build_info::commit},
                                        {"compiler", build_info::compiler},
                                        {"build_type", build_info::build_type},
                                        {"sanitizers", build_info::sanitizers},
                                        {"newest_format_version", pool_format::version},
                                        {"flush_instruction",
                                         hw::name_of(hw::chosen_flush_instruction())}}
                     .dump()
              << '\n';
    return;
  }
  std::cout << "outlast " << build_info::version << " (" << build_info::commit << ")\n"
            << "built with " << build_info::compiler << ", " << build_info::build_type;
  if (!build_info::sanitizers.empty()) std::cout << ", sanitizers: " << build_info::sanitizers;
  std::cout << "\nflush instruction: " << hw::name_of(hw::chosen_flush_instruction()) << '\n';
}

}  // namespace

void add_version(CLI::App& tool) {
  CLI::App* const added =
      tool.add_subcommand("version", "Print the version, the build and the flush instruction");
  const auto json = std::make_shared<bool>(false);
  added->add_flag("--json", *json, "Print one JSON object");
  added->callback([json] { print_version(*json); });
}

}  // namespace outlast::apps
