// Last in, first out.
#pragma once

#include <outlast/tx/field.hpp>
#include <outlast/tx/heap.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace outlast::tx::seq {

/// Sequential; an object of a transaction manager. `T` is trivially copyable.
template <class T>
class stack {
 public:
  /// Throws out_of_space.
  void push(const T& value) {
    top_ = alloc<node>(value, top_.get());
    ++count_;
  }

  /// Takes the value that was pushed last, or nothing.
  std::optional<T> pop() {
    node* const taken = top_;
    if (taken == nullptr) return std::nullopt;
    const T value = taken->value;
    top_ = taken->next.get();
    --count_;
    free(taken);
    return value;
  }

  [[nodiscard]] bool empty() const noexcept { return top_ == nullptr; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

  /// Calls `visit(value)`, the last one first.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const node* at = top_; at != nullptr; at = at->next) visit(at->value.get());
  }

 private:
  struct node {
    node(const T& held, node* below) : value(held), next(below) {}
    field<T> value;
    pointer<node> next;
  };

  pointer<node> top_;
  field<std::uint64_t> count_;
};

}  // namespace outlast::tx::seq
