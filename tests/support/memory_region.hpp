// The place of an index that outlives stores of a test, in the memory of the test.
#pragma once

#include <outlast/base/anonymous_memory.hpp>
#include <src/db/records/kept_heap.hpp>

#include <cstddef>
#include <new>

namespace outlast::store_detail::records {

class memory_region final : public kept_region {
 public:
  static constexpr std::size_t size = std::size_t{64} << 20;

  memory_region() : memory_(size) {}
  std::byte* first() const noexcept override { return memory_.data(); }
  std::size_t bytes() const noexcept override { return size; }
  std::size_t provided() const noexcept override { return provided_; }
  void provide(std::size_t end) override {
    if (end > limit) throw std::bad_alloc();
    if (end > provided_) provided_ = end;
  }
  bool is_kept() const noexcept override { return true; }

  std::size_t limit = size;

 private:
  base::anonymous_memory memory_;
  std::size_t provided_ = 0;
};

}  // namespace outlast::store_detail::records
