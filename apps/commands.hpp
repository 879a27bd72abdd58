// The subcommands of the command line tool: one function each, one line each in `all_commands`.
#pragma once

#include <CLI/CLI.hpp>

namespace outlast::apps {

/// Adds a subcommand to the tool: its options, and a callback that runs it. A callback that fails
/// throws; `exit_with` ends the program with a status of the command's own.
using command = void (*)(CLI::App& tool);

void add_bench(CLI::App& tool);
void add_check(CLI::App& tool);
void add_db(CLI::App& tool);
void add_demo(CLI::App& tool);
void add_inspect(CLI::App& tool);
void add_verify(CLI::App& tool);
void add_version(CLI::App& tool);

inline constexpr command all_commands[] = {
    add_bench,
    add_check,
    add_db,
    add_demo,
    add_inspect,
    add_verify,
    add_version,
};

/// Ends the program with `status` after the callback has printed what it had to say.
[[noreturn]] inline void exit_with(int status) { throw CLI::RuntimeError(status); }

}  // namespace outlast::apps
