// Operations that any thread may run, also after their caller has gone, and what they answer.
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

/// What an operation answered: the bytes of its result, or its exception.
/// Thread-safety: of whoever ran the operation, until it is handed to the caller.
class outcome {
 public:
  std::exception_ptr failure;
  std::uint64_t commit = 0;  ///< of which it was a part, where these have numbers
  std::size_t lines = 0;     ///< that it was the first of its batch to write, the same

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

/// An operation in the engine's memory. Whoever wants to run it protects it by a hazard.
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

/// An operation that is run when a batch finds it.
template <domain::persistence_domain D>
class helped_request : public shared_operation {
 public:
  /// Counts its caller's operations; set before the request is published.
  std::uint64_t number = 0;
  /// Once the operation has happened and is durable. The caller's.
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
