// Our transactions' structures over the undo log of others' library.
#pragma once

#include <bench/peers/libpmemobj_pool.hpp>
#include <outlast/tx/detail/request.hpp>
#include <outlast/tx/detail/write_set.hpp>
#include <outlast/tx/heap.hpp>
#include <outlast/tx/manager.hpp>
#include <outlast/tx/options.hpp>
#include <outlast/tx/transaction.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <type_traits>

namespace outlast::bench {

/// A transaction manager: one copy of the data in a block of the library's, behind a lock; each
/// store is noted in its undo log, as its own annotated types do. The heap is ours: the library's
/// would add its own cost to each allocation.
///
/// Thread-safety: all members may be called concurrently. Progress: blocking; readers share.
class libpmemobj_manager : public tx::detail::manager_calls<libpmemobj_manager> {
 public:
  /// An empty manager of `wanted.replica_bytes` bytes.
  libpmemobj_manager(const std::filesystem::path& directory, const tx::options& wanted)
      : bytes_(wanted.replica_bytes), pool_(directory, 2 * bytes_ + more_bytes) {
    PMEMoid memory = OID_NULL;
    if (pmemobj_zalloc(pool_.get(), &memory, bytes_ + page_bytes, 0) != 0) fail_in_libpmemobj();
    const auto first = reinterpret_cast<std::uintptr_t>(pmemobj_direct(memory));
    memory_ = reinterpret_cast<std::byte*>((first + page_bytes - 1) & ~(page_bytes - 1));
    libpmemobj_transaction all(pool_);
    tx::transaction formatting = writing();
    const tx::detail::running_scope now(formatting);
    tx::heap(formatting).format(wanted.page_bytes);
    all.commit();
  }

 private:
  friend class tx::detail::manager_calls<libpmemobj_manager>;
  friend class tx::detail::read_calls<libpmemobj_manager>;

  static constexpr std::size_t more_bytes = std::size_t{64} << 20;
  static constexpr std::uintptr_t page_bytes = 4096;

  [[nodiscard]] const void* id() const noexcept { return this; }
  [[nodiscard]] static std::string where() { return ""; }

  [[nodiscard]] tx::transaction writing() {
    return {this, memory_, bytes_, written_, note_and_write, nullptr};
  }
  static void note_and_write(void* to, const void* from, std::size_t bytes) {
    libpmemobj_transaction::will_change(to, bytes);
    std::memcpy(to, from, bytes);
  }

  template <class Result, class F>
  Result run_update(F&& f) {
    tx::detail::request_of<Result, std::remove_reference_t<F>> wanted(f);
    {
      const std::lock_guard lock(mutex_);
      written_.clear();
      libpmemobj_transaction all(pool_);
      tx::transaction update = writing();
      wanted.run(update);
      all.commit();
    }
    if (wanted.failure != nullptr) std::rethrow_exception(wanted.failure);
    return wanted.result();
  }

  template <class Result, class F>
  Result run_read(F&& f) {
    const std::shared_lock lock(mutex_);
    tx::transaction reader(this, memory_, bytes_);
    const tx::detail::running_scope now(reader);
    return f(reader);
  }

  std::size_t bytes_;
  libpmemobj_pool pool_;
  std::byte* memory_ = nullptr;
  std::shared_mutex mutex_;
  tx::detail::write_set written_;
};

}  // namespace outlast::bench
