// Which blocks of the simulated memory are free, and where they were freed.
#pragma once

#include <outlast/domain/watched_blocks.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace outlast::verify {

/// "stack.hpp:45"; "a place without a name" if it has no file.
[[nodiscard]] std::string to_text(const domain::code_line& where);

/// The blocks that one life of the subject has freed and not given out again. Volatile: the next
/// life begins without any.
///
/// Thread-safety: none; the simulated memory owns it. Cost: a search in an array of the blocks that
/// are free.
class freed_blocks {
 public:
  struct block {
    std::uintptr_t begin;
    std::size_t bytes;
    domain::code_line freed;
    domain::code_line retired;  ///< no file: it was not
    unsigned thread;            ///< that freed it
  };

  [[nodiscard]] bool empty() const noexcept { return free_.empty(); }
  void clear() noexcept {
    free_.clear();
    retired_.clear();
  }
  /// The block that begins at `begin` will be freed later.
  void retire(const void* begin, domain::code_line where);
  void free(const void* begin, std::size_t bytes, domain::code_line where, unsigned thread);
  /// The bytes are in use: whatever of them was free is so no more.
  void give(const void* begin, std::size_t bytes);
  /// A free block that has some of the bytes; null if there is none.
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
