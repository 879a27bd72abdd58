// A durable ordered map of byte strings in one file. LevelDB's classes are built on it. It does not
// use their namespace, so that it is compiled only once.
#pragma once

#include <outlast/base/anonymous_memory.hpp>
#include <outlast/db/detail/changes.hpp>
#include <outlast/db/detail/key_order.hpp>
#include <outlast/db/detail/read_set.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::store_detail {

/// Name of the order of bytes in stores.
inline constexpr const char* name_of_byte_order = "leveldb.BytewiseComparator";

enum class lookup_status { found, absent, damaged };

struct entry_view {
  std::string_view key;
  std::string_view value;
};

/// A position among the keys of a snapshot. Requires: one thread at a time uses it.
class cursor {
 public:
  cursor() = default;
  cursor(const cursor&) = delete;
  cursor& operator=(const cursor&) = delete;
  virtual ~cursor() = default;

  [[nodiscard]] virtual bool is_valid() const = 0;
  /// Returns the current entry, which exists until the cursor moves. Requires: is_valid().
  [[nodiscard]] virtual entry_view here() const = 0;
  /// Returns whether the current entry matches its checksum. Requires: is_valid().
  [[nodiscard]] virtual bool is_intact() const = 0;
  virtual void seek_to_first() = 0;
  virtual void seek_to_last() = 0;
  /// Moves to the first key that is not before `key`.
  virtual void seek(std::string_view key) = 0;
  virtual void next() = 0;
  virtual void prev() = 0;
};

/// A snapshot of a store. Requires: it is destroyed before the store.
/// Thread-safety: all members may be called concurrently.
class snapshot {
 public:
  snapshot() = default;
  snapshot(const snapshot&) = delete;
  snapshot& operator=(const snapshot&) = delete;
  virtual ~snapshot() = default;

  /// Reads from the snapshot, as store::get() does from the store.
  [[nodiscard]] virtual lookup_status get(std::string_view key, std::string& value,
                                          bool verify) const = 0;
  /// Returns a cursor that is initially invalid.
  [[nodiscard]] virtual std::unique_ptr<cursor> iterate() const = 0;
};

/// The structure of a store's data.
enum class engine_kind {
  automatic,  ///< that of the existing store; `records` for a new one
  replicas,   ///< a B+-tree in several copies, whose writers are wait-free
  records,    ///< a log of records with an index, whose writers run in parallel
};

/// Options for opening a store.
struct store_options {
  std::string file;
  engine_kind kind = engine_kind::automatic;
  /// Returns the engine of the store if it does not exist yet.
  [[nodiscard]] engine_kind kind_of_new() const noexcept {
    return kind == engine_kind::automatic ? engine_kind::records : kind;
  }
  key_order order;
  /// Name of the order, stored with the data. At most 1 MiB.
  std::string order_name;
  bool may_create = false;
  std::chrono::microseconds max_unsynced_time{0};
  std::size_t capacity_bytes = 0;  ///< capacity of a replica; for a new store
  /// If true, an existing store with a smaller capacity is rejected.
  bool asks_for_capacity = false;
  unsigned replicas = 4;
  std::size_t page_bytes = 4096;  ///< page size of a replica's heap; for a new store
  unsigned file_mode = 0;         ///< pool_options::file_mode; for a new store
  /// If true, a file that a machine crash may have torn is accepted.
  bool salvage = false;
  bool keeps_index = false;  ///< an index of records outlives the process
  bool new_index = false;    ///< an index that was left is not used
  /// If true, a store that is opened for reading may have an order of any name. Cursors return the
  /// keys in their stored order. An operation that must compare keys is rejected.
  bool any_order = false;
};

/// The numbers of entries that a repair has found.
struct repair_counts {
  std::uint64_t keys = 0;            ///< keys that were kept
  std::uint64_t damaged_values = 0;  ///< damaged values, whose keys were not kept
  std::uint64_t missing_keys = 0;    ///< keys that the store counts and that were not found
};

/// Use of the space of one copy, in bytes.
struct space_use {
  std::size_t live = 0;      ///< keys and values, with the overhead of the store
  std::size_t retained = 0;  ///< data that only snapshots use, or used before the last collect()
  std::size_t free = 0;      ///< the rest of the capacity
};

/// An open store.
///
/// Thread-safety: all members may be called concurrently, except close().
/// Progress: with `replicas`, the same as that of tx::redo_opt. With `records`, a write waits for
/// other writes of the same keys, and reads wait while a page of the index changes.
/// Durability: in memory and on persistent memory, every write is durable at return. On a disk, a
/// write with `sync` is durable at return, and other writes are durable after
/// store_options::max_unsynced_time. A killed process loses no write.
/// Errors: members throw `error`. They also throw out_of_space and std::bad_alloc, without effect.
class engine {
 public:
  engine() = default;
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;
  /// Writes nothing. Without close() the file is in the state that a kill leaves.
  virtual ~engine() = default;

  /// Sets the value of `key`. If `sync` is true, this write and all earlier ones are durable at
  /// return.
  virtual void put(std::string_view key, std::string_view value, bool sync) = 0;
  virtual void erase(std::string_view key, bool sync) = 0;
  /// Applies all changes atomically.
  virtual void apply(changes&& all, bool sync) = 0;
  /// Applies all changes atomically if the store still matches `read`. Otherwise returns false,
  /// without effect.
  [[nodiscard]] virtual bool apply_if(read_set&& read, changes&& all, bool sync) = 0;
  [[nodiscard]] virtual bool holds(const read_set& read) = 0;
  /// Makes all writes durable that returned before the call.
  virtual void sync() = 0;
  /// Copies the value of `key` to `value`, which changes only if the key is found. If `verify` is
  /// true and the checksum does not match, returns `damaged`.
  [[nodiscard]] virtual lookup_status get(std::string_view key, std::string& value,
                                          bool verify) = 0;
  [[nodiscard]] virtual std::unique_ptr<snapshot> take_snapshot() = 0;

  [[nodiscard]] virtual key_order order() const = 0;
  [[nodiscard]] virtual std::size_t keys() = 0;
  /// Returns the approximate number of bytes of the keys from `from` (inclusive) to `to`
  /// (exclusive) and their values.
  [[nodiscard]] virtual std::uint64_t bytes_between(std::string_view from, std::string_view to) = 0;
  /// Releases the space of ended snapshots.
  virtual void collect() = 0;
  /// Checks the whole store. Returns a description of the damage, or "" if there is none.
  [[nodiscard]] virtual std::string check() = 0;
  /// Puts all readable keys with intact values into `to`. Validates each pointer before it is
  /// followed.
  virtual repair_counts repair_into(engine& to) = 0;
  /// Returns the options of this store. They create an equal store.
  [[nodiscard]] virtual store_options shape() const = 0;
  /// Returns a description of the crashes that the data survive.
  [[nodiscard]] virtual std::string guarantee() const = 0;
  /// Returns the use of the space. Visits the metadata of pages and the retained blocks.
  [[nodiscard]] virtual space_use space() = 0;
  /// Returns the bytes of one copy of the data, with the overhead of the store and with retained
  /// data. Costs as much as space().
  [[nodiscard]] std::size_t data_bytes() {
    const space_use all = space();
    return all.live + all.retained;
  }
  /// Returns the bytes that the files occupy in the file system, or 0 for a store in memory.
  [[nodiscard]] virtual std::size_t file_bytes() const = 0;
  /// Returns the bytes that the log occupies in the file system.
  [[nodiscard]] virtual std::size_t log_bytes() const = 0;
  /// Returns the bytes of ordinary memory that copies of the data and writes occupy.
  [[nodiscard]] virtual std::size_t volatile_bytes() = 0;
  /// Returns the bytes of ordinary memory that the latest writes occupy until later ones replace
  /// them.
  [[nodiscard]] virtual std::size_t ring_bytes() const = 0;
  /// Returns whether the opening has used the index of an earlier process.
  virtual bool has_reopened_index() const { return false; }
  /// Makes everything durable and the next opening fast. Requires: no other call during or after
  /// it.
  virtual void close() = 0;
};

/// Kind of the medium of a store, which determines its durability.
enum class medium {
  memory,  ///< a file system in memory, or persistent memory: stores to a mapping survive
  disk,    ///< a device; data are durable after a sync
};

/// Returns the medium of a directory. Throws error{io_failure, not_found}.
[[nodiscard]] medium medium_of(const std::string& directory);
/// Returns the default capacity in bytes of a new store in a directory: the free space of the file
/// system, but at least 1 GiB and at most 64 GiB. Throws the errors of medium_of().
[[nodiscard]] std::size_t capacity_for(const std::string& directory);

/// Opens or creates a store. Throws the errors of basic_pool::open() and create(),
/// error{newer_version}, error{bad_argument} if the store has another order,
/// error{root_type_mismatch}, corruption.
[[nodiscard]] std::unique_ptr<engine> open_store(const store_options& wanted, medium on);

/// Opens a store for reading. Does not change its files; after a crash, recovery takes place in
/// memory. Writes throw error{read_only}. If `examine` is true, check() also checks the pool.
/// Throws the errors of open_store(), and error{not_found}.
[[nodiscard]] std::unique_ptr<engine> open_to_read(const store_options& wanted, medium on,
                                                   bool examine = false);

/// Returns the path of the store's log. The log exists while the store is open, and after a crash.
[[nodiscard]] std::string log_of(const std::string& file);

/// The result of repair_store().
struct repair_report {
  repair_counts found;
  std::string was_wrong;              ///< the damage; "" if there was none
  std::vector<std::string> left_out;  ///< descriptions of the unusable parts of the files
  std::string kept;                   ///< directory of the replaced files
};
/// Builds a new store in `aside` from the readable data of a store that may be damaged, and then
/// replaces the old one. Moves the replaced files, unchanged, to the folder `lost` in the same
/// directory. Changes nothing before the replacement. After a crash, settle_store() restores the
/// old store or completes the new one. Throws the errors of open_to_read(), corruption if no data
/// can be read, error{no_space} if there is no space for a second store.
repair_report repair_store(const store_options& wanted, medium on, const std::string& aside);

/// Returns the directory of the files that repairs of the store in `file` have replaced.
[[nodiscard]] std::string kept_files_of(const std::string& file);
/// Returns the paths of the files in that directory that come from repairs.
[[nodiscard]] std::vector<std::string> list_kept_files(const std::string& file);
/// Returns the path of a repaired store that is complete and has not yet replaced the old one.
[[nodiscard]] std::string completed_of(const std::string& file);
/// Returns true if `name` is the temporary name of a file whose creation a crash has interrupted.
[[nodiscard]] bool is_unfinished_file(std::string_view name);
/// Completes or undoes the steps that a crash has interrupted. Removes `leftovers`, the files of
/// incomplete stores, other incomplete files in their directories, and the remains of a repair of
/// the store in `file`, which may be missing. Throws error{io_failure}. Requires: no other thread
/// or process uses the store.
void settle_store(const std::string& file, const std::vector<std::string>& leftovers);

/// Called with the number of keys processed and an estimate of the total.
using progress_callback = std::function<void(std::uint64_t done, std::uint64_t all)>;

/// Creates the store `wanted` with the contents of `from` at one point in time, closes it, and
/// returns its number of keys. Other threads may write to `from` during the call. `make` creates an
/// empty store; `remove` removes an incomplete one. The capacity may exceed that of `wanted`,
/// because the same keys may need more space in the new store. In that case `tell` counts from zero
/// again. Throws the errors of these functions, and corruption if a value does not match its
/// checksum.
std::uint64_t copy_store(engine& from, store_options wanted,
                         const std::function<std::unique_ptr<engine>(const store_options&)>& make,
                         const std::function<void()>& remove,
                         const progress_callback& progress = {});

/// Moves the store in `wanted.file` to the engine `wanted.kind`, by way of a new store in `aside`.
/// Returns the number of keys. The old store is replaced when the new one is durable, and then
/// removed. After a crash settle_store() restores the old store or completes the new one; a crash
/// just before the end leaves the old one in kept_files_of(). Changes nothing if the store has that
/// engine. Throws the errors of open_to_read(), open_store() and copy_store(), error{no_space}.
std::uint64_t convert_store(const store_options& wanted, medium on, const std::string& aside,
                            const progress_callback& progress = {});

/// The file of a store in memory.
struct memory_file {
  base::anonymous_memory memory;
  std::size_t bytes = 0;  ///< 0 if no store was created in it
};
/// Opens the store in `file`, or creates one. Throws the errors of open_store(). Requires: `file`
/// outlives the store.
[[nodiscard]] std::unique_ptr<engine> open_memory_store(const store_options& wanted,
                                                        memory_file& file);

}  // namespace outlast::store_detail
