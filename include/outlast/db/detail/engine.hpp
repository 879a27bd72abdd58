// A durable ordered map of byte strings in one file: what LevelDB's classes stand on, without their
// names, so that it is compiled once for all of these.
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
  /// A store that is there has that capacity at least, or is refused.
  bool asks_for_capacity = false;
  unsigned replicas = 4;
  std::size_t page_bytes = 4096;  ///< of the heap in a replica; when it is created
  unsigned file_mode = 0;         ///< when it is created, as pool_options::file_mode
  /// Open a file that a crash of the machine may have torn.
  bool salvage = false;
  /// Of a store that is opened to be read: whatever the order of its keys is called. They come as
  /// they lie, which is in their order, and what has to compare keys is refused.
  bool any_order = false;
};

/// What can still be read of a store.
struct rescue_counts {
  std::uint64_t keys = 0;            ///< that were kept
  std::uint64_t damaged_values = 0;  ///< whose keys were not kept
  std::uint64_t missing_keys = 0;    ///< that the store counts, and that were not found
};

/// What the space of one copy is used for, in bytes.
struct space_use {
  std::size_t live = 0;      ///< keys and values, with what the store adds to them
  std::size_t retained = 0;  ///< what moments see alone, and those did that collect() has not met
  std::size_t free = 0;      ///< the rest of what the store has room for
};

/// An open store.
///
/// Thread-safety: all members may be called concurrently, but close().
/// Progress: tx::redo_opt's. Durability: where the medium is memory or persistent memory, all that
/// returned; on a disk what `sync` asks for, and the rest within the window. Kills lose nothing.
/// Errors: members throw `error` and, without effect, out_of_space and std::bad_alloc.
class engine {
 public:
  engine() = default;
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;
  /// Writes nothing: without close() the file stays as a kill would leave it.
  virtual ~engine() = default;

  /// `sync`: durable at return, and with it all that returned before.
  virtual void put(std::string_view key, std::string_view value, bool sync) = 0;
  virtual void erase(std::string_view key, bool sync) = 0;
  /// All at once.
  virtual void apply(changes&& all, bool sync) = 0;
  /// The same if the read_set hold then; otherwise nothing, and false.
  [[nodiscard]] virtual bool apply_if(read_set&& read, changes&& all, bool sync) = 0;
  [[nodiscard]] virtual bool holds(const read_set& read) = 0;
  /// What has returned by now is durable at return.
  virtual void sync() = 0;
  /// `verify`: compares the checksum, and answers `damaged` if it is another. Changes `value` only
  /// if it is found.
  [[nodiscard]] virtual answer get(std::string_view key, std::string& value, bool verify) = 0;
  [[nodiscard]] virtual std::unique_ptr<moment> now() = 0;

  [[nodiscard]] virtual key_order order() const = 0;
  [[nodiscard]] virtual std::size_t keys() = 0;
  /// About how many bytes the keys from `from` on and before `to` have, with their values.
  [[nodiscard]] virtual std::uint64_t bytes_between(std::string_view from, std::string_view to) = 0;
  /// Gives back what ended moments have kept.
  virtual void collect() = 0;
  /// What is wrong with it; "" if nothing is. Visits everything.
  [[nodiscard]] virtual std::string check() = 0;
  /// Puts all keys that can still be read, and whose values are intact, into `to`. Believes no
  /// pointer that it follows.
  virtual rescue_counts rescue(engine& to) = 0;
  /// What it was opened with, and a store like it is made with.
  [[nodiscard]] virtual store_options shape() const = 0;
  /// What survives what, in a few sentences.
  [[nodiscard]] virtual std::string guarantee() const = 0;
  /// Visits what says where pages are in use, and what is retained.
  [[nodiscard]] virtual space_use space() = 0;
  /// Bytes of one copy of the data, with what the store adds to them and what it retains. As
  /// space().
  [[nodiscard]] std::size_t data_bytes() {
    const space_use all = space();
    return all.live + all.retained;
  }
  /// Bytes that its files take of the file system; 0 for a store in ordinary memory.
  [[nodiscard]] virtual std::size_t file_bytes() const = 0;
  /// The same of its log alone.
  [[nodiscard]] virtual std::size_t log_bytes() const = 0;
  /// Bytes of ordinary memory that copies of the data take, and writes.
  [[nodiscard]] virtual std::size_t volatile_bytes() = 0;
  /// Bytes of ordinary memory that the last writes take alone, until others have followed.
  [[nodiscard]] virtual std::size_t ring_bytes() const = 0;
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
[[nodiscard]] std::unique_ptr<engine> open_store(const store_options& wanted, medium on);

/// Opens a store to be read: its files stay as they are, and what a crash has left to be completed
/// is completed in memory. Writes throw error{read_only}. `examine`: check() examines its pool,
/// too. Throws as open_store(), error{not_found}.
[[nodiscard]] std::unique_ptr<engine> open_to_read(const store_options& wanted, medium on,
                                                   bool examine = false);

/// The file of the store's log, which is beside its own while it is open, and after a crash.
[[nodiscard]] std::string log_of(const std::string& file);

/// What rescue_store() did.
struct rescue_report {
  rescue_counts found;
  std::string was_wrong;              ///< "": nothing was
  std::vector<std::string> left_out;  ///< what of the files could not be used, in sentences
  std::string kept;                   ///< where the files are that were replaced
};
/// Makes another store of what can be read of one that may be damaged, in `aside`, and puts it in
/// its place; the files that it replaces are kept, as they were, in the folder `lost` beside it.
/// Until then it changes nothing. After a crash settle_store() makes of it the old store or the
/// new one. Throws as open_to_read(), corruption if nothing can be read, error{no_space} if there
/// is no room for a second store.
rescue_report rescue_store(const store_options& wanted, medium on, const std::string& aside);

/// Where the files are that repairs of the store in `file` have replaced.
[[nodiscard]] std::string kept_files_of(const std::string& file);
/// The files there that a repair has put there, as paths.
[[nodiscard]] std::vector<std::string> list_kept_files(const std::string& file);
/// A new store that a repair has completed, while it takes the place of the old one.
[[nodiscard]] std::string completed_of(const std::string& file);
/// Is that the name of a file that a crash has left before it got its own?
[[nodiscard]] bool is_unfinished_file(std::string_view name);
/// Completes, or takes back, what a crash has cut off: removes `leftovers`, the files of stores
/// that were never completed, and others beside them that were not, and what a repair of the store
/// in `file` has left, which may not be there. The caller is alone. Throws error{io_failure}.
void settle_store(const std::string& file, const std::vector<std::string>& leftovers);

/// Is told how many keys of about how many are done.
using progress_told = std::function<void(std::uint64_t done, std::uint64_t all)>;

/// Makes the store `wanted` of what `from` holds at one moment, closes it, and answers how many
/// keys that are. Others may write meanwhile. Its capacity may exceed that of `wanted`: the same
/// keys may take more space in it. Then `tell` counts from zero again. Throws what
/// these throw, and corruption at a value that is not intact. `make` makes an empty store, `remove`
/// removes one that did not get everything.
std::uint64_t copy_store(engine& from, store_options wanted,
                         const std::function<std::unique_ptr<engine>(const store_options&)>& make,
                         const std::function<void()>& remove, const progress_told& tell = {});

/// The file of a store in ordinary memory.
struct memory_file {
  base::anonymous_memory memory;
  std::size_t bytes = 0;  ///< 0: no store was made in it
};
/// Opens the store in a `file` that outlives it, or makes one. Throws as open_store().
[[nodiscard]] std::unique_ptr<engine> open_memory_store(const store_options& wanted,
                                                        memory_file& file);

}  // namespace outlast::store_detail
