// The background threads of a manager with a commit log: one syncs, one writes back.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/base/periodic_thread.hpp>
#include <outlast/domain/volatile_word.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <new>
#include <utility>

namespace outlast::tx::detail {

/// The first thread bounds the time for which acknowledged commits are not durable. The second one
/// writes commits back to the base image, so that the log has room, and frees memory once no commit
/// has come for a while.
///
/// Thread-safety: all members may be called concurrently, except start().
template <domain::persistence_domain D>
class log_threads {
 public:
  /// The work. Each function may throw std::bad_alloc, after which it is called again later, and
  /// error, after which its thread ends: later updates and syncs report the failure.
  struct work {
    std::function<void()> sync;             ///< makes all acknowledged commits durable
    std::function<bool()> is_synced;        ///< true if all of them are durable
    std::function<void()> write_back;       ///< writes commits to the base image
    std::function<void()> free_memory;      ///< frees memory that only a busy manager needs
    std::function<std::uint64_t()> newest;  ///< the number of the newest commit
  };

  /// Syncs every `interval` from now on.
  void start(std::chrono::microseconds interval, work todo) {
    stop();  // threads of an earlier start use todo_
    todo_ = std::move(todo);
    syncs_.start(
        interval, [this] { return try_to(todo_.sync); },
        [this] { return todo_.is_synced() ? outlook::nothing : outlook::work; });
    last_idle_ = todo_.newest();
    write_backs_.start(
        idle_interval, [this] { return try_to([this] { write_back_or_free(); }); },
        [this] { return look_for_idleness(); });
  }
  /// A commit is in the log.
  void note_work() {
    syncs_.note_work();
    write_backs_.note_work();
  }
  /// Has the log written back as soon as possible, unless that was requested less than a quarter of
  /// the log's `capacity` before. `end`: where the newest record ends.
  void hasten(std::uint64_t end, std::uint64_t capacity) {
    const std::uint64_t last = hastened_at_.load(std::memory_order_relaxed);
    if (end < last + capacity / 4) return;
    hastened_at_.store(end, std::memory_order_relaxed);
    write_backs_.hasten();
  }
  void stop() {
    write_backs_.stop();
    syncs_.stop();
  }
  /// The same in a child process, which does not have the threads.
  void abandon() noexcept {
    write_backs_.abandon();
    syncs_.abandon();
  }

 private:
  using outlook = base::periodic_thread::outlook;
  static constexpr std::chrono::seconds idle_interval{1};

  /// Returns false if `work` must not be called again.
  template <class Work>
  [[nodiscard]] static bool try_to(Work&& work) {
    try {
      work();
      return true;
    } catch (const std::bad_alloc&) {
      return true;  // there may be memory next time
    } catch (const error&) {
      return false;
    }
  }
  [[nodiscard]] outlook look_for_idleness() {
    const std::uint64_t now = todo_.newest();
    if (now == last_idle_) return outlook::nothing;
    if (std::exchange(last_seen_, now) != now) return outlook::waiting;
    is_idle_ = true;
    return outlook::work;
  }
  void write_back_or_free() {
    if (!std::exchange(is_idle_, false)) return todo_.write_back();
    last_idle_ = last_seen_;
    todo_.free_memory();
  }

  work todo_;
  domain::volatile_word<D, std::uint64_t> hastened_at_;
  // Commits, used by the thread of write_backs_:
  std::uint64_t last_seen_ = 0;
  std::uint64_t last_idle_ = 0;
  bool is_idle_ = false;
  base::periodic_thread syncs_;
  base::periodic_thread write_backs_;  // end first
};

}  // namespace outlast::tx::detail
