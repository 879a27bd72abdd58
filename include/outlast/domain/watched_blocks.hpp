// Blocks under a domain that watches them: an access to a free block is a violation.
//
// The allocator reports to such a domain, domain::simulated, which blocks are free. Under all other
// domains this file leaves nothing in the program.
#pragma once

#include <outlast/domain/concept.hpp>

#include <cstddef>
#include <type_traits>

namespace outlast::domain {

/// A domain that watches blocks. It has static members
///   block_given(begin, bytes)      the free blocks there are in use again
///   block_freed(block, bytes, line)
///   block_retired(block, line)     the block will be freed later
///   flushes_block(address, bytes, line)
///   reads_block(address, bytes, line)   without the domain's functions
///   tolerate_freed(bool)           the calling thread may access free blocks
template <class D>
concept watches_blocks = requires { requires D::watches_blocks; };

/// A line of the program, for messages. Unlike a site it leaves no record in the program's data.
struct code_line {
  const char* file = nullptr;
  unsigned line = 0;

  [[nodiscard]] static constexpr code_line here(const char* file = __builtin_FILE(),
                                                unsigned line = __builtin_LINE()) noexcept {
    return {file, line};
  }
  [[nodiscard]] static constexpr code_line of(const site& where) noexcept {
    return {where.file_name(), where.line()};
  }
};

/// Replaces code_line under a domain that does not watch.
struct no_code_line {
  [[nodiscard]] static constexpr no_code_line here() noexcept { return {}; }
};

/// Type of the last, defaulted parameter of functions that free or read blocks: `where =
/// line_under<D>::here()`.
template <class D>
using line_under = std::conditional_t<watches_blocks<D>, code_line, no_code_line>;

/// The calling thread may access free blocks during the lifetime of this object. A scan reads
/// blocks before it is known which are in use; a flush may come later than necessary. A comment at
/// each use gives the reason why that is harmless.
template <persistence_domain D>
class [[nodiscard]] tolerates_freed {
 public:
  tolerates_freed() {
    if constexpr (watches_blocks<D>) D::tolerate_freed(true);
  }
  ~tolerates_freed() {
    if constexpr (watches_blocks<D>) D::tolerate_freed(false);
  }
  tolerates_freed(const tolerates_freed&) = delete;
  tolerates_freed& operator=(const tolerates_freed&) = delete;
};

}  // namespace outlast::domain
