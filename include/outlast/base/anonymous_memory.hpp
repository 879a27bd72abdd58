// Memory in whole pages, straight from the system.
#pragma once

#include <cstddef>
#include <utility>

namespace outlast::base {

/// Zeros that cost address space only, until they are written to; to be given back by
/// unmap_memory(). Begins at a page. Throws out_of_space.
[[nodiscard]] void* map_memory(std::size_t bytes);
void unmap_memory(void* first, std::size_t bytes) noexcept;
/// How much of a mapping is memory of the process's own, and no file's: in whole pages. Once it was
/// written to, of a private one; all of it, where the system does not tell.
[[nodiscard]] std::size_t private_bytes(const void* first, std::size_t bytes) noexcept;

/// What map_memory() gives, with an owner.
class anonymous_memory {
 public:
  /// None.
  anonymous_memory() = default;
  /// `bytes` bytes. Throws out_of_space.
  explicit anonymous_memory(std::size_t bytes);
  ~anonymous_memory();
  anonymous_memory(anonymous_memory&& from) noexcept
      : first_(std::exchange(from.first_, nullptr)), bytes_(std::exchange(from.bytes_, 0)) {}
  anonymous_memory& operator=(anonymous_memory&& from) noexcept {
    std::swap(first_, from.first_);
    std::swap(bytes_, from.bytes_);
    return *this;
  }

  [[nodiscard]] std::byte* data() const noexcept { return first_; }

 private:
  std::byte* first_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace outlast::base
