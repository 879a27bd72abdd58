// A program's commands and options as JSON, for manuals and shells (tools/make_manual).
#pragma once

#include <CLI/CLI.hpp>

#include <iosfwd>

namespace outlast::apps {

/// Prints every command of `program` with its options. A command that another program executes
/// has the name of that program as "program".
void print_description(std::ostream& out, const CLI::App& program);

}  // namespace outlast::apps
