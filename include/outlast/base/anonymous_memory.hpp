// Memory in whole pages from the operating system.
#pragma once

#include <cstddef>
#include <utility>

namespace outlast::base {

/// Returns `bytes` zeros at the beginning of a page. They cost only address space until they are
/// written. unmap_memory() returns them. Throws out_of_space.
[[nodiscard]] void* map_memory(std::size_t bytes);
void unmap_memory(void* first, std::size_t bytes) noexcept;
/// Returns the bytes of a mapping, in whole pages, that are memory of the process itself and of no
/// file. A page of a private mapping counts once it was written. Returns `bytes` if the system does
/// not report it.
[[nodiscard]] std::size_t private_bytes(const void* first, std::size_t bytes) noexcept;

/// Memory of map_memory() with an owner.
class anonymous_memory {
 public:
  /// Owns no memory.
  anonymous_memory() = default;
  /// Throws out_of_space.
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
