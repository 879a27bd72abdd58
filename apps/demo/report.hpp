// The demo's results, for people and for programs.
#pragma once

#include <apps/demo/supervisor.hpp>

#include <iosfwd>
#include <span>

namespace outlast::apps::demo {

/// Prints a table with a row per outcome, and an explanation of its columns.
void print_table(std::ostream& out, std::span<const outcome> outcomes);

/// Prints one JSON object on a line.
void print_json(std::ostream& out, const outcome& result, std::uint32_t threads);

}  // namespace outlast::apps::demo
