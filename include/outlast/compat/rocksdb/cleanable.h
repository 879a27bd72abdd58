// rocksdb::Cleanable.
#pragma once

#include "rocksdb_namespace.h"

#include <utility>
#include <vector>

namespace ROCKSDB_NAMESPACE {

/// Calls the registered functions when it is destroyed, in the order of their registration.
/// Requires: one thread at a time uses it.
class Cleanable {
 public:
  using CleanupFunction = void (*)(void* arg1, void* arg2);

  Cleanable() = default;
  Cleanable(const Cleanable&) = delete;
  Cleanable& operator=(const Cleanable&) = delete;
  /// Takes over the functions of `from`.
  Cleanable(Cleanable&& from) noexcept : all_(std::exchange(from.all_, {})) {}
  Cleanable& operator=(Cleanable&& from) noexcept {
    if (this == &from) return *this;
    Reset();
    all_ = std::exchange(from.all_, {});
    return *this;
  }
  ~Cleanable() { call(); }

  /// Registers a call of function(arg1, arg2).
  void RegisterCleanup(CleanupFunction function, void* arg1, void* arg2) {
    all_.push_back({function, arg1, arg2});
  }
  /// Moves the registered functions to `other`.
  void DelegateCleanupsTo(Cleanable* other) {
    for (const one& each : all_) other->all_.push_back(each);
    all_.clear();
  }
  /// Calls the registered functions and removes them.
  void Reset() {
    call();
    all_.clear();
  }

 private:
  struct one {
    CleanupFunction function;
    void* arg1;
    void* arg2;
  };

  void call() {
    for (const one& each : all_) each.function(each.arg1, each.arg2);
  }

  std::vector<one> all_;
};

}  // namespace ROCKSDB_NAMESPACE
