// The members of objects in transactions: fields, and pointers that are valid in every replica.
#pragma once

#include <outlast/base/survives.hpp>
#include <outlast/tx/transaction.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace outlast::tx {

/// A member of any trivially copyable type. Loads are plain loads. Stores are part of the running
/// transaction, and throw error{refused} outside an update.
///
/// Thread-safety: the engine's; user code needs none.
template <class T>
class field {
  static_assert(std::is_trivially_copyable_v<T>,
                "a field is copied byte by byte from replica to replica: T must be trivially "
                "copyable; for links use tx::pointer");
  static_assert(base::must_survive<T>);  // links: tx::pointer

 public:
  using value_type = T;

  field() : field(T{}) {}
  field(const T& value) { set(value); }
  field(const field& other) { set(other.value_); }
  field& operator=(const T& value) {
    set(value);
    return *this;
  }
  field& operator=(const field& other) {
    set(other.value_);
    return *this;
  }

  [[nodiscard]] const T& get() const noexcept { return value_; }
  operator const T&() const noexcept { return value_; }
  const T* operator->() const noexcept { return &value_; }
  void set(const T& value) { running().store(&value_, &value, sizeof(T)); }

  template <class U>
  field& operator+=(const U& by) {
    return *this = static_cast<T>(value_ + by);
  }
  template <class U>
  field& operator-=(const U& by) {
    return *this = static_cast<T>(value_ - by);
  }
  field& operator++() { return *this += 1; }
  field& operator--() { return *this -= 1; }

 private:
  union {
    T value_;
  };
};

/// A link to an object of the same replica. It is stored as the distance from itself, so that all
/// replicas have the same bytes, and the pool can be mapped anywhere.
template <class T>
class pointer {
 public:
  pointer() : pointer(nullptr) {}
  pointer(T* to) { set(to); }
  pointer(const pointer& other) { set(other.get()); }
  pointer& operator=(T* to) {
    set(to);
    return *this;
  }
  pointer& operator=(const pointer& other) {
    set(other.get());
    return *this;
  }

  [[nodiscard]] T* get() const noexcept {
    if (stored_ == 0) return nullptr;
    return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(this) + (stored_ ^ not_null));
  }
  operator T*() const noexcept { return get(); }
  T* operator->() const noexcept { return get(); }
  void set(T* to) {
    std::uint64_t stored = 0;
    if (to != nullptr) {
      stored = reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(this);
      stored ^= not_null;
    }
    running().store(&stored_, &stored, sizeof stored);
  }

 private:
  /// No two addresses are so far from each other. Inverting this bit lets a pointer refer to itself
  /// without being stored as 0.
  static constexpr std::uint64_t not_null = std::uint64_t{1} << 62;

  union {
    std::uint64_t stored_;  // 0: nullptr; otherwise the distance, with one bit inverted
  };
};

}  // namespace outlast::tx
