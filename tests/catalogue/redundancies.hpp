// Flushes and fences of this library's structures that are known to be redundant.
#pragma once

#include <outlast/verify/explorer/mutants.hpp>

#include <span>
#include <string_view>

namespace outlast::verify {

/// A flush or fence without which, there is a written proof, nothing is lost; one at a time, on the
/// portable machine, same-line reordering included.
struct redundancy {
  std::string_view mutant;   ///< as to_text() names it; without the defect: both
  std::string_view code;     ///< what stands in its line
  std::string_view because;  ///< the argument
};

/// All that are known.
[[nodiscard]] std::span<const redundancy> redundancies() noexcept;
/// The argument about one, or null.
[[nodiscard]] const redundancy* redundancy_of(const mutation& at);

}  // namespace outlast::verify
