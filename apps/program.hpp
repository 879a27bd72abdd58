// Functions that all programs of the tool share: `outlast` itself, and those that it executes.
#pragma once

#include <CLI/CLI.hpp>

namespace outlast::apps {

/// Status of a program whose arguments are wrong.
inline constexpr int wrong_usage = 2;

/// Ends the program with `status` after a callback has printed its results.
[[noreturn]] inline void exit_with(int status) { throw CLI::RuntimeError(status); }

/// Parses the arguments, runs the callbacks of `program`, and prints what they throw. Returns the
/// exit status: 0, that of exit_with(), `wrong_usage`, or 1 after an exception.
/// `program --describe`, which no help text shows, prints the options as JSON instead.
[[nodiscard]] int run_program(CLI::App& program, int argc, char** argv);

}  // namespace outlast::apps
