// rocksdb::Status.
#pragma once

#include "../../db/status.hpp"
#include "rocksdb_namespace.h"
#include "slice.h"

#include <string>
#include <string_view>
#include <utility>

namespace ROCKSDB_NAMESPACE {

/// Success, or a kind of failure and a message. Kinds and numbers are those of RocksDB. The store
/// returns only the kinds that LevelDB has, and the subcode kNoSpace for a full file system.
/// Thread-safety: const members may be called concurrently.
class Status {
 public:
  enum Code : unsigned char {
    kOk = 0,
    kNotFound = 1,
    kCorruption = 2,
    kNotSupported = 3,
    kInvalidArgument = 4,
    kIOError = 5,
    kMergeInProgress = 6,
    kIncomplete = 7,
    kShutdownInProgress = 8,
    kTimedOut = 9,
    kAborted = 10,
    kBusy = 11,
    kExpired = 12,
    kTryAgain = 13,
    kCompactionTooLarge = 14,
    kColumnFamilyDropped = 15,
    kMaxCode
  };
  enum SubCode : unsigned char {
    kNone = 0,
    kMutexTimeout = 1,
    kLockTimeout = 2,
    kLockLimit = 3,
    kNoSpace = 4,
    kDeadlock = 5,
    kStaleFile = 6,
    kMemoryLimit = 7,
    kSpaceLimit = 8,
    kPathNotFound = 9,
    kManualCompactionPaused = 11,
    kMaxSubCode
  };
  enum Severity : unsigned char {
    kNoError = 0,
    kSoftError = 1,
    kHardError = 2,
    kFatalError = 3,
    kUnrecoverableError = 4,
    kMaxSeverity
  };

  /// The status OK.
  Status() = default;
  /// Converts a status of the store.
  Status(const outlast::db::Status& answer) : code_(code_of(answer)) {
    if (answer.ok()) return;
    sentence_ = answer.ToString();
    sentence_.erase(0, sentence_.find(": ") + 2);
    if (code_ == kIOError && sentence_.rfind("no space", 0) == 0) subcode_ = kNoSpace;
  }

  static Status OK() { return {}; }
  // The message is `msg`, or "msg: msg2" if msg2 is not empty.
  static Status NotFound(const Slice& msg = {}, const Slice& msg2 = {}) {
    return {kNotFound, msg, msg2};
  }
  static Status Corruption(const Slice& msg = {}, const Slice& msg2 = {}) {
    return {kCorruption, msg, msg2};
  }
  static Status NotSupported(const Slice& msg = {}, const Slice& msg2 = {}) {
    return {kNotSupported, msg, msg2};
  }
  static Status InvalidArgument(const Slice& msg = {}, const Slice& msg2 = {}) {
    return {kInvalidArgument, msg, msg2};
  }
  static Status IOError(const Slice& msg = {}, const Slice& msg2 = {}) {
    return {kIOError, msg, msg2};
  }
  static Status Incomplete(const Slice& msg = {}, const Slice& msg2 = {}) {
    return {kIncomplete, msg, msg2};
  }
  static Status ShutdownInProgress(const Slice& msg = {}, const Slice& msg2 = {}) {
    return {kShutdownInProgress, msg, msg2};
  }
  static Status TimedOut(const Slice& msg = {}, const Slice& msg2 = {}) {
    return {kTimedOut, msg, msg2};
  }
  static Status Aborted(const Slice& msg = {}, const Slice& msg2 = {}) {
    return {kAborted, msg, msg2};
  }
  static Status Busy(const Slice& msg = {}, const Slice& msg2 = {}) { return {kBusy, msg, msg2}; }
  static Status TryAgain(const Slice& msg = {}, const Slice& msg2 = {}) {
    return {kTryAgain, msg, msg2};
  }
  static Status MergeInProgress(const Slice& msg = {}, const Slice& msg2 = {}) {
    return {kMergeInProgress, msg, msg2};
  }
  static Status Expired(const Slice& msg = {}, const Slice& msg2 = {}) {
    return {kExpired, msg, msg2};
  }
  static Status CompactionTooLarge(const Slice& msg = {}, const Slice& msg2 = {}) {
    return {kCompactionTooLarge, msg, msg2};
  }
  static Status ColumnFamilyDropped(const Slice& msg = {}, const Slice& msg2 = {}) {
    return {kColumnFamilyDropped, msg, msg2};
  }
  static Status NoSpace(const Slice& msg = {}, const Slice& msg2 = {}) {
    return {kIOError, msg, msg2, kNoSpace};
  }
  static Status PathNotFound(const Slice& msg = {}, const Slice& msg2 = {}) {
    return {kIOError, msg, msg2, kPathNotFound};
  }
  static Status MemoryLimit(const Slice& msg = {}, const Slice& msg2 = {}) {
    return {kAborted, msg, msg2, kMemoryLimit};
  }

  [[nodiscard]] Code code() const { return code_; }
  [[nodiscard]] SubCode subcode() const { return subcode_; }
  /// Returns kNoError: errors of the store have no severity.
  [[nodiscard]] Severity severity() const { return kNoError; }
  [[nodiscard]] bool ok() const { return code_ == kOk; }
  [[nodiscard]] bool IsNotFound() const { return code_ == kNotFound; }
  [[nodiscard]] bool IsCorruption() const { return code_ == kCorruption; }
  [[nodiscard]] bool IsNotSupported() const { return code_ == kNotSupported; }
  [[nodiscard]] bool IsInvalidArgument() const { return code_ == kInvalidArgument; }
  [[nodiscard]] bool IsIOError() const { return code_ == kIOError; }
  [[nodiscard]] bool IsIncomplete() const { return code_ == kIncomplete; }
  [[nodiscard]] bool IsShutdownInProgress() const { return code_ == kShutdownInProgress; }
  [[nodiscard]] bool IsTimedOut() const { return code_ == kTimedOut; }
  [[nodiscard]] bool IsAborted() const { return code_ == kAborted; }
  [[nodiscard]] bool IsBusy() const { return code_ == kBusy; }
  [[nodiscard]] bool IsTryAgain() const { return code_ == kTryAgain; }
  [[nodiscard]] bool IsMergeInProgress() const { return code_ == kMergeInProgress; }
  [[nodiscard]] bool IsExpired() const { return code_ == kExpired; }
  [[nodiscard]] bool IsCompactionTooLarge() const { return code_ == kCompactionTooLarge; }
  [[nodiscard]] bool IsColumnFamilyDropped() const { return code_ == kColumnFamilyDropped; }
  [[nodiscard]] bool IsDeadlock() const { return code_ == kBusy && subcode_ == kDeadlock; }
  [[nodiscard]] bool IsLockLimit() const { return code_ == kAborted && subcode_ == kLockLimit; }
  [[nodiscard]] bool IsMemoryLimit() const { return code_ == kAborted && subcode_ == kMemoryLimit; }
  [[nodiscard]] bool IsPathNotFound() const {
    return (code_ == kIOError || code_ == kNotFound) && subcode_ == kPathNotFound;
  }
  [[nodiscard]] bool IsManualCompactionPaused() const {
    return code_ == kIncomplete && subcode_ == kManualCompactionPaused;
  }
  [[nodiscard]] bool IsNoSpace() const { return code_ == kIOError && subcode_ == kNoSpace; }
  /// Returns the message, or nullptr if there is none.
  [[nodiscard]] const char* getState() const {
    return sentence_.empty() ? nullptr : sentence_.c_str();
  }
  // Has no effect: the library does not check that a program examines each status.
  void PermitUncheckedError() const {}
  void MustCheck() const {}

  /// Returns the kind and the message as a text, or "OK".
  [[nodiscard]] std::string ToString() const {
    return ok() ? "OK" : std::string(name_of(code_)).append(": ").append(sentence_);
  }

 private:
  Status(Code code, const Slice& msg, const Slice& msg2, SubCode subcode = kNone)
      : code_(code), subcode_(subcode), sentence_(msg.ToString()) {
    if (!msg2.empty()) sentence_.append(": ").append(msg2.view());
  }

  static Code code_of(const outlast::db::Status& answer) {
    if (answer.ok()) return kOk;
    if (answer.IsNotFound()) return kNotFound;
    if (answer.IsCorruption()) return kCorruption;
    if (answer.IsNotSupportedError()) return kNotSupported;
    return answer.IsInvalidArgument() ? kInvalidArgument : kIOError;
  }
  static std::string_view name_of(Code code) {
    constexpr std::string_view names[] = {"OK",
                                          "NotFound",
                                          "Corruption",
                                          "Not implemented",
                                          "Invalid argument",
                                          "IO error",
                                          "Merge in progress",
                                          "Result incomplete",
                                          "Shutdown in progress",
                                          "Operation timed out",
                                          "Operation aborted",
                                          "Resource busy",
                                          "Operation expired",
                                          "Operation failed. Try again.",
                                          "Compaction too large",
                                          "Column family dropped"};
    return names[code];
  }

  Code code_ = kOk;
  SubCode subcode_ = kNone;
  std::string sentence_;
};

inline bool operator==(const Status& x, const Status& y) { return x.code() == y.code(); }
inline bool operator!=(const Status& x, const Status& y) { return !(x == y); }

}  // namespace ROCKSDB_NAMESPACE
