// Values of a queue or a stack, as many as fit into a line.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/tx/field.hpp>

#include <algorithm>
#include <cstddef>
#include <new>

namespace outlast::containers::detail {

/// Places for values, and the link to the next chunk. On media: docs/formats/tx.md.
template <class T>
class value_chunk {
  static constexpr std::size_t link_bytes = std::max(alignof(T), sizeof(tx::pointer<value_chunk>));

 public:
  static constexpr std::size_t places =
      std::max<std::size_t>(1, (base::cache_line_size - link_bytes) / sizeof(T));

  /// A chunk whose places hold anything.
  explicit value_chunk(value_chunk* next = nullptr) : next_(next) {}

  [[nodiscard]] value_chunk* next() const noexcept { return next_; }
  void set_next(value_chunk* to) { next_ = to; }

  /// Returns the value that set() has stored.
  [[nodiscard]] const T& at(std::size_t i) const noexcept {
    return std::launder(reinterpret_cast<const tx::field<T>*>(room_ + i * sizeof(T)))->get();
  }
  void set(std::size_t i, const T& value) { ::new (room_ + i * sizeof(T)) tx::field<T>(value); }

 private:
  tx::pointer<value_chunk> next_;
  alignas(tx::field<T>) std::byte room_[places * sizeof(T)];
};
static_assert(sizeof(value_chunk<long>) == base::cache_line_size && sizeof(tx::field<long>) == 8);

}  // namespace outlast::containers::detail
