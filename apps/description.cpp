// Describes a program's commands and options as JSON.
#include <apps/description.hpp>

#include <apps/companions.hpp>

#include <nlohmann/json.hpp>

#include <ostream>
#include <string>

namespace outlast::apps {
namespace {

using nlohmann::ordered_json;

ordered_json describe_option(const CLI::Option& option) {
  ordered_json names = ordered_json::array();
  for (const std::string& each : option.get_snames()) names.push_back('-' + each);
  for (const std::string& each : option.get_lnames()) names.push_back("--" + each);
  return {{"names", names},
          {"positional", option.get_positional() ? option.get_name(true) : ""},
          {"takes", option.get_type_size() == 0 ? "" : option.get_type_name()},
          {"required", option.get_required()},
          {"says", option.get_description()}};
}

ordered_json describe_command(const CLI::App& of) {
  ordered_json options = ordered_json::array();
  for (const CLI::Option* const option : of.get_options()) {
    if (!option->get_group().empty()) options.push_back(describe_option(*option));
  }
  ordered_json commands = ordered_json::array();
  for (const CLI::App* const inner : of.get_subcommands({})) {
    if (!inner->get_group().empty()) commands.push_back(describe_command(*inner));
  }
  ordered_json described{{"name", of.get_name()},
                         {"says", of.get_description()},
                         {"footer", of.get_footer()},
                         {"options", options},
                         {"commands", commands}};
  for (const companion& each : companions) {
    if (each.command == of.get_name() && each.describes_itself) described["program"] = each.program;
  }
  return described;
}

}  // namespace

void print_description(std::ostream& out, const CLI::App& program) {
  out << describe_command(program).dump(1) << '\n';
}

}  // namespace outlast::apps
