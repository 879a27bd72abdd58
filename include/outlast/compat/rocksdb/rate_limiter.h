// rocksdb::RateLimiter. The store has no background writes that it could limit.
#pragma once

#include "rocksdb_namespace.h"

#include <atomic>
#include <cstdint>

namespace ROCKSDB_NAMESPACE {

/// Accepted without effect.
class RateLimiter {
 public:
  enum class Mode { kReadsOnly, kWritesOnly, kAllIo };

  explicit RateLimiter(std::int64_t bytes_per_second) : rate_(bytes_per_second) {}
  RateLimiter(const RateLimiter&) = delete;
  RateLimiter& operator=(const RateLimiter&) = delete;
  virtual ~RateLimiter() = default;

  virtual void SetBytesPerSecond(std::int64_t rate) { rate_.store(rate); }
  virtual std::int64_t GetBytesPerSecond() const { return rate_.load(); }

 private:
  std::atomic<std::int64_t> rate_;
};

/// The caller owns the result.
inline RateLimiter* NewGenericRateLimiter(
    std::int64_t rate_bytes_per_sec, std::int64_t /*refill_period_us*/ = 100 * 1000,
    std::int32_t /*fairness*/ = 10, RateLimiter::Mode /*mode*/ = RateLimiter::Mode::kWritesOnly,
    bool /*auto_tuned*/ = false) {
  return new RateLimiter(rate_bytes_per_sec);
}

}  // namespace ROCKSDB_NAMESPACE
