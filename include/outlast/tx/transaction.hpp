// The transaction in which user code runs: the interface that fields and the allocator use.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/base/thread_context.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/hardware_access.hpp>
#include <outlast/tx/detail/write_set.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <type_traits>

namespace outlast::tx {

/// The replica on which one operation works. Updates use a replica alone; readers share it.
///
/// Engines construct a transaction and run the operation in it. User code uses it only through
/// fields, pointers and alloc(). Loads are plain loads. Stores go through store(), which adds the
/// line to the write set and writes in place.
/// Thread-safety: used by the thread that runs the operation.
class transaction {
 public:
  /// A function that writes bytes of a replica. nullptr means a plain copy.
  using writer = void (*)(void* to, const void* from, std::size_t bytes);
  /// A function that provides space on the file system for the first `bytes` of every replica.
  /// Throws out_of_space.
  using provider = void (*)(void* engine, std::size_t bytes);

  transaction() = default;

  /// An update of the `bytes` at `replica`, with the write set `written`.
  transaction(const void* engine, std::byte* replica, std::size_t bytes, detail::write_set& written,
              writer write, provider provides) noexcept
      : engine_(engine),
        replica_(replica),
        bytes_(bytes),
        written_(&written),
        write_(write),
        provide_(provides) {}
  /// An update without a write set: it cannot be undone.
  transaction(const void* engine, std::byte* replica, std::size_t bytes, provider provides) noexcept
      : engine_(engine), replica_(replica), bytes_(bytes), provide_(provides), unnoted_(true) {}
  /// A read.
  transaction(const void* engine, const std::byte* replica, std::size_t bytes) noexcept
      : engine_(engine), replica_(const_cast<std::byte*>(replica)), bytes_(bytes) {}

  /// Stores `size` bytes. A store outside the replica is a plain copy: objects on the stack may
  /// have fields. Throws error{refused} in a read, std::bad_alloc without effect.
  void store(void* to, const void* from, std::size_t size) {
    const std::size_t offset = offset_of(to);
    if (offset >= bytes_) {
      std::memcpy(to, from, size);
      return;
    }
    note(offset, size);
    if (write_ != nullptr) [[unlikely]] {
      write_(to, from, size);
    } else {
      std::memcpy(to, from, size);
      std::atomic_signal_fence(std::memory_order_acq_rel);
    }
  }

  /// Adds the `size` bytes at `at` to the write set: a constructor is about to write them, possibly
  /// without store().
  void declare(const void* at, std::size_t size) {
    const std::size_t offset = offset_of(at);
    if (offset < bytes_) note(offset, size);
  }

  [[nodiscard]] std::byte* replica() const noexcept { return replica_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] const void* engine() const noexcept { return engine_; }
  [[nodiscard]] bool writes() const noexcept { return written_ != nullptr || unnoted_; }
  [[nodiscard]] std::size_t offset_of(const void* at) const noexcept {
    return static_cast<std::size_t>(static_cast<const std::byte*>(at) - replica_);
  }
  /// Provides space for the first `bytes` of the replica before they are used. Throws out_of_space.
  void provide(std::size_t bytes) {
    if (provide_ == nullptr) return;
    try {
      provide_(const_cast<void*>(engine_), bytes);
    } catch (...) {
      lack_ = std::current_exception();
      throw;
    }
  }
  /// Notes that the region is full; `why` is the exception. If the addresses of blocks differ
  /// between replicas, another replica can have room.
  void region_is_full(const std::exception_ptr& why) noexcept {
    if (unnoted_) lack_ = why;
  }
  /// The lack of space or memory that the current operation met, and that it might not meet in
  /// another replica or later; nullptr if there was none. The operation fails with it even if it
  /// catches the exception: so replicas stay equal.
  [[nodiscard]] const std::exception_ptr& lack() const noexcept { return lack_; }

  /// Begins an operation. Its writes can be undone separately.
  void begin_operation() noexcept {
    lack_ = nullptr;
    if (written_ == nullptr) return;
    written_->begin_operation();
    last_ = no_line;
  }
  /// Undoes the writes of the current operation. Does nothing without a write set.
  void undo_operation() {
    if (written_ == nullptr) return;
    written_->undo_operation([this](detail::line_number line, const detail::line_image& content) {
      void* const to = replica_ + line * base::cache_line_size;
      if (write_ != nullptr) {
        write_(to, content.data(), content.size());
      } else {
        std::memcpy(to, content.data(), content.size());
      }
    });
    last_ = no_line;
  }

 private:
  static constexpr detail::line_number no_line = ~detail::line_number{0};

  void note(std::size_t offset, std::size_t size) {
    if (written_ == nullptr) [[unlikely]] {
      if (unnoted_) return;
      refuse_store();
    }
    const detail::line_number first = offset / base::cache_line_size;
    const detail::line_number last = (offset + size - 1) / base::cache_line_size;
    if (first == last && first == last_) return;
    try {
      for (detail::line_number line = first; line <= last; ++line) {
        written_->touch(line, replica_ + line * base::cache_line_size);
      }
    } catch (...) {
      lack_ = std::current_exception();
      throw;
    }
    last_ = last;
  }
  [[noreturn, gnu::noinline]] static void refuse_store() {
    throw error(errc::refused, "", "a transaction that only reads stores to a field; use update()");
  }

  const void* engine_ = nullptr;
  std::byte* replica_ = nullptr;
  std::size_t bytes_ = 0;
  detail::write_set* written_ = nullptr;  // none: a reader, or unnoted_
  writer write_ = nullptr;
  provider provide_ = nullptr;
  detail::line_number last_ = no_line;  // that the current operation has noted
  bool unnoted_ = false;
  std::exception_ptr lack_;
};

namespace detail {

/// Returns the function with which `D` writes bytes of a replica; nullptr if that is a plain copy.
template <domain::persistence_domain D>
[[nodiscard]] constexpr transaction::writer writer_of() noexcept {
  if constexpr (std::is_base_of_v<domain::hardware_access, D>) {
    return nullptr;
  } else {
    return [](void* to, const void* from, std::size_t bytes) { D::write(to, from, bytes); };
  }
}

[[nodiscard]] inline transaction* current() {
  return static_cast<transaction*>(base::this_thread().transaction);
}

[[noreturn, gnu::noinline]] inline void refuse_outside() {
  throw error(errc::refused, "",
              "a field is stored to, or memory requested, outside of a transaction; use update()");
}

/// Makes `running` the transaction of the thread for the enclosing scope.
class running_scope {
 public:
  explicit running_scope(transaction& running)
      : context_(base::this_thread()), before_(context_.transaction) {
    context_.transaction = &running;
  }
  ~running_scope() { context_.transaction = before_; }
  running_scope(const running_scope&) = delete;
  running_scope& operator=(const running_scope&) = delete;

 private:
  base::thread_context& context_;
  void* before_;
};

}  // namespace detail

/// Returns the transaction that the calling thread runs. Throws error{refused} outside a
/// transaction.
[[nodiscard]] inline transaction& running() {
  transaction* const now = detail::current();
  if (now == nullptr) [[unlikely]]
    detail::refuse_outside();
  return *now;
}

}  // namespace outlast::tx
