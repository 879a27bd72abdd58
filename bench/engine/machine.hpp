// Where and how a figure was measured: part of every record.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace outlast::bench {

/// One line: processor, number of CPUs this process may use, kernel, flush instruction.
[[nodiscard]] std::string machine_description();

/// The commit that this program was built from, or `unknown`.
[[nodiscard]] std::string_view build_commit();

/// Compiler and build type.
[[nodiscard]] std::string build_description();

/// Why this build must not record figures (a sanitizer, no optimisation); empty if it may.
[[nodiscard]] std::string recording_refusal();

/// The CPUs that this process may run on, ascending.
[[nodiscard]] std::vector<int> usable_cpus();

/// Keeps the calling thread on `cpu`. False if the system refuses.
bool pin_this_thread(int cpu) noexcept;

}  // namespace outlast::bench
