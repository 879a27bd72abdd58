// The transaction in which user code runs, as fields and the allocator see it.
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

/// What user code of one operation works on: a replica, its own but for readers.
///
/// Engines make one and let it run; user code meets it through fields, pointers and alloc() only.
/// Loads are plain loads. Stores go through store(), which notes the line and writes in place.
/// Thread-safety: used by the thread that runs the operation.
class transaction {
 public:
  /// How bytes of a replica are written. Null: they are simply copied.
  using writer = void (*)(void* to, const void* from, std::size_t bytes);
  /// Makes the first `bytes` of every replica exist on the file system. Throws out_of_space.
  using provider = void (*)(void* engine, std::size_t bytes);

  transaction() = default;

  /// For an update of the `bytes` at `replica`, noted in `written`.
  transaction(const void* engine, std::byte* replica, std::size_t bytes, detail::write_set& written,
              writer write, provider provides) noexcept
      : engine_(engine),
        replica_(replica),
        bytes_(bytes),
        written_(&written),
        write_(write),
        provide_(provides) {}
  /// For an update whose writes nobody notes: it cannot be undone.
  transaction(const void* engine, std::byte* replica, std::size_t bytes, provider provides) noexcept
      : engine_(engine), replica_(replica), bytes_(bytes), provide_(provides), unnoted_(true) {}
  /// For a reader.
  transaction(const void* engine, const std::byte* replica, std::size_t bytes) noexcept
      : engine_(engine), replica_(const_cast<std::byte*>(replica)), bytes_(bytes) {}

  /// Stores `size` bytes. Outside of the replica it just copies: objects on the stack may have
  /// fields. Throws error{refused} in a reader, std::bad_alloc without effect.
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

  /// The `size` bytes at `at` are about to be written, be it past store(): for constructors.
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
  /// The first `bytes` of the replica are about to be used. Throws out_of_space.
  void provide(std::size_t bytes) {
    if (provide_ == nullptr) return;
    try {
      provide_(const_cast<void*>(engine_), bytes);
    } catch (...) {
      lack_ = std::current_exception();
      throw;
    }
  }
  /// The region is full, as `why` says. Where blocks lie differently in each replica, another one
  /// may have room.
  void region_is_full(const std::exception_ptr& why) noexcept {
    if (unnoted_) lack_ = why;
  }
  /// What the current operation has lacked that it might find in another replica, or another time;
  /// null: nothing. It fails for that, whatever it does itself: replicas stay equal.
  [[nodiscard]] const std::exception_ptr& lack() const noexcept { return lack_; }

  /// What is written from here on can be undone alone.
  void begin_operation() noexcept {
    lack_ = nullptr;
    if (written_ == nullptr) return;
    written_->begin_operation();
    last_ = no_line;
  }
  /// Takes back what the current operation has written, as far as that is noted.
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

/// How `D` writes bytes of a replica; null where that is a copy.
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
              "a field is stored to, or memory asked for, outside of a transaction; use update()");
}

/// User code of `running` runs in the enclosing scope.
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

/// The transaction that the calling thread runs. Throws error{refused} outside of one.
[[nodiscard]] inline transaction& running() {
  transaction* const now = detail::current();
  if (now == nullptr) [[unlikely]]
    detail::refuse_outside();
  return *now;
}

}  // namespace outlast::tx
