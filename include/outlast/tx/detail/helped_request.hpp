// Operations for helping: any thread may run them, also after their caller has returned.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/tx/transaction.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

namespace outlast::tx::detail {

/// The outcome of an operation: the bytes of its result, or its exception.
/// Thread-safety: used by the thread that ran the operation, and then by the caller.
class outcome {
 public:
  std::exception_ptr failure;
  std::uint64_t commit = 0;  ///< of which the operation was a part, if commits have numbers
  std::size_t lines = 0;     ///< that the operation was the first of its batch to write

  void clear() noexcept {
    failure = nullptr;
    large_.reset();
  }

  /// Throws std::bad_alloc without effect.
  template <class T>
  void keep(const T& value) {
    std::byte* to = small_.data();
    if constexpr (sizeof(T) > small_bytes) {
      large_ = std::make_unique<std::byte[]>(sizeof(T));
      to = large_.get();
    }
    std::memcpy(to, static_cast<const void*>(&value), sizeof(T));
  }
  template <class T>
  [[nodiscard]] T kept() const noexcept {
    std::array<std::byte, sizeof(T)> bytes;
    std::memcpy(bytes.data(), sizeof(T) > small_bytes ? large_.get() : small_.data(), sizeof(T));
    return std::bit_cast<T>(bytes);
  }

 private:
  static constexpr std::size_t small_bytes = 32;

  std::array<std::byte, small_bytes> small_{};
  std::unique_ptr<std::byte[]> large_;
};

/// An operation in the engine's memory. A thread must protect it by a hazard pointer to run it.
class shared_operation {
 public:
  shared_operation() = default;
  shared_operation(const shared_operation&) = delete;
  shared_operation& operator=(const shared_operation&) = delete;
  virtual ~shared_operation() = default;

  /// Runs the operation, or a copy of it if it is not const to call, keeping its result or
  /// exception in `out`. Thread-safety: any number of threads, each in a transaction of its own.
  virtual void run(transaction& in, outcome& out) const noexcept = 0;
};

/// An operation that batches find and run.
template <domain::persistence_domain D>
class helped_request : public shared_operation {
 public:
  /// The number of the operation among those of its caller. Set before the request is published.
  std::uint64_t number = 0;
  /// Set once the operation is durable. The caller owns the outcome then.
  domain::volatile_word<D, outcome*> answer;
};

/// A `Base` that runs copies of `F`.
template <std::derived_from<shared_operation> Base, class Result, class F>
class operation_of final : public Base {
  static_assert(std::is_copy_constructible_v<F>,
                "other threads run the operation: it has to be copyable, and so do its captures");

 public:
  explicit operation_of(F&& f) : f_(std::move(f)) {}

  void run(transaction& in, outcome& out) const noexcept override {
    const running_scope now(in);
    in.begin_operation();
    out.clear();
    try {
      if constexpr (std::is_invocable_v<const F&, transaction&>) {
        call(f_, in, out);
      } else {
        F mine(f_);  // it may change its captures
        call(mine, in, out);
      }
      if (in.lack() != nullptr) std::rethrow_exception(in.lack());
    } catch (...) {
      out.failure = std::current_exception();
    }
    if (out.failure != nullptr) in.undo_operation();
  }

 private:
  template <class Call>
  static void call(Call& f, transaction& in, outcome& out) {
    if constexpr (std::is_void_v<Result>) {
      f(in);
    } else {
      out.keep<Result>(f(in));
    }
  }

  F f_;
};

template <domain::persistence_domain D, class Result, class F>
using helped_request_of = operation_of<helped_request<D>, Result, F>;

}  // namespace outlast::tx::detail
