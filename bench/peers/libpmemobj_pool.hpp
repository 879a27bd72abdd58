// What others' library offers, as far as benchmarks use it: a pool, and transactions with an undo
// log.
#pragma once

#include <bench/adapters/temporary_pool.hpp>
#include <outlast/base/error.hpp>

#include <libpmemobj.h>

#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace outlast::bench {

/// Throws error{no_space} with what the library says.
[[noreturn]] inline void fail_in_libpmemobj() {
  throw error(errc::no_space, "", pmemobj_errormsg());
}

/// The library flushes only what it takes for persistent memory, and looks at this once: before its
/// first pool.
inline void force_libpmemobj_to_flush() {
  static const int forced = setenv("PMEM_IS_PMEM_FORCE", "1", 1);
  static_cast<void>(forced);
}

/// A pool of the library. Its file has no name once it is open.
class libpmemobj_pool {
 public:
  libpmemobj_pool(const std::filesystem::path& directory, std::size_t bytes) {
    force_libpmemobj_to_flush();
    const std::string path = unused_path(directory).string();
    pool_ = pmemobj_create(path.c_str(), "outlast-bench", bytes, S_IRUSR | S_IWUSR);
    if (pool_ == nullptr) fail_in_libpmemobj();
    std::filesystem::remove(path);
  }
  libpmemobj_pool(const libpmemobj_pool&) = delete;
  libpmemobj_pool& operator=(const libpmemobj_pool&) = delete;
  ~libpmemobj_pool() { pmemobj_close(pool_); }

  [[nodiscard]] PMEMobjpool* get() const noexcept { return pool_; }

 private:
  PMEMobjpool* pool_ = nullptr;
};

/// Everything between its construction and commit(), or nothing.
class libpmemobj_transaction {
 public:
  explicit libpmemobj_transaction(PMEMobjpool* pool) {
    if (pmemobj_tx_begin(pool, nullptr, TX_PARAM_NONE) != 0) fail_inside();
  }
  explicit libpmemobj_transaction(const libpmemobj_pool& pool)
      : libpmemobj_transaction(pool.get()) {}
  libpmemobj_transaction(const libpmemobj_transaction&) = delete;
  libpmemobj_transaction& operator=(const libpmemobj_transaction&) = delete;
  ~libpmemobj_transaction() {
    if (pmemobj_tx_stage() == TX_STAGE_WORK) pmemobj_tx_abort(ECANCELED);
    static_cast<void>(pmemobj_tx_end());
  }

  /// Uninitialised; flushed at the commit.
  [[nodiscard]] PMEMoid allocate(std::size_t bytes) { return made(pmemobj_tx_alloc(bytes, 0)); }
  [[nodiscard]] PMEMoid allocate_zeroed(std::size_t bytes) {
    return made(pmemobj_tx_zalloc(bytes, 0));
  }
  void free(PMEMoid block) {
    if (pmemobj_tx_free(block) != 0) fail_in_libpmemobj();
  }
  /// To be called before the bytes are changed, in the transaction that runs.
  static void will_change(const void* first, std::size_t bytes) {
    if (pmemobj_tx_add_range_direct(first, bytes) != 0) fail_in_libpmemobj();
  }
  template <class T>
  void will_change(T& changed) {
    will_change(&changed, sizeof changed);
  }
  /// Durable at return.
  void commit() { pmemobj_tx_commit(); }

 private:
  static PMEMoid made(PMEMoid block) {
    if (OID_IS_NULL(block)) fail_in_libpmemobj();
    return block;
  }
  [[noreturn]] static void fail_inside() {
    static_cast<void>(pmemobj_tx_end());
    fail_in_libpmemobj();
  }
};

}  // namespace outlast::bench
