// A first-in, first-out queue in transactions.
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
/// Invariants:
///   I1  all chunks except the last one are full, apart from the values that pop() took from the
///       first one.
///   I2  there is no chunk without a value.
template <class T>
class queue {
 public:
  /// Appends a value. Throws out_of_space.
  void push(const T& value) {
    const std::size_t place = (taken_ + count_) % chunk::places;
    if (place == 0) {
      chunk* const made = tx::alloc<chunk>();
      if (last_ == nullptr) {
        first_ = made;
      } else {
        last_->set_next(made);
      }
      last_ = made;
    }
    last_->set(place, value);
    ++count_;
  }

  /// Removes and returns the oldest value; std::nullopt if the queue is empty.
  std::optional<T> pop() {
    if (count_ == 0) return std::nullopt;
    const T value = first_->at(taken_);
    --count_;
    ++taken_;
    if (taken_ == chunk::places || count_ == 0) drop_first();
    return value;
  }

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

  /// Calls `visit(value)` for each value, the oldest first.
  template <class Visit>
  void for_each(Visit&& visit) const {
    const chunk* at = first_;
    std::size_t place = taken_;
    for (std::size_t left = count_; left > 0; --left) {
      if (place == chunk::places) {
        at = at->next();
        place = 0;
      }
      visit(at->at(place));
      ++place;
    }
  }

 private:
  using chunk = detail::value_chunk<T>;

  void drop_first() {
    chunk* const emptied = first_;
    first_ = emptied->next();
    if (first_ == nullptr) last_ = nullptr;
    taken_ = 0;
    tx::free(emptied);
  }

  tx::pointer<chunk> first_;
  tx::pointer<chunk> last_;
  tx::field<std::uint64_t> taken_;  // of the first chunk
  tx::field<std::uint64_t> count_;
};

}  // namespace outlast::containers
