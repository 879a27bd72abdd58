// Named, typed roots in a file: the bytes that survive.
//
//   auto pool = outlast::pool::open_or_create("/var/lib/app/state.pool");
//   ... objects of the higher layers attach their roots by name ...
//   pool.close();
//
// A pool is one file, mapped at an address of its own that stays the same from run to run; or a DAX
// device without a file system (/dev/dax0.0), of which everything said of files holds, but that
// it is there before and after: there is no pool on it until one is created over what it holds.
// Objects in it are found by the names of their roots. Each object is recovered when it is
// attached after a crash. How much survives what depends on the file and on the domain;
// guarantee() says it in words.
//
// Which domain? `outlast::pool` finds out when it opens the file. `basic_pool<domain::process>`
// and the others fix the instructions at compile time; what is written under one can be opened
// under all.
//
// Closing. close() saves what makes the next opening fast and marks the pool clean. A pool that is
// destroyed without close() stays dirty, as after a kill: nothing is lost, and the next opening
// recovers. Destructors write nothing.
//
// fork(). The child has no part in its parent's pools: their memory is not mapped there, every call
// throws error{forked}, and the lock stays with the parent.
//
// Internals: docs/formats/pool.md says what each byte of the file means. Two copies of the state
// (mark, boot, size, base address) in lines of their own; a directory of roots whose entries
// change by single 8-byte stores; a table of regions; a line per page for the allocator.
// Everything persistent goes through the domain. The bodies are compiled once for each usual
// domain, in the library; a program with a domain of its own includes outlast/pool/any_domain.hpp.
//
// When not to use: for data that must be read by other programs or moved to machines of another
// byte order; export it.
#pragma once

#include <outlast/base/anonymous_memory.hpp>
#include <outlast/base/error.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/pool/format.hpp>
#include <outlast/pool/pages/page_space.hpp>
#include <outlast/pool/pool_options.hpp>
#include <outlast/pool/region.hpp>
#include <outlast/pool/root.hpp>

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
class domain_registration;
class mapped_file;
struct opened_pool;
class redo_log;
}  // namespace pool_detail
namespace pool_impl {
template <domain::persistence_domain D>
class region_table;
template <domain::persistence_domain D>
class root_directory;
}  // namespace pool_impl

/// One pool.
///
/// Thread-safety: all members may be called concurrently, except close() and destruction, during
/// which nothing else may use the pool or an object in it. All of it is control plane: calls take
/// a mutex, and may throw `error`; after close() they throw error{closed}, in a forked child
/// error{forked}.
/// Invariants:
///   I1  nothing of the pool changes before its dirty mark is durable, and the mark is clean only
///       after everything else is durable.
///   I2  one of the two state slots is intact at any moment, and says what the last change said or
///       what the one before did.
///   I3  an entry of the directory is free, or its identity is complete and its pages carry its
///       index.
template <domain::persistence_domain D>
class basic_pool {
 public:
  using root_state = outlast::root_state;
  using attached_root = outlast::attached_root;

  /// Creates a pool. Never replaces a file. Crash-safe: the complete pool is there, durably, or no
  /// file. On a DAX device replaces whatever is no pool, not even a damaged one, and is crash-safe
  /// too: a complete pool or none. Throws error{already_exists, no_space, too_small, bad_argument,
  /// read_only, not_found, already_open, address_taken, refused}.
  [[nodiscard]] static basic_pool create(const std::string& path, const pool_options& options = {});

  /// Opens a pool and marks it dirty, durably. A DAX device without a pool is error{not_found}; an
  /// option that the pool cannot meet is error{bad_argument}, which names both values.
  /// Throws error{not_found, not_a_pool, truncated,
  /// header_damaged, newer_version, foreign_machine, already_open, read_only, address_taken,
  /// torn_by_machine_crash, torn_by_copying, corrupted, refused, bad_argument, no_space}, and then
  /// has changed nothing, but that what a killed opener left may have reached the device; where the
  /// size that was asked for has no room, a pool that was not closed may stay as another kill
  /// leaves it.
  [[nodiscard]] static basic_pool open(const std::string& path, const pool_options& options = {});

  /// Opens the pool if the file exists, otherwise creates it; also while others do the same. On a
  /// DAX device that holds no pool create() decides.
  [[nodiscard]] static basic_pool open_or_create(const std::string& path,
                                                 const pool_options& options = {});

  /// The same without exceptions: null and the reason where it fails.
  [[nodiscard]] static std::unique_ptr<basic_pool> try_create(const std::string& path,
                                                              const pool_options& options,
                                                              std::error_code& failed);
  [[nodiscard]] static std::unique_ptr<basic_pool> try_open(const std::string& path,
                                                            const pool_options& options,
                                                            std::error_code& failed);
  [[nodiscard]] static std::unique_ptr<basic_pool> try_open_or_create(const std::string& path,
                                                                      const pool_options& options,
                                                                      std::error_code& failed);

  /// A pool in the caller's memory, aligned to a page, which outlives it: for the simulator,
  /// tests and scratch data. `fresh`: formats it, otherwise attaches what is there, which works
  /// wherever the memory lies as far as the roots can be relocated. There is no file, no lock and
  /// no boot id. A fresh pool fills the memory, unless options.capacity_bytes is set: then it fills
  /// options.size_bytes and can grow until it fills the memory. With options.reserve_volatile_twin
  /// the memory is twice `bytes`, the second half for the twins.
  [[nodiscard]] static std::unique_ptr<basic_pool> in_memory(void* memory, std::size_t bytes,
                                                             bool fresh,
                                                             const pool_options& options = {});

  basic_pool(const basic_pool&) = delete;
  basic_pool& operator=(const basic_pool&) = delete;

  /// Releases mapping and lock and writes nothing: without close() the pool stays dirty.
  ~basic_pool();

  /// Runs the on_close() functions, newest first, destroys the services, makes everything durable,
  /// marks the pool clean, and lets go of the file. Objects in the pool must be closed or idle. A
  /// second call does nothing. If something throws, the pool is closed and stays dirty.
  void close();

  /// Lets the pool fill `size_bytes`, at most its capacity. Durable at return. A smaller size
  /// than now changes nothing. Throws error{bad_argument, no_space}.
  void grow(std::size_t size_bytes);

  /// Returns free pages to the file system, in stretches of 256 KiB or more. close() returns those
  /// that this process has freed, and drop_root() too where the pool has no log. A free block that
  /// shares its pages with others stays with its root. Other threads may use the pool meanwhile. A
  /// pool with a log makes a checkpoint first. Throws corruption, error{io_failure}, out_of_space,
  /// std::bad_alloc.
  void trim();

  /// What survives what, in one sentence.
  [[nodiscard]] std::string guarantee() const;
  /// What really survives: process, adr, cache_persistent, file, logged_file or simulated.
  [[nodiscard]] domain::kind survives() const noexcept { return effective_; }
  /// Throws error{refused} unless operations may be durable one by one: on the domains `file` and
  /// `logged_file` that costs a device sync each and has to be asked for
  /// (options.per_operation_device_sync). For structures whose operations wait, before they attach
  /// their roots; those of the library call it.
  void require_per_operation_durability() const;

  /// "" for a pool in memory.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::size_t size_bytes() const {
    return state_size_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t capacity_bytes() const noexcept { return fixed_.capacity_bytes; }
  /// How many addresses from base() on belong to the pool, grown as far as it can.
  [[nodiscard]] std::size_t address_space_bytes() const noexcept {
    return pool_format::file_bytes_for(fixed_.capacity_bytes, fixed_.capacity_bytes);
  }
  /// Damage is to be gone around where that can be done.
  [[nodiscard]] bool salvages() const noexcept { return options_.salvage; }
  [[nodiscard]] bool twin_on_media() const noexcept { return options_.twin_on_media; }
  /// The address of byte 0 of the pool.
  [[nodiscard]] std::uintptr_t base() const noexcept {
    return reinterpret_cast<std::uintptr_t>(base_);
  }
  [[nodiscard]] const std::array<std::uint8_t, 16>& uuid() const noexcept { return fixed_.uuid; }
  /// The pool was not closed properly the last time.
  [[nodiscard]] bool was_dirty() const noexcept { return was_dirty_; }
  [[nodiscard]] page_space<D>& pages() noexcept { return *pages_; }

  // ---- Roots ----

  /// Finds or creates the root `name` and takes possession of it until detach_root().
  /// `fingerprint` identifies the type, `type_name` says it to people. A fresh root vanishes in a
  /// crash before publish_root(). Durable at return. Throws error{root_type_mismatch,
  /// already_open, address_taken, roots_exhausted, bad_argument} and corruption.
  [[nodiscard]] attached_root attach_root(std::string_view name, std::string_view type_name,
                                          std::uint64_t fingerprint, bool relocatable);
  /// Makes a fresh root exist: its object, in this pool and durable, is found by its name from
  /// now on. Durable at return.
  void publish_root(std::uint16_t index, const void* object);
  /// Every pointer of the root is now relative to base(), durably. Durable at return.
  void root_relocated(std::uint16_t index);
  /// Gives up possession. `occupancy_saved`: the next attach may trust the saved occupancy. A
  /// root that was not published is removed with all its pages. May be repeated: at close(), for
  /// a root whose object went earlier. Durable at return.
  void detach_root(std::uint16_t index, bool occupancy_saved);
  /// Removes a root and all its pages, once the on_drop() functions have let go of it. Operations
  /// on other roots may run meanwhile; buffered ones are waited for. Durable at return; a crash
  /// inside it is completed at the next opening. Throws error{not_found, already_open} while an
  /// object uses the root, and what those functions throw.
  void drop_root(std::string_view name);
  [[nodiscard]] std::vector<root_info> roots() const;

  // ---- Regions ----

  /// Reserves a region; its content is zero-filled or arbitrary, and must be committed before it is
  /// written if it has 2 MiB or more. Durable at return. Throws out_of_space, error{already_exists,
  /// refused, roots_exhausted, bad_argument}.
  region_info reserve_region(std::string_view name, region_kind kind, std::size_t bytes,
                             unsigned replicas = 1);
  [[nodiscard]] std::optional<region_info> find_region(std::string_view name) const;
  [[nodiscard]] std::vector<region_info> regions() const;
  /// Makes bytes of a replica exist on the file system. Throws out_of_space, error{not_found,
  /// bad_argument}. May be repeated.
  void commit_region(std::string_view name, unsigned replica, std::size_t offset,
                     std::size_t bytes);
  /// The bytes of a region's first replica as the file has them, which need not be in this
  /// process's memory, nor take space there. Throws error{not_found, io_failure}, std::bad_alloc.
  [[nodiscard]] base::anonymous_memory read_region(std::string_view name) const;
  /// Gives the file system back what the bytes take, if it can. They hold anything afterwards, and
  /// must be committed before they are written again. Throws error{not_found, bad_argument}.
  void uncommit_region(std::string_view name, unsigned replica, std::size_t offset,
                       std::size_t bytes);

  // ---- Life ----

  /// `action` runs at close(), before the services are destroyed and the pool is marked clean; the
  /// newest first. It may write to the pool.
  void on_close(std::function<void()> action);
  /// `action` runs when the root of that name is about to be dropped: whoever keeps a root attached
  /// though no object uses it gives it up, with detach_root(). It may throw, and the root stays.
  void on_drop(std::function<void(std::string_view)> action);
  /// `action(size_bytes)` runs before the pool grows to that size. It may throw, and the pool stays
  /// as it is.
  void on_grow(std::function<void(std::size_t)> action);
  /// `action` runs in the child of a fork(), in which the pool's memory does not exist.
  void on_fork_child(std::function<void()> action);
  /// The pool's one `S`, made by S(basic_pool&) on first use, destroyed at close() or
  /// destruction, the newest first. A service's destructor writes nothing persistent. In a forked
  /// child it never runs.
  template <class S>
  [[nodiscard]] S& service();

  /// Judges header, state, roots, page runs and regions; reads only. The pool must be quiescent.
  [[nodiscard]] std::vector<pool_format::finding> check() const;

 private:
  struct service_entry {
    std::type_index type;
    std::unique_ptr<void, void (*)(void*)> object;
  };
  struct memory_image {
    std::byte* base;
    std::uint64_t bytes;
    pool_format::parsed_header header;
  };

  basic_pool(pool_detail::opened_pool&& opened, const std::string& path,
             const pool_options& options);
  basic_pool(const memory_image& image, const pool_options& options);

  using free_pages = typename page_space<D>::free_pages;

  static constexpr bool is_native = std::is_base_of_v<domain::native, D>;
  /// Throws error{refused} where the pool's domain cannot work.
  static void require_place(const std::string& path);
  [[nodiscard]] static pool_detail::opened_pool open_or_create_file(const std::string& path,
                                                                    const pool_options& options);
  template <class Make>
  [[nodiscard]] static std::unique_ptr<basic_pool> without_exceptions(Make&& make,
                                                                      std::error_code& failed);
  [[nodiscard]] static memory_image format_memory(void* memory, std::size_t bytes,
                                                  const pool_options& options);

  void choose_domain();
  void start(bool torn);
  void grow_as_wished();
  void judge(bool torn) const;
  void sync_what_kills_survived(bool torn, std::uint32_t lines) const;
  [[nodiscard]] bool machine_went_on() const;
  void persist_what_a_kill_left(std::uint32_t lines);
  void mark_dirty();
  void mark_clean(std::uint32_t high_water);
  void require_salvageable() const;
  /// `high_water`: no page from there on was in use at the clean close, if there was one.
  [[nodiscard]] std::uint32_t open_pages(std::uint32_t high_water);
  [[nodiscard]] std::uint64_t require_range(std::string_view name, unsigned replica,
                                            std::size_t offset, std::size_t bytes) const;
  void commit_pages(std::uint32_t first, std::uint32_t count);
  void give_back_free_pages(free_pages which);
  void map_twins();
  void map_twin(const region_info& region);
  void write_state(const pool_format::state_slot& changed);
  [[nodiscard]] static bool same_state(const pool_format::state_slot& a,
                                       const pool_format::state_slot& b) noexcept;
  void record_file(std::uint64_t generation);
  void write_slot(pool_format::state_slot& slot, const pool_format::state_slot& value);
  void sync_data() const;
  void require_usable() const;
  /// With the mutex. Throws as require_usable().
  [[nodiscard]] std::unique_lock<std::recursive_mutex> usable_alone() const;
  void run_close_actions();
  [[nodiscard]] std::vector<std::function<void(std::string_view)>> actions_before_drop() const;
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
  [[nodiscard]] std::uint32_t page_count() const noexcept {
    return static_cast<std::uint32_t>(
        pool_format::file_bytes_for(state_.size_bytes, fixed_.capacity_bytes) /
        pool_format::page_bytes);
  }

  std::string path_;
  pool_options options_;
  std::unique_ptr<pool_detail::mapped_file> file_;  // none: in memory
  std::unique_ptr<pool_detail::redo_log> log_;      // none: not under domain::logged_file
  std::byte* base_;
  std::uint64_t memory_bytes_ = 0;  // of a pool in memory
  pool_format::static_header fixed_;
  pool_format::state_slot state_;
  std::atomic<std::uint64_t> state_size_;
  bool was_dirty_;
  domain::kind mapping_ = domain::kind::process;
  domain::kind instructions_ = domain::kind::process;
  domain::kind effective_ = domain::kind::process;
  std::unique_ptr<pool_detail::domain_registration> registration_;
  std::unique_ptr<page_space<D>> pages_;
  std::unique_ptr<pool_impl::root_directory<D>> roots_;
  std::unique_ptr<pool_impl::region_table<D>> regions_;
  mutable std::recursive_mutex control_;
  std::atomic<std::uint32_t> reserving_{0};  // 1 and the slot of the thread that reserves a region
  std::uint32_t reserving_pages_ = 0;        // that thread's
  std::vector<std::function<void()>> close_actions_;
  std::vector<std::function<void(std::string_view)>> drop_actions_;
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

/// The pool that finds out by itself what its file needs.
using pool = basic_pool<domain::native>;

}  // namespace outlast
