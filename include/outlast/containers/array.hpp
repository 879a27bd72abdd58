// An array of values in transactions.
#pragma once

#include <outlast/containers/detail/stored_names.hpp>
#include <outlast/tx/field.hpp>
#include <outlast/tx/heap.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace outlast::containers {

/// Sequential code, an object of a transaction manager. `T` is trivially copyable.
template <class T>
class array {
 public:
  /// Replaces all values by `count` values T(). Throws out_of_space.
  void resize(std::size_t count) {
    tx::free(items_.get());
    items_ = nullptr;
    items_ = tx::alloc_array<tx::field<T>>(count);
    count_ = count;
  }

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  /// Returns value `i`. Throws std::out_of_range.
  [[nodiscard]] const T& at(std::size_t i) const { return item(i).get(); }
  void set(std::size_t i, const T& value) { item(i) = value; }
  /// Exchanges two values.
  void swap(std::size_t a, std::size_t b) {
    const T first = item(a);
    item(a) = item(b).get();
    item(b) = first;
  }

 private:
  [[nodiscard]] tx::field<T>& item(std::size_t i) const {
    if (i >= count_) throw std::out_of_range("outlast::containers::array");
    return items_.get()[i];
  }

  tx::pointer<tx::field<T>> items_;
  tx::field<std::uint64_t> count_;
};

}  // namespace outlast::containers
