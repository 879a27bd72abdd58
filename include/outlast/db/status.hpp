// The result of an operation of the store.
#pragma once

#include "namespace.hpp"
#include "slice.hpp"

#include <string>
#include <utility>

namespace OUTLAST_DB_NAMESPACE {

/// Success, or the kind of a failure with a message. A success allocates no memory.
///
/// Layout and names are those of LevelDB 1.23, because compiled programs depend on both.
/// Thread-safety: const members may be called concurrently.
class Status {
 public:
  /// Creates a success.
  Status() noexcept = default;
  Status(const Status& same) : state_(same.state_ == nullptr ? nullptr : CopyState(same.state_)) {}
  /// Moves the status; `from` becomes a success.
  Status(Status&& from) noexcept : state_(std::exchange(from.state_, nullptr)) {}
  Status& operator=(const Status& same) {
    if (this != &same) *this = Status(same);
    return *this;
  }
  /// Moves the status; `from` receives the previous status of this object.
  Status& operator=(Status&& from) noexcept {
    std::swap(state_, from.state_);
    return *this;
  }
  ~Status() { delete[] state_; }

  static Status OK() { return {}; }
  // The message is `msg`, or "msg: msg2" if `msg2` is not empty.
  static Status NotFound(const Slice& msg, const Slice& msg2 = Slice()) {
    return {kNotFound, msg, msg2};
  }
  static Status Corruption(const Slice& msg, const Slice& msg2 = Slice()) {
    return {kCorruption, msg, msg2};
  }
  static Status NotSupported(const Slice& msg, const Slice& msg2 = Slice()) {
    return {kNotSupported, msg, msg2};
  }
  static Status InvalidArgument(const Slice& msg, const Slice& msg2 = Slice()) {
    return {kInvalidArgument, msg, msg2};
  }
  static Status IOError(const Slice& msg, const Slice& msg2 = Slice()) {
    return {kIOError, msg, msg2};
  }

  [[nodiscard]] bool ok() const { return state_ == nullptr; }
  [[nodiscard]] bool IsNotFound() const { return code() == kNotFound; }
  [[nodiscard]] bool IsCorruption() const { return code() == kCorruption; }
  [[nodiscard]] bool IsIOError() const { return code() == kIOError; }
  [[nodiscard]] bool IsNotSupportedError() const { return code() == kNotSupported; }
  [[nodiscard]] bool IsInvalidArgument() const { return code() == kInvalidArgument; }

  /// Returns the kind and the message as text, or "OK" for a success.
  [[nodiscard]] std::string ToString() const;

 private:
  enum Code {
    kOk = 0,
    kNotFound = 1,
    kCorruption = 2,
    kNotSupported = 3,
    kInvalidArgument = 4,
    kIOError = 5
  };

  Status(Code code, const Slice& msg, const Slice& msg2);
  static const char* CopyState(const char* state);

  [[nodiscard]] Code code() const { return state_ == nullptr ? kOk : static_cast<Code>(state_[4]); }

  // Null for a success. Otherwise: the length of the message (four bytes in the machine's order),
  // the code (one byte) and the message.
  const char* state_ = nullptr;
};

}  // namespace OUTLAST_DB_NAMESPACE
