// A pool: a file with named, typed roots whose contents survive the process.
//
//   auto pool = outlast::pool::open_or_create("/var/lib/app/state.pool");
//   ... objects of the higher layers attach their roots by name ...
//   pool.close();
//
// A pool is one file, mapped at an address that stays the same in each run. A pool can also be a
// DAX device without a file system (/dev/dax0.0). The device exists before the pool; the creation
// of a pool overwrites its contents. All other statements about files also apply to devices. A
// program finds an object in a pool by the name of its root. After a crash, an object is recovered
// when it is attached. The file and the domain determine the crashes that the data survive;
// guarantee() describes them.
//
// Domains: `outlast::pool` chooses the domain when it opens the file. `basic_pool<domain::process>`
// and other instances fix the instructions at compile time. A pool that was written under one
// domain can be opened under every other one.
//
// Closing: close() saves data that make the next opening fast, and marks the pool clean. A pool
// that is destroyed without close() stays dirty, as after a kill. No data are lost, and the next
// opening recovers the pool. Destructors write nothing.
//
// After a fork(), the child cannot use the pools of its parent. Their memory is not mapped in the
// child, every call throws error{forked}, and the parent keeps the lock.
//
// Internals: docs/formats/pool.md describes each byte of the file. It has two copies of the state
// (mark, boot, size, base address) in lines of their own. A directory of roots changes by single
// 8-byte stores. A table describes the regions, and a line per page serves the allocator. Every
// persistent access goes through the domain. The library contains the bodies for the usual domains.
// A program with its own domain includes outlast/pool/any_domain.hpp.
//
// Other processes can read lock-free structures of an open pool: outlast/pool/pool_reader.hpp.
//
// When not to use: for data that programs without this library must read, or that move to machines
// of another byte order. Export such data.
#pragma once

#include <outlast/base/anonymous_memory.hpp>
#include <outlast/base/error.hpp>
#include <outlast/base/outside_readers.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/domain/spin_lock.hpp>
#include <outlast/pool/backup_result.hpp>
#include <outlast/pool/format.hpp>
#include <outlast/pool/pages/page_space.hpp>
#include <outlast/pool/pool_options.hpp>
#include <outlast/pool/region.hpp>
#include <outlast/pool/root.hpp>
#include <outlast/pool/tables.hpp>
#include <outlast/pool/usage.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <vector>

namespace outlast {

namespace pool_detail {
struct backup_source;
class domain_registration;
class mapped_file;
struct opened_pool;
class redo_log;
}  // namespace pool_detail
template <domain::persistence_domain D>
class basic_pool_reader;
struct reader_options;
namespace pool_impl {
template <domain::persistence_domain D>
class reader_gate;
template <domain::persistence_domain D>
class region_table;
template <domain::persistence_domain D>
class root_directory;
}  // namespace pool_impl

/// An open pool.
///
/// Thread-safety: all members may be called concurrently, except close() and the destructor. During
/// these no other call may use the pool or an object in it.
/// Progress: all members belong to the control plane. Calls lock a mutex.
/// Errors: calls may throw `error`. They throw error{closed} after close(), and error{forked} in a
/// forked child.
/// Invariants:
///   I1  nothing of the pool changes before its dirty mark is durable, and the mark is clean only
///       after everything else is durable.
///   I2  one of the two state slots is always intact, and contains the last state or the one before
///       it.
///   I3  an entry of the directory is free, or its identity is complete and its pages contain its
///       index.
template <domain::persistence_domain D>
class basic_pool {
 public:
  using root_state = outlast::root_state;
  using attached_root = outlast::attached_root;

  /// Creates a pool. Never replaces a file. On a DAX device, replaces any contents that are not a
  /// pool; it does not replace a damaged pool. After a crash there is either the complete pool or
  /// none, and no file. The pool is durable at return. Throws error{already_exists, no_space,
  /// too_small, bad_argument, read_only, not_found, already_open, address_taken, refused}.
  [[nodiscard]] static basic_pool create(const std::string& path, const pool_options& options = {});

  /// Opens a pool and marks it dirty, durably.
  /// Throws error{not_found, not_a_pool, truncated, header_damaged, newer_version, foreign_machine,
  /// already_open, read_only, address_taken, torn_by_machine_crash, torn_by_copying, corrupted,
  /// refused, bad_argument, no_space}. A DAX device without a pool causes not_found. An option that
  /// does not match the pool causes bad_argument, with both values in the message. After an error
  /// the pool is unchanged, with two exceptions. Stores of a killed process may have been written
  /// back to the device. After no_space for `size_bytes`, a pool that was not closed may be in the
  /// state that another kill leaves. Throws out_of_space, with the same effect, if `size_bytes`
  /// needs more addresses than the process can have.
  [[nodiscard]] static basic_pool open(const std::string& path, const pool_options& options = {});

  /// Opens the pool if the file exists; otherwise creates it. Several threads and processes may
  /// call it concurrently. For a DAX device without a pool it acts as create().
  [[nodiscard]] static basic_pool open_or_create(const std::string& path,
                                                 const pool_options& options = {});

  /// Creates a pool without exceptions. After a failure, returns nullptr and sets `failed`. The
  /// next two functions do the same for open() and open_or_create().
  [[nodiscard]] static std::unique_ptr<basic_pool> try_create(const std::string& path,
                                                              const pool_options& options,
                                                              std::error_code& failed);
  [[nodiscard]] static std::unique_ptr<basic_pool> try_open(const std::string& path,
                                                            const pool_options& options,
                                                            std::error_code& failed);
  [[nodiscard]] static std::unique_ptr<basic_pool> try_open_or_create(const std::string& path,
                                                                      const pool_options& options,
                                                                      std::error_code& failed);

  /// Creates or opens a pool in the caller's memory, for the simulator, tests and scratch data.
  /// There is no file, no lock and no boot id. If `fresh` is true, formats the memory; otherwise
  /// attaches the pool in it. An existing pool may be at a new address if its roots can be
  /// relocated. A fresh pool fills the memory, unless options.capacity_bytes is set. In that case
  /// its first size is options.size_bytes, and it grows until it fills the memory.
  /// Requires: `memory` is aligned to a page and outlives the pool. With
  /// options.reserve_shadow_copy it has twice `bytes`; the second half is for the shadow
  /// copies.
  [[nodiscard]] static std::unique_ptr<basic_pool> in_memory(void* memory, std::size_t bytes,
                                                             bool fresh,
                                                             const pool_options& options = {});

  /// Opens a pool in a process that only reads it, while its writer uses it:
  /// outlast/pool/pool_reader.hpp, which has the body.
  template <class Reader = basic_pool_reader<D>>
  [[nodiscard]] static Reader open_reader(const std::string& path);
  template <class Reader = basic_pool_reader<D>>
  [[nodiscard]] static Reader open_reader(const std::string& path, const reader_options& options);

  basic_pool(const basic_pool&) = delete;
  basic_pool& operator=(const basic_pool&) = delete;

  /// Releases the mapping and the lock. Writes nothing: without close() the pool stays dirty.
  ~basic_pool();

  /// Runs the on_close() functions, newest first, destroys the services, makes everything durable,
  /// marks the pool clean, and releases the file. A second call does nothing. If a step throws, the
  /// pool is closed and stays dirty. Requires: objects in the pool are closed or idle.
  void close();

  /// Grows the pool to `size_bytes`, at most its capacity. Does nothing if the pool is larger. A
  /// pool that is full grows by itself, so that a call is useful only before space is needed.
  /// Durable at return. Throws error{bad_argument, no_space}, and out_of_space if the process
  /// cannot have more addresses after those of the pool.
  void grow(std::size_t size_bytes);

  /// Sets the limit of growth; 0 removes it. The limit can be below the present size: then the pool
  /// does not grow. Durable at return. Throws error{bad_argument} if the limit is larger than 8
  /// TiB, and error{refused} in a pool of format version 1, whose limit is fixed.
  void set_limit(std::size_t bytes);
  /// Returns the limit of growth; 0 if the pool grows to the end of the device.
  [[nodiscard]] std::size_t limit_bytes() const noexcept {
    return limit_bytes_.load(std::memory_order_relaxed);
  }

  /// Returns free pages to the file system, in ranges of 256 KiB or more, and cuts the free end of
  /// the file off. The pages of erased items become free if their span of 64 to 256 KiB has no
  /// block in use; other free blocks stay with their root. A pool with a log makes a checkpoint
  /// first. Other threads may use the pool during the call. close() also returns the pages that
  /// this process has freed, and drop_root() those of the root if the pool has no log. Throws
  /// corruption, error{io_failure}, out_of_space, std::bad_alloc.
  void trim();

  /// Returns a sentence about the crashes that the data of this pool survive.
  [[nodiscard]] std::string guarantee() const;
  /// Returns the domain whose guarantee the pool has: process, adr, cache_persistent, file,
  /// logged_file or simulated.
  [[nodiscard]] domain::kind survives() const noexcept { return effective_; }
  /// Throws error{refused} if the pool does not permit operations that are durable at return. The
  /// domains `file` and `logged_file` permit them only with options.per_operation_device_sync,
  /// because each operation costs a device sync. A structure with such operations must call this
  /// function before it attaches its root. The structures of the library do so.
  void require_per_operation_durability() const;

  /// Returns the path of the file, or "" for a pool in memory.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::size_t size_bytes() const {
    return state_size_.load(std::memory_order_relaxed);
  }
  /// Returns the size to which the pool can grow while it is open, provided that the addresses
  /// after it are free.
  [[nodiscard]] std::size_t capacity_bytes() const noexcept {
    const std::size_t limit = limit_bytes();
    return limit == 0 || limit > max_space_bytes_ ? max_space_bytes_ : limit;
  }
  /// Returns the number of bytes from base() for which the pool has reserved addresses. It never
  /// becomes less; a growth beyond it reserves more.
  [[nodiscard]] std::size_t address_space_bytes() const noexcept {
    return space_bytes_.load(std::memory_order_relaxed);
  }
  /// Returns the number of bytes from base() that the pool has now.
  [[nodiscard]] std::size_t mapped_bytes() const {
    return std::size_t{pages_->limit()} * pool_format::page_bytes;
  }
  /// Returns the size that a structure may assume which takes a share of the pool by default: the
  /// present size, or half of what the pool can grow to, up to 64 MiB.
  [[nodiscard]] std::size_t usual_bytes() const {
    if (!grows_tables()) return size_bytes();
    return std::max(size_bytes(), std::min(capacity_bytes() / 2, pool_options().size_bytes));
  }
  /// Returns true if recovery must skip damaged parts where that is possible.
  [[nodiscard]] bool salvages() const noexcept { return options_.salvage; }
  [[nodiscard]] bool shadow_on_media() const noexcept { return options_.shadow_on_media; }
  /// Returns the address of byte 0 of the pool.
  [[nodiscard]] std::uintptr_t base() const noexcept {
    return reinterpret_cast<std::uintptr_t>(base_);
  }
  [[nodiscard]] const std::array<std::uint8_t, 16>& uuid() const noexcept { return fixed_.uuid; }
  /// Returns true if the last user of the pool did not close it.
  [[nodiscard]] bool was_dirty() const noexcept { return was_dirty_; }
  [[nodiscard]] page_space<D>& pages() noexcept { return *pages_; }

  // ---- Roots ----

  /// Finds or creates the root `name` and attaches it until detach_root(). `fingerprint` identifies
  /// the type; `type_name` is its name in messages. Durable at return, but a crash before
  /// publish_root() removes a new root. Throws error{root_type_mismatch, already_open,
  /// address_taken, roots_exhausted, bad_argument} and corruption.
  [[nodiscard]] attached_root attach_root(std::string_view name, std::string_view type_name,
                                          std::uint64_t fingerprint, bool relocatable);
  /// Publishes a new root: from now on `object` is found by the name of the root. Durable at
  /// return.
  /// Requires: `object` is in this pool and is durable.
  void publish_root(std::uint32_t index, const void* object);
  /// Records that every pointer of the root is relative to base(). Durable at return. Requires: the
  /// pointers are durable.
  void root_relocated(std::uint32_t index);
  /// Detaches a root. If `occupancy_saved` is true, the next attach may use the saved occupancy. A
  /// root that was not published is removed with all its pages. May be repeated, for example at
  /// close() for a root whose object was destroyed earlier. Durable at return.
  void detach_root(std::uint32_t index, bool occupancy_saved);
  /// Calls the on_drop() functions, and then removes the root and all its pages. Operations on
  /// other roots may run during the call; it waits for buffered operations, and up to 100 ms for
  /// readers in other processes that read the root. Then it ends their operations. Other calls of
  /// the pool do not wait while the pages are freed; attach_root() of this name throws
  /// error{already_open} then. The call reads the page descriptors of this root. The first two
  /// calls in a process for roots that are older than the opening read those of all roots. Durable
  /// at return. If a crash interrupts the removal, the next opening completes it. Throws
  /// error{not_found} if there is no such root, error{already_open} while an object uses the root,
  /// and the exceptions of the on_drop() functions.
  void drop_root(std::string_view name);
  [[nodiscard]] std::vector<root_info> roots() const;
  /// Permits readers in other processes to read the content of the root, which is recovered, until
  /// the pool is opened again. Requires: the root is attached and published.
  void root_readable(std::uint32_t index);
  /// Returns the readers in other processes; nullptr if pool_options::max_readers is 0.
  [[nodiscard]] base::outside_readers* outside_readers() const noexcept;

  /// Returns the number of entries in the first chunk of the directory, which never changes.
  [[nodiscard]] std::uint32_t first_roots() const noexcept { return fixed_.root_count; }

  // ---- Regions ----

  /// Reserves a region. Its contents are zeros or arbitrary bytes. A region of 2 MiB or more must
  /// be committed before it is written. Durable at return. Throws out_of_space,
  /// error{already_exists, refused, roots_exhausted, bad_argument}.
  region_info reserve_region(std::string_view name, region_kind kind, std::size_t bytes,
                             unsigned replicas = 1);
  [[nodiscard]] std::optional<region_info> find_region(std::string_view name) const;
  [[nodiscard]] std::vector<region_info> regions() const;
  /// Allocates space on the file system for bytes of a replica. May be repeated. Throws
  /// out_of_space, error{not_found, bad_argument}.
  void commit_region(std::string_view name, unsigned replica, std::size_t offset,
                     std::size_t bytes);
  /// Returns a copy of the first replica of a region, read from the file. The region does not have
  /// to be resident in memory, and does not become so. Throws error{not_found, io_failure},
  /// std::bad_alloc.
  [[nodiscard]] base::anonymous_memory read_region(std::string_view name) const;
  /// Returns the space of the bytes to the file system, if it supports that. Afterwards the
  /// contents are arbitrary, and the bytes must be committed before they are written again. Throws
  /// error{not_found, bad_argument}.
  void uncommit_region(std::string_view name, unsigned replica, std::size_t offset,
                       std::size_t bytes);

  // ---- Events ----

  /// Registers an action that close() runs before it destroys the services and marks the pool
  /// clean. The newest action runs first. It may write to the pool.
  void on_close(std::function<void()> action);
  /// Registers an action that drop_root() calls with the name of the root before it removes the
  /// root. A service that keeps an unused root attached must call detach_root() in it. If the
  /// action throws, the root is not removed.
  void on_drop(std::function<void(std::string_view)> action);
  /// Registers an action that trim() runs first, while other threads use the pool. The action
  /// returns runs of pages that it does not need to pages(). Actions of two calls can overlap.
  void on_trim(std::function<void()> action);
  /// Registers an action that is called with the new number of bytes from base() before the pool
  /// grows. If the action throws, the pool does not grow. Calls the action with the present number
  /// first; if it throws, it is not registered. The action must not call the pool, except for
  /// address_space_bytes().
  void on_grow(std::function<void(std::size_t)> action);
  /// Registers an action that runs in the child after a fork(). The pool's memory does not exist
  /// there.
  void on_fork_child(std::function<void()> action);
  /// Returns the pool's only object of type `S`. The first call creates it with S(basic_pool&).
  /// close() or the destructor of the pool destroys the services, newest first. In a forked child
  /// their destructors never run. Requires: the destructor of `S` writes no persistent data.
  template <class S>
  [[nodiscard]] S& service();

  /// Returns the space of the pool by its roots and regions. Operations may run during the call;
  /// then the figures are of different moments. Reads one descriptor for each run and each free
  /// page. `live`: returns the bytes of the blocks in use of a run, or nothing if it is unknown to
  /// which the run belongs. Without it, only roots that are not attached and were closed have known
  /// blocks; outlast::roots::usage_of() passes the allocators of the attached ones. Throws
  /// corruption, std::bad_alloc.
  [[nodiscard]] pool_usage usage(
      const std::function<std::optional<std::uint64_t>(
          std::uint32_t first_page, pool_format::run_word run)>& live = {}) const;

  /// Checks the header, the state, the roots, the page runs and the regions. Only reads. Requires:
  /// no other call uses the pool.
  [[nodiscard]] std::vector<pool_format::finding> check() const;

  // ---- Backup ----

  /// Copies the pool to a new file while other threads use the pool. The copy has the state of one
  /// moment, as after a kill: it opens as a pool that was not closed, and each root is recovered.
  /// A buffered structure can lose its last epochs; call sync() of its clock first to include all
  /// earlier operations. Never replaces a file. The copy is durable at return. Stores of other
  /// threads wait for a bounded time; the result has the measured times. Until the return, no free
  /// pages return to the file system, and a system call must not write into the pool (EFAULT). No
  /// thread that uses the pool may block SIGSEGV. The copy of a pool with a log is one file without
  /// a log, and has all operations that were fenced before the call; fences wait for a checkpoint.
  /// Throws error{already_exists, no_space, io_failure, read_only, not_found, refused}. The last is
  /// thrown while another backup of the pool runs. After an error there is no copy, and the pool is
  /// unaffected, unless the device of its log has failed. Calls `progress` occasionally, with the
  /// number of bytes that are complete and of all. Its exceptions end the backup and are passed on.
  /// Requires: a pool in memory is not used during the call. `progress` does not use the pool.
  backup_result backup(
      const std::string& path,
      const std::function<void(std::uint64_t done, std::uint64_t all)>& progress = {}) const;
  /// Like the above, to a stream: calls `write` with the bytes of the copy in ascending order,
  /// holes as zeros. The chunks that other threads change before they are written need memory, and
  /// then space for a file without a name in the directory of the pool. Passes on the exceptions of
  /// `write`.
  backup_result backup(const std::function<void(const std::byte*, std::size_t)>& write) const;

 private:
  friend class basic_pool_reader<D>;

  struct service_entry {
    std::type_index type;
    std::unique_ptr<void, void (*)(void*)> object;
  };
  struct memory_image {
    std::byte* base;
    std::uint64_t bytes;
    pool_format::parsed_header header;
    bool is_fresh;
  };

  basic_pool(pool_detail::opened_pool&& opened, const std::string& path,
             const pool_options& options);
  basic_pool(const memory_image& image, const pool_options& options);

  using free_pages = typename page_space<D>::free_pages;

  static constexpr bool is_native = std::is_base_of_v<domain::native, D>;
  /// Throws error{refused} if the domain cannot be used for `path`.
  static void require_place(const std::string& path);
  [[nodiscard]] static pool_detail::opened_pool open_or_create_file(const std::string& path,
                                                                    const pool_options& options);
  template <class Make>
  [[nodiscard]] static std::unique_ptr<basic_pool> without_exceptions(Make&& make,
                                                                      std::error_code& failed);
  [[nodiscard]] static memory_image format_memory(void* memory, std::size_t bytes,
                                                  const pool_options& options);

  [[nodiscard]] pool_detail::backup_source source_of_backup() const;
  void choose_domain();
  void start(bool torn);
  void follow_options(bool created);
  void grow_as_wished(bool created);
  // ---- growth: impl/pool_growth.hpp ----
  [[nodiscard]] bool grow_for(std::uint32_t seen, std::uint32_t pages, std::uint32_t align_pages);
  [[nodiscard]] bool extend_to(std::uint64_t wanted_pages, std::uint64_t wanted_size = 0);
  void allocate_descriptors(std::uint32_t first, std::uint32_t end);
  [[nodiscard]] std::uint64_t chunks_fit(std::uint32_t limit, std::uint64_t end) const;
  [[nodiscard]] std::uint64_t most_pages() const noexcept;
  [[nodiscard]] std::string provide_space(std::uint64_t least_pages, std::uint64_t wanted_pages);
  void use_space(std::uint64_t bytes);
  [[nodiscard]] std::uint64_t with_chunks(std::uint64_t wanted_pages) const;
  void add_descriptors_below(std::uint64_t end_pages, std::uint64_t zeros_from);
  void add_descriptors(unsigned chunk, std::uint32_t first_page, std::uint64_t zeros_from);
  template <class Entry>
  [[nodiscard]] Entry* add_entries(pool_format::growth_table table, unsigned chunk,
                                   std::uint32_t count);
  void set_growth_word(pool_format::growth_table table, unsigned chunk, std::uint32_t page);
  void store_growth_word(std::atomic<std::uint64_t>& word, std::uint64_t value);
  [[nodiscard]] std::string remedy_if_full() const;
  static constexpr std::uint32_t min_cut_pages = 256;  // of a cut while other threads allocate
  /// A cut of the pool before that of the file.
  struct tail_cut {
    std::uint64_t bytes = 0;  // of the file, after the cut
    std::uint64_t generation = 0;
    bool needs_sync = false;
    // Parts of chunks that the pool retains: [first, end) of pages, claimed until the state is
    // durable.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> freed_chunks;
  };
  void cut_tail(std::uint32_t least_pages);
  [[nodiscard]] std::optional<tail_cut> shrink(std::uint32_t least_pages);
  [[nodiscard]] bool is_in_chunk_from(unsigned from, std::uint32_t page) const;
  [[nodiscard]] static std::pair<std::uint32_t, std::uint32_t> pages_of_chunk(
      const pool_format::table_chunk& chunk);
  [[nodiscard]] bool can_cut() const noexcept;
  void judge(bool torn) const;
  void sync_what_kills_survived(bool torn, std::uint32_t lines) const;
  [[nodiscard]] bool machine_went_on() const;
  void persist_what_a_kill_left(std::uint32_t lines);
  void mark_dirty();
  void mark_clean(std::uint32_t high_water);
  void require_salvageable() const;
  /// Opens the page space. Returns the number of pages that may have been used. After a clean
  /// close, no page from `high_water` on was in use.
  [[nodiscard]] std::uint32_t open_pages(std::uint32_t high_water);
  [[nodiscard]] typename page_space<D>::described_pages described_from(std::uint32_t page) const;
  [[nodiscard]] std::uint64_t require_range(std::string_view name, unsigned replica,
                                            std::size_t offset, std::size_t bytes) const;
  void commit_pages(std::uint32_t first, std::uint32_t count);
  void give_back_free_pages(free_pages which);
  template <class Pages>
  void give_back(Pages&& pages);
  [[nodiscard]] std::function<void()> settled() const;
  [[nodiscard]] std::uint32_t begin_drop(std::string_view name);
  [[nodiscard]] pool_detail::usage_count begin_count() const;
  void map_shadows();
  void map_shadow(const region_info& region);
  void write_state(const pool_format::state_slot& changed);
  [[nodiscard]] bool store_state(const pool_format::state_slot& changed);
  void sync_state(const pool_format::state_slot& before) const;
  void sync_size() const;
  void start_readers();
  void complete_upgrade();
  void forget_unfinished_chunks();
  [[nodiscard]] static bool same_state(const pool_format::state_slot& a,
                                       const pool_format::state_slot& b) noexcept;
  void record_file(std::uint64_t generation);
  void write_slot(pool_format::state_slot& slot, const pool_format::state_slot& value);
  void sync_data() const;
  void require_usable() const;
  /// Locks the mutex and returns the lock. Throws the errors of require_usable().
  [[nodiscard]] std::unique_lock<std::recursive_mutex> usable_alone() const;
  void run_close_actions();
  [[nodiscard]] std::vector<std::function<void(std::string_view)>> actions_before_drop() const;
  [[nodiscard]] std::vector<std::function<void()>> actions_before_trim() const;
  void destroy_services() noexcept;
  void release_resources() noexcept;
  [[nodiscard]] bool forked() const noexcept;

  [[nodiscard]] pool_format::header_page& header() const noexcept {
    return *reinterpret_cast<pool_format::header_page*>(base_);
  }
  template <class T>
  [[nodiscard]] T* at(std::uint64_t offset) const noexcept {
    return reinterpret_cast<T*>(base_ + offset);
  }
  [[nodiscard]] bool grows_tables() const noexcept {
    return fixed_.format_version != pool_format::version_1;
  }
  [[nodiscard]] std::uint32_t page_count() const {
    return pages_ ? pages_->limit() : tables_.pages;
  }

  std::string path_;
  pool_options options_;
  std::unique_ptr<pool_detail::mapped_file> file_;  // none: in memory
  std::unique_ptr<pool_detail::redo_log> log_;      // none: not under domain::logged_file
  std::byte* base_;
  std::uint64_t memory_bytes_ = 0;  // of a pool in memory
  pool_format::static_header fixed_;
  pool_format::state_slot state_;
  pool_format::pool_tables tables_;  // after the opening, guarded by growing_
  // Reserved addresses. Stored while growing_ is locked, before the limit of the pages is raised; a
  // thread that was given a page beyond the old limit therefore sees the new value.
  std::atomic<std::uint64_t> space_bytes_;
  const std::uint64_t max_space_bytes_;  // to which they can be extended
  std::atomic<std::uint64_t> limit_bytes_;
  std::atomic<std::uint64_t> state_size_;
  bool memory_has_zeros_ = false;  // beyond the pool in memory
  domain::spin_lock<D> cutting_;   // taken before growing_
  mutable domain::spin_lock<D> growing_;
  std::uint32_t cut_end_ = 0;  // pages below it may be marked as used; guarded by growing_
  std::string why_full_;       // of the last attempt to grow; guarded by growing_
  bool was_dirty_;
  domain::kind mapping_ = domain::kind::process;
  domain::kind instructions_ = domain::kind::process;
  domain::kind effective_ = domain::kind::process;
  std::unique_ptr<pool_detail::domain_registration> registration_;
  /// The descriptors that the file system had stored at the opening: their first pages and ends.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> stored_at_opening_;
  std::atomic<bool> is_as_opened_{false};  ///< no descriptor was stored since then
  std::unique_ptr<page_space<D>> pages_;
  std::unique_ptr<pool_impl::root_directory<D>> roots_;
  std::unique_ptr<pool_impl::region_table<D>> regions_;
  std::unique_ptr<pool_impl::reader_gate<D>> readers_;  // none: nullptr
  mutable std::recursive_mutex control_;
  std::atomic<std::uint32_t> reserving_{0};  // 1 and the slot of the thread that reserves a region
  std::uint32_t reserving_pages_ = 0;        // that thread's
  std::vector<std::function<void()>> close_actions_;
  std::vector<std::function<void(std::string_view)>> drop_actions_;
  std::vector<std::function<void()>> trim_actions_;
  std::vector<std::function<void(std::size_t)>> grow_actions_;
  std::vector<service_entry> services_;
  std::size_t services_in_the_making_ = 0;
  std::atomic<bool> closed_{false};
};

template <domain::persistence_domain D>
template <class S>
S& basic_pool<D>::service() {
  const auto lock = usable_alone();
  for (const service_entry& entry : services_) {
    if (entry.type == std::type_index(typeid(S))) return *static_cast<S*>(entry.object.get());
  }
  // Functions that a service has registered stay in the pool, so nothing may fail once it is made:
  // there is room for it, and for the services that its constructor makes.
  struct in_the_making {
    explicit in_the_making(std::size_t& of) : count(of) { ++count; }
    ~in_the_making() { --count; }
    std::size_t& count;
  } const counted(services_in_the_making_);
  services_.reserve(services_.size() + services_in_the_making_);
  auto made = std::make_unique<S>(*this);
  S& result = *made;
  services_.push_back({std::type_index(typeid(S)),
                       {made.release(), [](void* object) { delete static_cast<S*>(object); }}});
  return result;
}

/// A pool that chooses the instructions for its file when it is opened.
using pool = basic_pool<domain::native>;

}  // namespace outlast
