// Operations whose callers wait for their results.
#pragma once

#include <outlast/tx/transaction.hpp>

#include <exception>
#include <optional>
#include <type_traits>

namespace outlast::tx::detail {

/// An operation whose caller waits for its result.
class any_request {
 public:
  /// Runs the operation, keeping its result or exception.
  virtual void run(transaction& in) noexcept = 0;

  std::exception_ptr failure;

 protected:
  ~any_request() = default;
};

/// A request that calls `F` and keeps its result. Undoes its writes if it throws.
template <class Result, class F>
class request_of final : public any_request {
 public:
  explicit request_of(F& f) noexcept : f_(f) {}

  void run(transaction& in) noexcept override {
    const running_scope now(in);
    in.begin_operation();
    try {
      if constexpr (std::is_void_v<Result>) {
        f_(in);
      } else {
        result_.emplace(f_(in));
      }
    } catch (...) {
      this->failure = std::current_exception();
    }
    if (this->failure != nullptr) in.undo_operation();
  }

  /// Returns the result. Requires: the request has run, and has not failed.
  Result result() const {
    if constexpr (!std::is_void_v<Result>) return *result_;
  }

 private:
  struct nothing {};

  F& f_;
  std::optional<std::conditional_t<std::is_void_v<Result>, nothing, Result>> result_;
};

}  // namespace outlast::tx::detail
