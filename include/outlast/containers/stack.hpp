// A last-in, first-out stack in transactions.
#pragma once

#include <outlast/containers/detail/stored_names.hpp>
#include <outlast/containers/detail/value_chunk.hpp>
#include <outlast/tx/field.hpp>
#include <outlast/tx/heap.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace outlast::containers {

/// Sequential code, an object of a transaction manager. `T` is trivially copyable.
///
/// Invariant: all chunks except the top one are full, and the top one is not empty.
template <class T>
class stack {
 public:
  /// Pushes a value. Throws out_of_space.
  void push(const T& value) {
    const std::size_t place = count_ % chunk::places;
    if (place == 0) top_ = tx::alloc<chunk>(top_.get());
    top_->set(place, value);
    ++count_;
  }

  /// Removes and returns the newest value; std::nullopt if the stack is empty.
  std::optional<T> pop() {
    if (count_ == 0) return std::nullopt;
    const std::size_t place = (count_ - 1) % chunk::places;
    chunk* const top = top_;
    const T value = top->at(place);
    --count_;
    if (place == 0) {
      top_ = top->next();
      tx::free(top);
    }
    return value;
  }

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

  /// Calls `visit(value)` for each value, the newest first.
  template <class Visit>
  void for_each(Visit&& visit) const {
    const chunk* at = top_;
    for (std::size_t left = count_; left > 0; --left) {
      const std::size_t place = (left - 1) % chunk::places;
      visit(at->at(place));
      if (place == 0) at = at->next();
    }
  }

 private:
  using chunk = detail::value_chunk<T>;

  tx::pointer<chunk> top_;
  tx::field<std::uint64_t> count_;
};

}  // namespace outlast::containers
