// A pool in memory, and copies of its bytes: what a crash leaves of it at any moment.
#pragma once

#include <outlast/pool/pool.hpp>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace outlast::test {

/// Nothing is ever closed, unless the test does it: each next image is found as after a crash.
template <domain::persistence_domain D>
class memory_image {
 public:
  using pool_type = basic_pool<D>;

  explicit memory_image(std::size_t bytes = std::size_t{8} << 20, const pool_options& options = {})
      : memory_image(bytes, nullptr) {
    open(true, options);
  }

  /// The bytes as they are now, in a pool of its own.
  [[nodiscard]] memory_image crashed() const {
    memory_image copy(bytes_, memory_.get());
    copy.open(false);
    return copy;
  }

  [[nodiscard]] pool_type& operator*() noexcept { return *pool_; }
  [[nodiscard]] pool_type* operator->() noexcept { return pool_.get(); }
  [[nodiscard]] std::span<const std::byte> memory() const { return {memory_.get(), bytes_}; }

 private:
  struct release {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };
  static constexpr std::size_t page_bytes = 4096;

  memory_image(std::size_t bytes, const std::byte* content)
      : bytes_(bytes), memory_(static_cast<std::byte*>(std::aligned_alloc(page_bytes, bytes))) {
    if (memory_ == nullptr) throw std::bad_alloc();
    if (content != nullptr) std::memcpy(memory_.get(), content, bytes);
  }
  void open(bool fresh, const pool_options& options = {}) {
    pool_ = pool_type::in_memory(memory_.get(), bytes_, fresh, options);
  }

  std::size_t bytes_;
  std::unique_ptr<std::byte, release> memory_;
  std::unique_ptr<pool_type> pool_;  // goes before its memory
};

}  // namespace outlast::test
