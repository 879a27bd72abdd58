// rocksdb::Status.
#pragma once

#include <outlast/compat/rocksdb/slice.h>
#include <outlast/db/status.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace rocksdb {

/// Success, or a kind of failure and a sentence. Kinds and numbers are RocksDB's; the store itself
/// answers those that LevelDB has, of which a file system without space is kNoSpace.
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
  enum SubCode : unsigned char { kNone = 0, kNoSpace = 4, kMemoryLimit = 7, kPathNotFound = 9 };

  /// Success.
  Status() = default;
  /// What the store answers.
  Status(const outlast::db::Status& answer) : code_(code_of(answer)) {
    if (answer.ok()) return;
    sentence_ = answer.ToString();
    sentence_.erase(0, sentence_.find(": ") + 2);
    if (code_ == kIOError && sentence_.rfind("no space", 0) == 0) subcode_ = kNoSpace;
  }

  static Status OK() { return {}; }
  // The sentence is `msg`, or "msg: msg2" if msg2 has bytes.
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
  static Status NoSpace(const Slice& msg = {}, const Slice& msg2 = {}) {
    Status made(kIOError, msg, msg2);
    made.subcode_ = kNoSpace;
    return made;
  }

  [[nodiscard]] Code code() const { return code_; }
  [[nodiscard]] SubCode subcode() const { return subcode_; }
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
  [[nodiscard]] bool IsNoSpace() const { return code_ == kIOError && subcode_ == kNoSpace; }
  /// The sentence; null if it has none.
  [[nodiscard]] const char* getState() const {
    return sentence_.empty() ? nullptr : sentence_.c_str();
  }
  /// Nothing: nobody is asked to look at each status.
  void PermitUncheckedError() const {}

  /// The kind and the sentence, for people. "OK" for a success.
  [[nodiscard]] std::string ToString() const {
    return ok() ? "OK" : std::string(name_of(code_)).append(": ").append(sentence_);
  }

 private:
  Status(Code code, const Slice& msg, const Slice& msg2) : code_(code), sentence_(msg.ToString()) {
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

}  // namespace rocksdb
