// Pool memory for tests of the allocator: a page table and pages in anonymous memory, without a
// file.
#pragma once

#include <outlast/alloc/arena.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/pool/pages/page_space.hpp>

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>

namespace outlast::test {

/// What a pool file holds as far as the allocator is concerned. Copying it is what a crash leaves.
template <domain::persistence_domain D>
class memory_image {
 public:
  using space = page_space<D>;

  explicit memory_image(std::uint32_t pages, std::uint32_t capacity = 0)
      : pages_(pages), capacity_(capacity == 0 ? pages : capacity), bytes_(total()) {
    void* const at = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(at);
  }
  memory_image(const memory_image&) = delete;
  memory_image& operator=(const memory_image&) = delete;
  ~memory_image() { ::munmap(memory_, bytes_); }

  /// The same bytes at another address.
  [[nodiscard]] std::unique_ptr<memory_image> copy() const {
    auto result = std::make_unique<memory_image>(pages_, capacity_);
    std::memcpy(result->memory_, memory_, bytes_);
    return result;
  }

  [[nodiscard]] typename space::geometry geometry() const {
    return {memory_, reinterpret_cast<pool_format::page_line*>(memory_ + 4096), first_page(),
            pages_, capacity_};
  }
  [[nodiscard]] std::unique_ptr<space> open(typename space::commit_function commit =
                                                [](std::uint32_t, std::uint32_t) {}) const {
    auto result = std::make_unique<space>(geometry(), std::move(commit));
    result->load();
    return result;
  }
  /// The pages of a pool that was closed cleanly with `high_water`.
  [[nodiscard]] std::unique_ptr<space> open_clean(std::uint32_t high_water) const {
    auto result = std::make_unique<space>(geometry(), [](std::uint32_t, std::uint32_t) {});
    result->set_high_water(high_water);
    result->load();
    return result;
  }
  [[nodiscard]] std::byte* memory() const noexcept { return memory_; }
  /// The address in this image of what lies at `address` in `other`.
  [[nodiscard]] void* moved(const void* address, const memory_image& other) const noexcept {
    return memory_ + (static_cast<const std::byte*>(address) - other.memory_);
  }
  [[nodiscard]] std::uint32_t first_page() const noexcept { return 1 + (capacity_ + 63) / 64; }
  [[nodiscard]] std::uint32_t usable_pages() const noexcept { return pages_ - first_page(); }

 private:
  [[nodiscard]] std::size_t total() const noexcept { return std::size_t{capacity_} * 4096; }

  std::uint32_t pages_;
  std::uint32_t capacity_;
  std::size_t bytes_;
  std::byte* memory_ = nullptr;
};

}  // namespace outlast::test
