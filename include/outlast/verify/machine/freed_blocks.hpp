// The free blocks of the simulated memory, and the places in the source that freed them.
#pragma once

#include <outlast/domain/watched_blocks.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace outlast::verify {

/// Returns a text such as "stack.hpp:45", or "a place without a name" if `where` has no file.
[[nodiscard]] std::string to_text(const domain::code_line& where);

/// The blocks that one incarnation of the subject has freed and not allocated again. They are
/// volatile: the next incarnation begins without any.
///
/// Thread-safety: none; the simulated memory owns it. Cost: a search in an array of the free
/// blocks.
class freed_blocks {
 public:
  struct block {
    std::uintptr_t begin;
    std::size_t bytes;
    domain::code_line freed;
    domain::code_line retired;  ///< without a file if the block was not retired
    unsigned thread;            ///< the thread that freed it
  };

  [[nodiscard]] bool empty() const noexcept { return free_.empty(); }
  void clear() noexcept {
    free_.clear();
    retired_.clear();
  }
  /// Records that the block that begins at `begin` was retired at `where`.
  void retire(const void* begin, domain::code_line where);
  void free(const void* begin, std::size_t bytes, domain::code_line where, unsigned thread);
  /// Marks the bytes as in use.
  void give(const void* begin, std::size_t bytes);
  /// Returns a free block that contains some of the bytes, or nullptr if there is none.
  [[nodiscard]] const block* find(const void* begin, std::size_t bytes) const noexcept;

 private:
  struct retirement {
    std::uintptr_t begin;
    domain::code_line where;
  };

  std::vector<block> free_;  // disjoint, by address
  std::vector<retirement> retired_;
};

}  // namespace outlast::verify
