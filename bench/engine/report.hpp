// Records for people and for programs.
#pragma once

#include <bench/engine/experiment.hpp>
#include <bench/engine/runner.hpp>

#include <iosfwd>
#include <string>
#include <vector>

namespace outlast::bench {

/// One JSON object on one line, without the line's end.
[[nodiscard]] std::string to_json(const record& measured);

/// The heading of an experiment's table.
void print_heading(std::ostream& out, const experiment& what);
/// One line of it; a new group gets a line of its own first. `previous` is null at the first
/// record.
void print_row(std::ostream& out, const record& measured, const record* previous);

/// One goal against what was measured at one of its points.
struct verdict {
  const goal* wanted;
  const record* at;
  double measured = 0;
  [[nodiscard]] bool reached() const noexcept { return measured >= wanted->at_least; }
};

/// Every goal of `what` at every point of `measured` that it speaks of. Both outlive the verdicts.
[[nodiscard]] std::vector<verdict> judge(const experiment& what,
                                         const std::vector<record>& measured);

/// The expected shape in prose, and the goals reached or not.
void print_verdicts(std::ostream& out, const experiment& what, const std::vector<record>& measured);

}  // namespace outlast::bench
