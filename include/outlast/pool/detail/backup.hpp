// Copying a pool while other threads use it: everything that does not depend on the domain.
#pragma once

#include <outlast/pool/backup_result.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace outlast::pool_detail {

class mapped_file;
class redo_log;

/// The pool that a backup copies.
struct backup_source {
  std::string path;                              ///< of the pool, for messages
  const mapped_file* file;                       ///< nullptr: the pool is in memory
  std::byte* base;                               ///< address of byte 0 of the pool
  std::uint64_t bytes;                           ///< length of the pool's file
  std::unique_lock<std::recursive_mutex> alone;  ///< excludes calls until the pool is protected
  std::shared_ptr<void> without_growth;          ///< the pool does not grow while it exists
  redo_log* log;                                 ///< nullptr: the pool has none
  std::chrono::nanoseconds stop;                 ///< the longest stop of fences so far
};

/// Receives the bytes of a pool in ascending order, without gaps.
using backup_sink = std::function<void(const std::byte* bytes, std::size_t size)>;

/// Receives the bytes of the pool that are complete, and all of them.
using backup_progress = std::function<void(std::uint64_t done, std::uint64_t all)>;

/// Copies the pool to a new file; see basic_pool::backup().
[[nodiscard]] backup_result back_up_to_file(backup_source from, const std::string& path,
                                            const backup_progress& progress);
/// Copies the pool to a stream.
[[nodiscard]] backup_result back_up_to_stream(backup_source from, const backup_sink& write);

}  // namespace outlast::pool_detail
