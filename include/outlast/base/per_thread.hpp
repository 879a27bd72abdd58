// One object per thread and owner, found in two loads.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/base/thread_context.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace outlast::base {

/// Returns a number that is unique among the owners of this process.
[[nodiscard]] std::uint64_t next_owner_id() noexcept;

/// A `T` for each thread slot that has requested one. Objects exist until the table is destroyed.
/// The object of a thread that exited passes to the thread that inherits its slot.
///
/// Thread-safety: `local()` and `for_each()` may be called concurrently. Only the slot's thread
/// uses an object, unless T states otherwise.
template <class T>
class per_thread {
 public:
  using factory = std::function<std::unique_ptr<T>(std::uint32_t slot)>;

  explicit per_thread(factory make) : make_(std::move(make)), id_(next_owner_id()) {}
  per_thread(const per_thread&) = delete;
  per_thread& operator=(const per_thread&) = delete;

  ~per_thread() {
    for (std::size_t s = 0; s < segments_count; ++s) {
      std::atomic<T*>* const segment = segments_[s].load(std::memory_order_relaxed);
      if (segment == nullptr) continue;
      for (std::size_t i = 0; i < segment_size(s); ++i) {
        delete segment[i].load(std::memory_order_relaxed);
      }
      delete[] segment;
    }
  }

  /// Returns the calling thread's object. Wait-free once it exists; the first call allocates
  /// volatile memory.
  [[nodiscard, gnu::always_inline]] T& local() {
    thread_context& context = this_thread();
    const std::uint64_t id = id_.load(std::memory_order_relaxed);
    thread_context::cached_local& cached = context.locals[id % thread_context::cached_locals];
    if (cached.owner == id) [[likely]]
      return *static_cast<T*>(cached.object);
    return find(context, cached);
  }

  /// Like local(), but returns nullptr instead of throwing an exception, for example if memory is
  /// exhausted.
  [[nodiscard, gnu::always_inline]] T* local_or_null() noexcept {
    if (thread_context* const context = current_thread; context != nullptr) [[likely]] {
      const std::uint64_t id = id_.load(std::memory_order_relaxed);
      const thread_context::cached_local& cached =
          context->locals[id % thread_context::cached_locals];
      if (cached.owner == id) [[likely]] {
        if (cached.object == nullptr) __builtin_unreachable();  // the caller's check costs nothing
        return static_cast<T*>(cached.object);
      }
    }
    return find_or_null();
  }

  /// Returns the object of `slot`, or nullptr if the slot has none.
  [[nodiscard]] T* of_slot(std::uint32_t slot) const noexcept {
    const auto [segment, index] = position(slot);
    std::atomic<T*>* const objects = segments_[segment].load(std::memory_order_acquire);
    return objects == nullptr ? nullptr : objects[index].load(std::memory_order_acquire);
  }

  /// Calls `visit(T&)` for each object that exists.
  template <class Visit>
  void for_each(Visit&& visit) const {
    const std::size_t end = segments_end_.load(std::memory_order_acquire);
    for (std::size_t s = 0; s < end; ++s) {
      std::atomic<T*>* const segment = segments_[s].load(std::memory_order_acquire);
      if (segment == nullptr) continue;
      for (std::size_t i = 0; i < segment_size(s); ++i) {
        if (T* const object = segment[i].load(std::memory_order_acquire)) visit(*object);
      }
    }
  }

  /// Returns whether `forbid()` has been called.
  [[nodiscard]] bool forbidden() const noexcept {
    return forbidden_.load(std::memory_order_relaxed);
  }

  /// Makes `local()` throw error{forked} from now on. Called in the child of a fork.
  void forbid() noexcept {
    forbidden_.store(true, std::memory_order_relaxed);
    id_.store(next_owner_id(), std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t segments_count = 28;
  static constexpr std::size_t segment_size(std::size_t s) noexcept { return std::size_t{8} << s; }

  static std::pair<std::size_t, std::size_t> position(std::uint32_t slot) noexcept {
    const std::uint64_t shifted = std::uint64_t{slot} + 8;
    const auto segment = static_cast<std::size_t>(std::bit_width(shifted)) - 4;
    return {segment, shifted - (std::uint64_t{8} << segment)};
  }

  [[gnu::noinline]] T& find(thread_context& context, thread_context::cached_local& cached) {
    if (forbidden_.load(std::memory_order_relaxed)) {
      throw error(errc::forked, "",
                  "this pool was opened before fork(); the child must not use it, only a pool that "
                  "it opens itself");
    }
    const auto [s, index] = position(context.slot);
    std::atomic<T*>* segment = segments_[s].load(std::memory_order_acquire);
    if (segment == nullptr) {
      auto fresh = std::make_unique<std::atomic<T*>[]>(segment_size(s));
      raise_segments_end(s + 1);  // before an object can be in the segment
      if (segments_[s].compare_exchange_strong(segment, fresh.get(), std::memory_order_acq_rel)) {
        segment = fresh.release();
      }
    }
    T* object = segment[index].load(std::memory_order_acquire);
    if (object == nullptr) {
      object = make_(context.slot).release();
      segment[index].store(object, std::memory_order_release);
    }
    cached = {id_.load(std::memory_order_relaxed), object};
    return *object;
  }

  void raise_segments_end(std::size_t end) noexcept {
    std::size_t now = segments_end_.load(std::memory_order_relaxed);
    while (now < end && !segments_end_.compare_exchange_weak(now, end, std::memory_order_acq_rel)) {
    }
  }

  [[gnu::noinline]] T* find_or_null() noexcept {
    try {
      return &local();
    } catch (...) {
      return nullptr;
    }
  }

  factory make_;
  std::atomic<std::uint64_t> id_;
  std::atomic<bool> forbidden_{false};
  std::atomic<std::size_t> segments_end_{0};  // No segment from this one on exists.
  std::atomic<std::atomic<T*>*> segments_[segments_count] = {};
};

}  // namespace outlast::base
