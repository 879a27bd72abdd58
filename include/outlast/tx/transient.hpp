// The engine without durability, for comparison: one replica in ordinary memory, and a mutex.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/tx/detail/request.hpp>
#include <outlast/tx/detail/write_set.hpp>
#include <outlast/tx/heap.hpp>
#include <outlast/tx/manager.hpp>
#include <outlast/tx/options.hpp>
#include <outlast/tx/transaction.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

namespace outlast::tx {

/// Transactions without durability. Benchmarks compare engines with it, with the same structures.
///
/// Thread-safety: all members may be called concurrently. Progress: blocking. Durability: none.
class transient : public detail::manager_calls<transient> {
 public:
  /// Creates an empty manager of `wanted.replica_bytes` bytes (0: 64 MiB). Throws std::bad_alloc.
  explicit transient(const options& wanted = {})
      : bytes_(wanted.replica_bytes != 0 ? wanted.replica_bytes : std::size_t{64} << 20),
        memory_(static_cast<std::byte*>(::operator new(bytes_, alignment))) {
    transaction formatting(this, memory_.get(), bytes_, written_, nullptr, nullptr);
    const detail::running_scope now(formatting);
    heap(formatting).format(wanted.page_bytes);
  }

 private:
  friend class detail::manager_calls<transient>;
  friend class detail::read_calls<transient>;

  static constexpr std::align_val_t alignment{4096};
  struct release {
    void operator()(std::byte* memory) const noexcept { ::operator delete(memory, alignment); }
  };

  [[nodiscard]] const void* id() const noexcept { return this; }
  [[nodiscard]] static std::string where() { return ""; }

  template <class Result, class F>
  Result run_update(F&& f) {
    detail::request_of<Result, std::remove_reference_t<F>> wanted(f);
    {
      const std::lock_guard lock(mutex_);
      written_.clear();
      transaction update(this, memory_.get(), bytes_, written_, nullptr, nullptr);
      wanted.run(update);
    }
    if (wanted.failure != nullptr) std::rethrow_exception(wanted.failure);
    return wanted.result();
  }

  template <class Result, class F>
  Result run_read(F&& f) {
    const std::lock_guard lock(mutex_);
    transaction reader(this, memory_.get(), bytes_);
    const detail::running_scope now(reader);
    return f(reader);
  }

  std::size_t bytes_;
  std::unique_ptr<std::byte, release> memory_;
  std::mutex mutex_;
  detail::write_set written_;
};

static_assert(transaction_manager<transient>);

}  // namespace outlast::tx
