// Stores of records in a pool that is full: each change needs space that is made for it.
#pragma once

#include <outlast/base/error.hpp>
#include <tests/catalogue/store_in_pool.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace outlast::verify::detail {

/// The pool has space for a few segments.
inline constexpr std::size_t full_store_bytes = std::size_t{64} << 10;

/// Segments of a page, which hold few of the records that fill the pool.
struct full_record_shape : small_record_shape {
  static constexpr std::size_t min_segment_bytes = 4096;
  static constexpr std::size_t max_segment_bytes = 4096;
  static constexpr std::size_t max_copied_record = 1024;
};
/// The same, of a store on a disk.
struct full_marked_shape : full_record_shape {
  static constexpr bool groups_syncs = true;
  static constexpr std::size_t mark_bytes = 512;
};

/// A store without space, as scenarios see it. It is filled with other keys when it is created, and
/// each opening erases one of them. An erasure must not be refused. A put that is refused is made
/// again after the erasure of another key. `Engine`: one with the shapes above.
template <domain::persistence_domain D, class Engine>
class full_store : public store_in_pool<D, Engine> {
  using base_type = store_in_pool<D, Engine>;
  static constexpr std::uint64_t first_filler = 1000;
  static constexpr std::uint64_t step = 4;  ///< so that all have 8 bytes
  static constexpr std::size_t filler_bytes = 900;

 public:
  using typename base_type::pool_type;

  template <class... More>
  explicit full_store(pool_type& pool, More&&... more)
      : base_type(pool, std::forward<More>(more)...) {
    std::uint64_t first = ~std::uint64_t{0};
    base_type::for_each([&](std::uint64_t key, std::uint64_t) {
      if (key < first_filler) return;
      first = std::min(first, key);
      end_ = std::max(end_, key + step);
    });
    if (end_ == 0) {
      first = end_ = first_filler;
      try {
        const std::string value(filler_bytes, 'f');
        for (;; end_ += step) this->core().put(text_of_number(end_), value, true);
      } catch (const out_of_space&) {
      }
    }
    next_.store(first, std::memory_order_relaxed);
    erase_filler();
  }

  void put(std::uint64_t key, std::uint64_t value) {
    with_space([&] { base_type::put(key, value); });
  }
  void replace(std::uint64_t old_key, std::uint64_t key, std::uint64_t value) {
    with_space([&] { base_type::replace(old_key, key, value); });
  }
  template <class Visit>
  void for_each(Visit&& visit) {
    base_type::for_each([&](std::uint64_t key, std::uint64_t value) {
      if (key < first_filler) visit(key, value);
    });
  }

 private:
  void erase_filler() {
    const std::uint64_t one = next_.fetch_add(step, std::memory_order_relaxed);
    if (one < end_) this->core().erase(text_of_number(one), true);
  }
  template <class Write>
  void with_space(Write&& write) {
    for (;;) {
      try {
        return write();
      } catch (const out_of_space&) {
        if (next_.load(std::memory_order_relaxed) >= end_) throw;
      }
      erase_filler();
    }
  }

  std::atomic<std::uint64_t> next_{0};
  std::uint64_t end_ = 0;
};

}  // namespace outlast::verify::detail
