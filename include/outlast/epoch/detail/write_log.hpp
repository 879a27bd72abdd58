// The changes of one thread in one epoch, for another thread to write back.
#pragma once

#include <outlast/domain/persist.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/epoch/detail/line_writer.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace outlast::epoch::detail {

/// A log that grows at its end. Its entries do not move, so another thread can read it meanwhile.
///
/// Thread-safety: its owner calls begin(), add() and write_back_half(). One other thread at a time
/// may call write_back() for the present epoch of the log, as long as the owner does not begin() a
/// later one.
template <domain::persistence_domain D>
class write_log {
 public:
  write_log() = default;
  ~write_log() {
    for (chunk* at = first_.next.load(std::memory_order_relaxed); at != nullptr;) {
      const std::unique_ptr<chunk> gone(at);
      at = gone->next.load(std::memory_order_relaxed);
    }
  }
  write_log(const write_log&) = delete;
  write_log& operator=(const write_log&) = delete;

  [[nodiscard]] std::uint64_t epoch() const {
    // (1) acquire; synchronizes-with (2).
    return epoch_.load(std::memory_order_acquire);
  }
  /// Empties the log for another epoch.
  void begin(std::uint64_t epoch) {
    size_.store(0, std::memory_order_relaxed);
    written_.store(0, std::memory_order_relaxed);
    last_ = written_in_ = &first_;
    // (2) release; synchronizes-with (1).
    epoch_.store(epoch, std::memory_order_release);
  }

  /// Appends a range. Returns false if there is no memory for it.
  [[nodiscard]] bool add(const void* first, std::size_t bytes) {
    const std::size_t size = size_.load(std::memory_order_relaxed);
    const std::size_t index = size % chunk::capacity;
    if (size != 0 && index == 0 && !append_chunk()) return false;
    last_->items[index] = {first, bytes};
    // (3) release; synchronizes-with (4).
    size_.store(size + 1, std::memory_order_release);
    return true;
  }

  /// Returns the number of ranges that the owner has not written back.
  [[nodiscard]] std::size_t waiting() const {
    return size_.load(std::memory_order_relaxed) - written_.load(std::memory_order_relaxed);
  }
  /// Writes back the older half of these ranges, and waits.
  void write_back_half(domain::site where = domain::site::current()) {
    const std::size_t begin = written_.load(std::memory_order_relaxed);
    const std::size_t end = begin + waiting() / 2;
    written_in_ = flush(written_in_, begin, end, where);
    domain::fence<D>(where.at(1));
    written_.store(end, std::memory_order_release);
  }
  /// Starts the write-back of all that is left. The caller must wait.
  void write_back(domain::site where = domain::site::current()) {
    const std::size_t begin = written_.load(std::memory_order_acquire);
    chunk* at = &first_;
    for (std::size_t i = 0; i < begin / chunk::capacity; ++i) at = next_of(*at);
    // (4) acquire; synchronizes-with (3).
    (void)flush(at, begin, size_.load(std::memory_order_acquire), where);
  }

 private:
  struct range {
    const void* first;
    std::size_t bytes;
  };
  struct chunk {
    static constexpr std::size_t capacity = 126;
    std::array<range, capacity> items;
    domain::volatile_word<D, chunk*> next{nullptr};
  };

  bool append_chunk() {
    chunk* next = last_->next.load(std::memory_order_relaxed);
    if (next == nullptr) {
      next = new (std::nothrow) chunk;
      if (next == nullptr) return false;
      last_->next.store(next, std::memory_order_release);
    }
    last_ = next;
    return true;
  }

  static chunk* next_of(chunk& of) { return of.next.load(std::memory_order_acquire); }

  /// Flushes the ranges from `begin`, which is in `at`, to before `end`. Returns the chunk of
  /// `end`, if any.
  static chunk* flush(chunk* at, std::size_t begin, std::size_t end, domain::site where) {
    line_writer<D> writer;
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t index = i % chunk::capacity;
      writer.flush(at->items[index].first, at->items[index].bytes, where);
      const bool is_last = index + 1 == chunk::capacity;
      if (is_last && next_of(*at) != nullptr) at = next_of(*at);
    }
    return at;
  }

  domain::volatile_word<D, std::uint64_t> epoch_{0};
  domain::volatile_word<D, std::size_t> size_{0};
  domain::volatile_word<D, std::size_t> written_{0};
  chunk first_;
  chunk* last_ = &first_;
  chunk* written_in_ = &first_;  // of the first that is waiting
};

}  // namespace outlast::epoch::detail
