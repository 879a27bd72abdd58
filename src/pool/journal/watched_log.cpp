// Copies of a pool's file while its log is in use: the moment of a copy, and the write-back that
// precedes it.
#include <outlast/base/error.hpp>
#include <outlast/pool/journal/redo_log.hpp>
#include <src/pool/file/file_calls.hpp>
#include <src/pool/journal/log_files.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

namespace outlast::pool_detail {
namespace {

using watch_clock = std::chrono::steady_clock;

/// The pages that are written while fences wait.
constexpr std::size_t pages_in_a_row = 256;
/// A thread that unlocks a mutex and locks it again does not let waiting threads pass.
constexpr std::chrono::microseconds pause_for_fences{100};

}  // namespace

std::chrono::nanoseconds redo_log::write_back_early() {
  std::chrono::nanoseconds longest{0};
  bool begun = false;
  for (bool more = true; more; std::this_thread::sleep_for(pause_for_fences)) {
    const std::lock_guard lock(mutex_);
    const auto began = watch_clock::now();
    if (!begun) begin_early_pages();
    begun = true;
    require_written(failed_ != 0 ? failed_ : write_early_pages());
    more = early_written_ < early_.size();
    longest = std::max<std::chrono::nanoseconds>(longest, watch_clock::now() - began);
  }
  // Outside of the mutex: the sync of the checkpoint finds little to write.
  const int failed = sync_pool();
  const std::lock_guard lock(mutex_);
  require_written(failed);
  return longest;
}

/// With the mutex. Throws std::bad_alloc.
void redo_log::begin_early_pages() {
  take_back_early_pages(0);
  std::vector<std::uint32_t> room;
  room.reserve(pages_.size());
  early_ = std::exchange(pages_, std::move(room));
}

/// With the mutex. Writes some of the pages. Returns 0 or an errno. An interruption leaves the same
/// state as one of a checkpoint.
int redo_log::write_early_pages() {
  const std::size_t end = std::min(early_.size(), early_written_ + pages_in_a_row);
  if (early_written_ == end) return 0;
  if (const int failed = write_page(0)) return failed;
  for (; early_written_ < end; ++early_written_) {
    const std::uint32_t page = early_[early_written_];
    if (page == 0) continue;
    if (const int failed = write_page(page)) return failed;
  }
  return 0;
}

/// With the mutex. Brings the early pages from index `from` on back to pages_, which has room.
void redo_log::take_back_early_pages(std::size_t from) noexcept {
  pages_.insert(pages_.end(), early_.begin() + static_cast<std::ptrdiff_t>(from), early_.end());
  early_.resize(from);
  early_written_ = std::min(early_written_, from);
  forget_duplicates();
}

/// With the mutex. Throws the error of a write or sync. Fences fail after one of the device.
void redo_log::require_written(int failed) {
  const bool is_lack_of_room =
      failed == no_room || failed == ENOSPC || failed == EDQUOT || failed == EFBIG;
  if (failed != 0 && !is_lack_of_room) failed_ = failed;
  must(failed == no_room ? ENOSPC : failed, pool_path_, "bring the redo log into the pool");
}

std::chrono::nanoseconds redo_log::watch(file_watch& by) {
  const std::lock_guard lock(mutex_);
  const auto began = watch_clock::now();
  require_written(checkpoint_alone());
  by.protect(through_);
  watch_ = &by;
  return watch_clock::now() - began;
}

void redo_log::unwatch() noexcept {
  const std::lock_guard lock(mutex_);
  watch_ = nullptr;
}

}  // namespace outlast::pool_detail
