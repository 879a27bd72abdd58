// The subcommands of the command line tool. Each has a function that adds it, listed in
// `all_commands`.
#pragma once

#include <apps/program.hpp>

#include <CLI/CLI.hpp>

#include <nlohmann/json.hpp>

#include <exception>
#include <iostream>
#include <utility>

namespace outlast::apps {

/// Adds a subcommand to the tool: its options, and a callback that runs it. A callback that fails
/// throws; `exit_with` ends the program with a status of the command's own.
using command = void (*)(CLI::App& tool);

void add_backup(CLI::App& tool);
void add_bench(CLI::App& tool);
void add_check(CLI::App& tool);
void add_db(CLI::App& tool);
void add_demo(CLI::App& tool);
void add_inspect(CLI::App& tool);
void add_stats(CLI::App& tool);
void add_upgrade(CLI::App& tool);
void add_verify(CLI::App& tool);
void add_version(CLI::App& tool);

inline constexpr command all_commands[] = {
    add_backup,  add_bench, add_check,   add_db,     add_demo,
    add_inspect, add_stats, add_upgrade, add_verify, add_version,
};

/// Runs a command. If it throws, prints the cause and ends with status 2, which indicates a
/// failure. `json`: the cause is one JSON object, on standard output.
template <class Run>
void or_status_2(Run&& run, bool json) {
  try {
    std::forward<Run>(run)();
  } catch (const CLI::Error&) {
    throw;
  } catch (const std::exception& failure) {
    if (json) std::cout << nlohmann::ordered_json{{"error", failure.what()}}.dump() << std::endl;
    std::cerr << "outlast: " << failure.what() << '\n';
    exit_with(2);
  }
}

}  // namespace outlast::apps
