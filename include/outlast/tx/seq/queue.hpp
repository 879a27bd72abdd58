// First in, first out.
#pragma once

#include <outlast/tx/field.hpp>
#include <outlast/tx/heap.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace outlast::tx::seq {

/// Sequential; an object of a transaction manager. `T` is trivially copyable.
template <class T>
class queue {
 public:
  /// Throws out_of_space.
  void push(const T& value) {
    node* const made = alloc<node>(value);
    if (last_ == nullptr) {
      first_ = made;
    } else {
      last_->next = made;
    }
    last_ = made;
    ++count_;
  }

  /// Takes the value that has been there longest, or nothing.
  std::optional<T> pop() {
    node* const taken = first_;
    if (taken == nullptr) return std::nullopt;
    const T value = taken->value;
    first_ = taken->next.get();
    if (first_ == nullptr) last_ = nullptr;
    --count_;
    free(taken);
    return value;
  }

  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

  /// Calls `visit(value)` in their order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const node* at = first_; at != nullptr; at = at->next) visit(at->value.get());
  }

 private:
  struct node {
    explicit node(const T& held) : value(held) {}
    field<T> value;
    pointer<node> next;
  };

  pointer<node> first_;
  pointer<node> last_;
  field<std::uint64_t> count_;
};

}  // namespace outlast::tx::seq
