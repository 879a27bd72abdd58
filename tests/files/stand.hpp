// Tries every fault at every call of an operation, and prints what became of it as a table.
#pragma once

#include <tests/files/operation.hpp>

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

namespace outlast::test::files {

struct stand_options {
  /// Every occurrence of a call, every error, once and from then on; each moment of a power cut.
  /// Otherwise the first and the last occurrence of a call from one place, and one error.
  bool thoroughly = false;
};

struct stand_result {
  std::size_t calls = 0;           ///< that the operation makes
  std::size_t rows = 0;            ///< of the table
  std::size_t tries = 0;           ///< of faults
  std::size_t empty = 0;           ///< cells without an answer
  std::vector<std::string> wrong;  ///< what was found, a line each
};

/// `what` is used in child processes alone.
[[nodiscard]] stand_result try_operation(operation& what, const stand_options& options,
                                         std::ostream& to);

}  // namespace outlast::test::files
