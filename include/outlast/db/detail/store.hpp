// A durable ordered map of byte strings in one file: what LevelDB's classes stand on, without their
// names, so that it is compiled once for all of these.
#pragma once

#include <outlast/base/anonymous_memory.hpp>
#include <outlast/db/detail/changes.hpp>
#include <outlast/db/detail/key_order.hpp>
#include <outlast/db/detail/premises.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace outlast::store_detail {

enum class answer { found, absent, damaged };

/// A key, and its value with the checksum.
struct entry_view {
  std::string_view key;
  std::string_view stored;
};

/// A place among the keys of one moment. Used by one thread at a time.
class cursor {
 public:
  cursor() = default;
  cursor(const cursor&) = delete;
  cursor& operator=(const cursor&) = delete;
  virtual ~cursor() = default;

  [[nodiscard]] virtual bool is_valid() const = 0;
  /// Valid until it moves; is_valid() before.
  [[nodiscard]] virtual entry_view here() const = 0;
  virtual void seek_to_first() = 0;
  virtual void seek_to_last() = 0;
  /// To the first key that is not less than `key`.
  virtual void seek(std::string_view key) = 0;
  virtual void next() = 0;
  virtual void prev() = 0;
};

/// What a store held at one moment. Ends before the store.
/// Thread-safety: all members may be called concurrently.
class moment {
 public:
  moment() = default;
  moment(const moment&) = delete;
  moment& operator=(const moment&) = delete;
  virtual ~moment() = default;

  /// As store::get().
  [[nodiscard]] virtual answer get(std::string_view key, std::string& value, bool verify) const = 0;
  /// Nowhere at first.
  [[nodiscard]] virtual std::unique_ptr<cursor> iterate() const = 0;
};

/// How a store is opened.
struct store_options {
  std::string file;
  key_order order;
  /// By which another order is known; at most 1 MiB.
  std::string order_name;
  bool may_create = false;
  std::chrono::microseconds window{0};
  std::size_t capacity_bytes = 0;  ///< of a replica; when it is created
  unsigned replicas = 4;
  std::size_t page_bytes = 4096;  ///< of the heap in a replica; when it is created
  unsigned file_mode = 0;         ///< when it is created, as pool_options::file_mode
  /// Open a file that a crash of the machine may have torn.
  bool salvage = false;
};

/// An open store.
///
/// Thread-safety: all members may be called concurrently, but close().
/// Progress: tx::redo_opt's. Durability: where the medium is memory or persistent memory, all that
/// returned; on a disk what `sync` asks for, and the rest within the window. Kills lose nothing.
/// Errors: members throw `error` and, without effect, out_of_space and std::bad_alloc.
class store {
 public:
  store() = default;
  store(const store&) = delete;
  store& operator=(const store&) = delete;
  /// Writes nothing: without close() the file stays as a kill would leave it.
  virtual ~store() = default;

  /// `sync`: durable at return, and with it all that returned before.
  virtual void put(std::string_view key, std::string_view value, bool sync) = 0;
  virtual void erase(std::string_view key, bool sync) = 0;
  /// All at once.
  virtual void apply(changes&& all, bool sync) = 0;
  /// The same if the premises hold then; otherwise nothing, and false.
  [[nodiscard]] virtual bool apply_if(premises&& read, changes&& all, bool sync) = 0;
  [[nodiscard]] virtual bool holds(const premises& read) = 0;
  /// What has returned by now is durable at return.
  virtual void sync() = 0;
  /// `verify`: compares the checksum, and answers `damaged` if it is another. Changes `value` only
  /// if it is found.
  [[nodiscard]] virtual answer get(std::string_view key, std::string& value, bool verify) = 0;
  [[nodiscard]] virtual std::unique_ptr<moment> now() = 0;

  [[nodiscard]] virtual key_order order() const = 0;
  [[nodiscard]] virtual std::size_t keys() = 0;
  /// About how many bytes of a replica the keys from `from` on and before `to` take.
  [[nodiscard]] virtual std::uint64_t bytes_between(std::string_view from, std::string_view to) = 0;
  /// Gives back what ended moments have kept.
  virtual void collect() = 0;
  /// What is wrong with it; "" if nothing is. Visits everything.
  [[nodiscard]] virtual std::string check() = 0;
  /// Puts all keys that can still be read, and whose values are intact, into `to`, and answers how
  /// many these are. Believes no pointer that it follows.
  virtual std::size_t rescue(store& to) = 0;
  /// What it was opened with, and a store like it is made with.
  [[nodiscard]] virtual store_options shape() const = 0;
  /// What survives what, in a few sentences.
  [[nodiscard]] virtual std::string guarantee() const = 0;
  /// Bytes of one copy of the data, with what the store adds to them.
  [[nodiscard]] virtual std::size_t data_bytes() = 0;
  /// Bytes that its files take of the file system; 0 for a store in ordinary memory.
  [[nodiscard]] virtual std::size_t file_bytes() const = 0;
  /// Bytes of ordinary memory that copies of the data and of the log take, about.
  [[nodiscard]] virtual std::size_t volatile_bytes() = 0;
  /// Everything is durable at return, and the next opening is fast. Nothing else is called after.
  virtual void close() = 0;
};

/// Where a store lies, and so how it is durable.
enum class medium {
  memory,  ///< a file system in memory, or persistent memory: stores to a mapping survive
  disk,    ///< a device that has to be synced with
};

/// What lies under a directory. Throws error{io_failure, not_found}.
[[nodiscard]] medium medium_of(const std::string& directory);
/// Bytes of data for which a store is made there if nobody says: what is free, but 1 GiB at least
/// and 64 GiB at most. Throws as medium_of().
[[nodiscard]] std::size_t capacity_for(const std::string& directory);

/// Opens or creates. Throws what basic_pool::open() and create() throw; error{newer_version},
/// error{bad_argument} for another order's, error{root_type_mismatch}, corruption.
[[nodiscard]] std::unique_ptr<store> open_store(const store_options& wanted, medium on);

/// The file of the store's log, which is beside its own while it is open, and after a crash.
[[nodiscard]] std::string log_of(const std::string& file);

/// What rescue_store() did.
struct rescue_report {
  std::uint64_t keys = 0;  ///< that are there now
  std::string was_wrong;   ///< "": nothing was
};
/// Opens the store though it may be damaged, makes another one of what can be read, in `aside`, and
/// puts it in its place. After a crash the store is the old or the new one. Throws as
/// open_store(), and corruption if nothing can be read.
rescue_report rescue_store(const store_options& wanted, medium on, const std::string& aside);

/// Is told how many keys of about how many are done.
using progress_told = std::function<void(std::uint64_t done, std::uint64_t all)>;

/// Puts what `from` holds at one moment into `to`, and answers how many keys that are. Others may
/// write meanwhile. Durable once `to` is closed. Throws what these throw, and corruption at a value
/// that is not intact.
std::uint64_t copy_store(store& from, store& to, const progress_told& tell = {});

/// The file of a store in ordinary memory.
struct memory_file {
  base::anonymous_memory memory;
  std::size_t bytes = 0;  ///< 0: no store was made in it
};
/// Opens the store in a `file` that outlives it, or makes one. Throws as open_store().
[[nodiscard]] std::unique_ptr<store> open_memory_store(const store_options& wanted,
                                                       memory_file& file);

}  // namespace outlast::store_detail
