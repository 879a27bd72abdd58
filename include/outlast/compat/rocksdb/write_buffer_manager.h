// rocksdb::WriteBufferManager. The store has no write buffers.
#pragma once

#include "cache.h"
#include "rocksdb_namespace.h"

#include <cstddef>
#include <memory>

namespace ROCKSDB_NAMESPACE {

/// Accepted without effect. Its memory usage is 0.
class WriteBufferManager {
 public:
  explicit WriteBufferManager(std::size_t buffer_size, std::shared_ptr<Cache> /*cache*/ = nullptr,
                              bool /*allow_stall*/ = false)
      : buffer_size_(buffer_size) {}

  [[nodiscard]] bool enabled() const { return buffer_size_ != 0; }
  [[nodiscard]] std::size_t buffer_size() const { return buffer_size_; }
  [[nodiscard]] std::size_t memory_usage() const { return 0; }

 private:
  std::size_t buffer_size_;
};

}  // namespace ROCKSDB_NAMESPACE
