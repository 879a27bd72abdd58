// A pool that another process uses, opened for reading only.
//
//   outlast::pool_reader reader("/var/lib/app/state.pool");
//   outlast::lockfree::reader<outlast::lockfree::hash_table<int, int>> words(reader, "words");
//   std::optional<int> found = words.get(7);
//
// The writer opens the pool with pool_options::max_readers. The reader maps the pool's file without
// the permission to write, at the address of the writer's mapping. Each thread of it takes a slot
// in the file PATH.readers, holds a lock on it, and announces its operations there. The kernel
// releases the lock when the process dies. If an operation takes longer than
// pool_options::reader_patience_ms, the writer does without it: the nodes that the operation reads
// may then be used again. The reader detects that before it returns a result.
//
// The writer can be closed, killed and opened again meanwhile. A reader can also read a pool
// without a writer, after a clean close, or after a kill during the same boot.
//
// When not to use: for data that the process also changes. A process has a pool open once.
#pragma once

#include <outlast/base/announce.hpp>
#include <outlast/base/error.hpp>
#include <outlast/base/per_thread.hpp>
#include <outlast/domain/backoff.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/pool/readers/reader_file.hpp>
#include <outlast/pool/readers/reader_gate.hpp>
#include <outlast/pool/readers/reader_page.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace outlast {

/// Options for opening a reader.
struct reader_options {
  /// Time that an opening and an operation wait while a writer opens the pool, or until it has
  /// recovered a root.
  unsigned wait_ms = 5000;
};

/// A pool that is only read, in another process than its writer.
///
/// Thread-safety: all members may be called concurrently, except construction and destruction.
/// Progress: an operation takes a slot in its thread's first call, and is lock-free then. It waits
/// only while a writer opens the pool. After a fork(), every operation in the child throws
/// error{forked}.
/// Invariants:
///   I1  an operation loads only memory of the mapping, whatever the memory contains.
///   I2  an operation whose announcement was not withdrawn by the writer has read no free memory.
template <domain::persistence_domain D>
class basic_pool_reader {
  static_assert(!domain::notes_pages<D> && !domain::logs_lines<D>,
                "readers in other processes cannot make the syncs with a device on which the "
                "domains `file` and `logged_file` depend; use outlast::pool");

 public:
  /// Opens the pool at `path`. Throws error{not_found, not_a_pool, read_only, refused, closed,
  /// address_taken, newer_version} and the errors of a damaged header.
  explicit basic_pool_reader(const std::string& path, const reader_options& options = {});
  /// Reads a pool in memory in the process that has opened it with max_readers. For tests and the
  /// verifier. Requires: `writer` outlives the reader. Throws error{refused}.
  explicit basic_pool_reader(basic_pool<D>& writer, const reader_options& options = {});
  basic_pool_reader(const basic_pool_reader&) = delete;
  basic_pool_reader& operator=(const basic_pool_reader&) = delete;
  ~basic_pool_reader();

  class root;
  class operation;
  class replica_hold;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Returns the address of byte 0 of the pool.
  [[nodiscard]] std::uintptr_t base() const noexcept {
    return reinterpret_cast<std::uintptr_t>(base_);
  }

  /// Returns the address of the byte at this offset of the pool, which must be mapped.
  [[nodiscard]] std::byte* at(std::uint64_t offset) const noexcept { return base_ + offset; }
  /// As reader_options.
  [[nodiscard]] unsigned wait_ms() const noexcept { return wait_ms_; }
  /// Returns the place of a region, all of which is mapped, or nothing if there is none of this
  /// name and kind. Throws corruption, and error{refused} if this reader has too few addresses.
  [[nodiscard]] std::optional<pool_detail::readable_region> find_region(std::string_view name,
                                                                        region_kind kind);

  /// Called before each step of an operation. For the verifier: an action that calls die() and
  /// throws is the death of a process.
  void before_each_step(std::function<void()> action) { before_step_ = std::move(action); }
  /// Gives up all slots and leaves their words as they are, as the kernel does for a process that
  /// has died. The object can only be destroyed afterwards.
  void die() noexcept;

 private:
  /// The slot of a thread.
  struct record {
    basic_pool_reader& reader;
    std::uint32_t slot;
    std::atomic<std::uint64_t>* word;
    std::atomic<std::uint64_t>* replica;
    std::atomic<std::uint64_t>* roots;
    std::uint64_t last = 0;
    std::uint64_t last_replica = 0;
    std::uint64_t last_roots = 0;
    std::uint16_t number = 0;
    std::uint16_t replica_number = 0;
    unsigned nesting = 0;
    std::atomic<std::uint64_t> unused{0};
    std::atomic<std::uint64_t> unused_replica{0};

    record(basic_pool_reader& in, std::uint32_t its_slot, pool_detail::reader_slot& words)
        : reader(in),
          slot(its_slot),
          word(&words.word),
          replica(&words.replica),
          roots(&words.roots) {}
  };

  [[nodiscard]] pool_detail::reader_page& page() const noexcept { return *page_; }
  [[nodiscard]] std::unique_ptr<record> take_slot();
  /// Maps new pages of the pool.
  void map_to(std::uint64_t bytes);
  void step() {
    if constexpr (domain::watches_blocks<D>) {
      if (before_step_) before_step_();
    }
  }

  std::string path_;
  unsigned wait_ms_;
  std::unique_ptr<pool_detail::read_only_pool> file_;  // none: the pool is in memory
  std::byte* base_ = nullptr;
  std::atomic<std::uint64_t> mapped_bytes_{0};
  std::shared_ptr<pool_detail::reader_place> shared_place_;
  pool_detail::reader_place* place_;
  pool_detail::reader_page* page_ = nullptr;
  bool is_registered_ = false;
  domain::kind kind_ = domain::kind::process;
  std::function<void()> before_step_;
  base::per_thread<record> records_;
};

/// One operation of a thread, from its announcement on. Operations nest.
template <domain::persistence_domain D>
class basic_pool_reader<D>::operation {
 public:
  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;
  [[gnu::always_inline]] ~operation() {
    if (!ended_) withdraw(mine_);
  }

  /// Returns true if `bytes` bytes at `address`, which is not null, are in the pool. Returns false
  /// if the writer has ended this operation, so that the address may be anything.
  [[nodiscard, gnu::always_inline]] bool holds(const void* address, std::size_t bytes) {
    mine_.reader.step();
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) - base_;
    if (offset % alignof(std::uint64_t) != 0 || offset > limit_ - bytes ||
        (++steps_ & (steps_between_looks - 1)) == 0) [[unlikely]] {
      return looks_right(offset, bytes);
    }
    return true;
  }

  /// Like holds(), for ranges that may be longer than the pool.
  [[nodiscard]] bool holds_range(std::uintptr_t offset, std::size_t bytes) {
    mine_.reader.step();
    return looks_right(offset, bytes);
  }

  /// Returns true if everything that the operation has read until now was right.
  [[nodiscard, gnu::always_inline]] bool is_valid() const {
    // (2) acquire: a load of the operation that saw a node used again sees the eviction here.
    base::order_loads();
    return D::load(*mine_.word, std::memory_order_relaxed) == mine_.last;
  }

  /// Ends the operation: what it depends on is durable. Returns false if its result is not valid
  /// and the operation must be repeated. Throws error{refused} if an operation around it is not
  /// valid either.
  [[nodiscard, gnu::always_inline]] bool end() {
    mine_.reader.step();
    domain::complete<D>();
    const bool valid = is_valid();
    const bool is_nested = mine_.nesting > 1;
    withdraw(mine_);
    ended_ = true;
    if (!valid && is_nested) throw_evicted();
    return valid;
  }

  [[noreturn]] void throw_evicted() const {
    throw error(errc::refused, mine_.reader.path(),
                "the walk took longer than the writer's pool_options::reader_patience_ms, or the "
                "writer has closed the pool or dropped a root that the walk reads, so that the "
                "visited nodes may be used again; repeat the walk, or raise the patience");
  }
  /// The pool contradicts itself although the operation was valid.
  [[noreturn]] void throw_corruption() const {
    throw corruption(mine_.reader.path(),
                     "a pointer of the structure leads out of the pool; see 'outlast check' and "
                     "restore a backup");
  }

 private:
  friend class root;
  static constexpr unsigned steps_between_looks = 256;

  [[gnu::always_inline]] operation(record& mine, std::uint32_t root)
      : mine_(mine), base_(mine.reader.base()), root_(root) {
    if (mine.nesting++ != 0) {
      if (!pool_detail::may_read(mine.last_roots, root)) [[unlikely]]
        add_root(mine, root);
      return;
    }
    if (mine.last_roots != pool_detail::only_root(root)) {
      mine.last_roots = pool_detail::only_root(root);
      // (6) release: the loads of earlier operations are over; synchronizes-with the writer's look
      // at the roots. Visible before any load of the operation, by (1).
      D::store(*mine.roots, mine.last_roots, std::memory_order_release, domain::site::none());
    }
    const std::uint64_t epoch = D::load(mine.reader.page().epoch, std::memory_order_relaxed);
    mine.last = pool_detail::announcement(epoch, ++mine.number);
    // (1) full barrier: visible before any load of the operation; synchronizes-with the writer's
    // look at the slots.
    D::announce(*mine.word, mine.last);
  }
  [[gnu::noinline, gnu::cold]] static void add_root(record& mine, std::uint32_t root) {
    mine.last_roots = pool_detail::with_inner_root(mine.last_roots, root);
    // (7) full barrier, as (1), for the loads of the inner operation.
    D::announce(*mine.roots, mine.last_roots);
  }
  [[gnu::always_inline]] static void withdraw(record& mine) {
    if (--mine.nesting != 0) return;
    // (3) release: the operation's loads are over before it is withdrawn.
    D::store(*mine.word, 0, std::memory_order_release, domain::site::none());
  }

  /// The pool may have grown since the operation began.
  [[gnu::noinline, gnu::cold]] bool looks_right(std::uintptr_t offset, std::size_t bytes) {
    if (!is_valid()) return false;
    const std::uint64_t now = D::load(mine_.reader.page().pool_bytes, std::memory_order_acquire);
    if (now > limit_) {
      mine_.reader.map_to(now);
      limit_ = now;
    }
    return offset % alignof(std::uint64_t) == 0 && bytes <= limit_ && offset <= limit_ - bytes;
  }

  record& mine_;
  std::uintptr_t base_;
  std::uint32_t root_;
  std::uint64_t limit_ = 0;
  unsigned steps_ = 0;
  bool ended_ = false;
};

/// The use of a replica of a transaction manager by one thread. The writer does not store to the
/// replica until the use ends, or the process dies. It does not end the use itself: a transaction
/// is the program's code, which must not run on a replica that changes.
///
/// Uses in this order: announce(), a comparison of the durable word, others(), begin(); then the
/// loads; then end(). The last of several readers that have announced replicas counts all others.
/// So the replicas that readers use are never more than others() has permitted.
template <domain::persistence_domain D>
class basic_pool_reader<D>::replica_hold {
 public:
  /// Takes a slot for the thread. Throws error{refused, forked}.
  explicit replica_hold(basic_pool_reader& in) : mine_(in.records_.local()) {}
  ~replica_hold() { end(); }
  replica_hold(const replica_hold&) = delete;
  replica_hold& operator=(const replica_hold&) = delete;

  /// Announces the replica at this offset of the pool.
  void announce(std::uint64_t offset) {
    mine_.last_replica = pool_detail::replica_announcement(offset, ++mine_.replica_number);
    // (8) full barrier: the durable word is compared afterwards. The writer has found the
    // announcement, or the word is another one.
    D::announce(*mine_.replica, mine_.last_replica);
    mine_.reader.step();
  }
  /// Returns the number of other replicas, of those between two offsets, that readers have
  /// announced. Stops at `most`.
  [[nodiscard]] unsigned others(std::uint64_t first, std::uint64_t end, unsigned most);
  /// Returns false if the writer has taken the replica since it was announced.
  [[nodiscard]] bool begin() {
    std::uint64_t expected = mine_.last_replica;
    mine_.last_replica =
        pool_detail::in_state(mine_.last_replica, pool_detail::replica_state::read);
    const bool begun = D::compare_exchange(*mine_.replica, expected, mine_.last_replica,
                                           std::memory_order_seq_cst, domain::site::none());
    mine_.reader.step();
    return begun;
  }
  /// Does nothing if there is no use.
  void end() {
    if (mine_.last_replica == 0) return;
    mine_.last_replica = 0;
    // (9) release: the loads are over.
    D::store(*mine_.replica, 0, std::memory_order_release, domain::site::none());
  }

 private:
  /// Clears the slot of a dead reader. Returns false if its process lives.
  bool clear_dead(std::uint32_t slot, std::uint64_t word);

  record& mine_;
};

/// A root that is read. A derived class stores the place of the root's object.
template <domain::persistence_domain D>
class basic_pool_reader<D>::root {
 public:
  root(basic_pool_reader& in, pool_detail::wanted_root wanted)
      : reader_(in), wanted_(std::move(wanted)) {}
  root(const root&) = delete;
  root& operator=(const root&) = delete;

  [[nodiscard]] basic_pool_reader& reader() const noexcept { return reader_; }

  /// Runs `search(operation)`, which returns an optional: nothing if it met an address at which
  /// nothing can be. Repeats it if the writer has ended the operation. Returns its result. Waits
  /// while a writer opens the pool. Throws error{not_found} if the root was dropped, error{closed}
  /// if it cannot be read for longer than reader_options::wait_ms, error{refused} if no slot is
  /// free or the last opener permits no readers, error{address_taken} if the pool has moved,
  /// error{forked}, corruption, and what `search` throws.
  template <class Search>
  [[gnu::always_inline]] auto run(Search&& search) {
    return run_as<true>(search);
  }
  /// Like run(), but throws error{refused} instead of a repetition.
  template <class Search>
  [[gnu::always_inline]] auto run_once(Search&& search) {
    return run_as<false>(search);
  }

 protected:
  ~root() = default;
  /// Called when the root was found, with its object, which has moved or may be another one. Calls
  /// do not overlap; operations run.
  virtual void found(std::byte* object) = 0;
  /// Finds the root, unless it is known. The constructor of the last derived class calls it.
  void renew();

 private:
  [[nodiscard, gnu::always_inline]] bool is_up_to_date(operation& op) {
    pool_detail::reader_page& page = reader_.page();
    // (4) acquire; synchronizes-with (5). After (1): a change that is not seen waits for this
    // operation.
    const std::uint64_t changes = D::load(page.changes, std::memory_order_acquire);
    if (changes != known_.load(std::memory_order_acquire)) return false;
    // Another thread may have found the root under another number since the announcement.
    if (op.root_ != index_.load(std::memory_order_relaxed)) return false;
    op.limit_ = D::load(page.pool_bytes, std::memory_order_acquire);
    if (op.limit_ > reader_.mapped_bytes_.load(std::memory_order_acquire)) [[unlikely]]
      reader_.map_to(op.limit_);
    reader_.step();
    return true;
  }
  template <bool Repeats, class Search>
  [[gnu::always_inline]] auto run_as(Search&& search) {
    record& mine = reader_.records_.local();
    for (;;) {
      {
        operation op(mine, index_.load(std::memory_order_relaxed));
        if (is_up_to_date(op)) [[likely]] {
          auto result = search(op);
          if (op.end()) [[likely]] {
            if (!result) op.throw_corruption();
            return *std::move(result);
          }
          if (!Repeats) op.throw_evicted();
          continue;
        }
      }
      renew();
    }
  }
  [[nodiscard]] bool try_renew(std::string& why_not);

  basic_pool_reader& reader_;
  const pool_detail::wanted_root wanted_;
  std::mutex renewing_;
  std::atomic<std::uint64_t> known_{0};  // the changes at which the root was found
  std::atomic<std::uint32_t> index_{0};  // of the root, then
};

// ---- Bodies ----

template <domain::persistence_domain D>
basic_pool_reader<D>::basic_pool_reader(const std::string& path, const reader_options& options)
    : path_(path),
      wait_ms_(options.wait_ms),
      file_(std::make_unique<pool_detail::read_only_pool>(path, options.wait_ms)),
      base_(file_->base()),
      mapped_bytes_(file_->mapped_bytes()),
      shared_place_(file_->place()),
      place_(shared_place_.get()),
      page_(&place_->page()),
      kind_(file_->kind()),
      records_([this](std::uint32_t) { return take_slot(); }) {
  if constexpr (std::is_base_of_v<domain::native, D>) {
    domain::native::pool_opened(kind_);
    is_registered_ = true;
  } else {
    pool_detail::require_domain_of_writer(kind_, D::current_kind(), path_);
  }
  file_->place()->fork_state().on_child([this] { records_.forbid(); });
}

template <domain::persistence_domain D>
basic_pool_reader<D>::basic_pool_reader(basic_pool<D>& writer, const reader_options& options)
    : path_(writer.path()),
      wait_ms_(options.wait_ms),
      base_(reinterpret_cast<std::byte*>(writer.base())),
      mapped_bytes_(writer.address_space_bytes()),
      place_(writer.readers_ && !writer.file_ ? &writer.readers_->place() : nullptr),
      records_([this](std::uint32_t) { return take_slot(); }) {
  if (place_ == nullptr) pool_detail::throw_refused_readers(path_);
  page_ = &place_->page();
}

template <domain::persistence_domain D>
basic_pool_reader<D>::~basic_pool_reader() {
  if (is_registered_) domain::native::pool_closed(kind_);
  if (records_.forbidden()) return;
  records_.for_each([this](record& each) {
    if (each.word != &each.unused) place_->give_back(each.slot);
  });
}

template <domain::persistence_domain D>
void basic_pool_reader<D>::die() noexcept {
  records_.for_each([this](record& each) {
    if (each.word == &each.unused) return;
    each.word = each.roots = &each.unused;
    each.replica = &each.unused_replica;
    place_->give_back(each.slot);
  });
}

template <domain::persistence_domain D>
auto basic_pool_reader<D>::take_slot() -> std::unique_ptr<record> {
  const std::uint32_t end =
      std::min(page().slot_count.load(std::memory_order_relaxed), place_->slots());
  for (std::uint32_t slot = 0; slot < end; ++slot) {
    if (!place_->take(slot)) continue;
    pool_detail::reader_slot& words = pool_detail::slot_of(page(), slot);
    D::announce(words.word, 0);  // of a reader that has died
    D::announce(words.replica, 0);
    auto& used = page().used_slots;
    std::uint64_t now = D::load(used, std::memory_order_relaxed);
    while (now <= slot && !D::compare_exchange(used, now, slot + 1, std::memory_order_seq_cst,
                                               domain::site::none())) {
    }
    return std::make_unique<record>(*this, slot, words);
  }
  throw error(errc::refused, path_,
              "all " + std::to_string(end) +
                  " slots of the pool's readers are in use, one by each thread that reads; close "
                  "readers, or raise pool_options::max_readers of the writer");
}

template <domain::persistence_domain D>
unsigned basic_pool_reader<D>::replica_hold::others(std::uint64_t first, std::uint64_t end,
                                                    unsigned most) {
  basic_pool_reader& reader = mine_.reader;
  const std::uint64_t used = D::load(reader.page().used_slots, std::memory_order_seq_cst);
  const auto slots =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(used, reader.place_->slots()));
  const std::uint64_t own = pool_detail::replica_offset_of(mine_.last_replica);
  std::vector<std::uint64_t> found;
  for (std::uint32_t slot = 0; slots > most && slot < slots; ++slot) {
    const std::uint64_t word =
        D::load(pool_detail::slot_of(reader.page(), slot).replica, std::memory_order_seq_cst);
    const std::uint64_t at = pool_detail::replica_offset_of(word);
    const bool counts =
        at >= first && at < end && at != own && slot != mine_.slot &&
        pool_detail::replica_state_of(word) != pool_detail::replica_state::refused &&
        std::find(found.begin(), found.end(), at) == found.end();
    if (!counts) continue;
    if (found.size() + 1 >= most && clear_dead(slot, word)) continue;
    found.push_back(at);
    if (found.size() >= most) break;
  }
  return static_cast<unsigned>(found.size());
}

template <domain::persistence_domain D>
bool basic_pool_reader<D>::replica_hold::clear_dead(std::uint32_t slot, std::uint64_t word) {
  pool_detail::reader_place& place = *mine_.reader.place_;
  if (place.is_held(slot) || !place.take(slot)) return false;
  const bool cleared = D::compare_exchange(pool_detail::slot_of(place.page(), slot).replica, word,
                                           0, std::memory_order_seq_cst, domain::site::none());
  place.give_back(slot);
  return cleared;
}

template <domain::persistence_domain D>
auto basic_pool_reader<D>::find_region(std::string_view name, region_kind kind)
    -> std::optional<pool_detail::readable_region> {
  const std::uint64_t bytes = D::load(page().pool_bytes, std::memory_order_acquire);
  map_to(bytes);
  return pool_detail::find_readable_region(base_, bytes, name, kind, path_);
}

template <domain::persistence_domain D>
void basic_pool_reader<D>::map_to(std::uint64_t bytes) {
  if (!file_) return;
  file_->map_to(bytes);
  // The mapping only grows, but two threads may come here in another order.
  std::uint64_t known = mapped_bytes_.load(std::memory_order_relaxed);
  const std::uint64_t mapped = file_->mapped_bytes();
  while (known < mapped && !mapped_bytes_.compare_exchange_weak(known, mapped)) {
  }
}

template <domain::persistence_domain D>
void basic_pool_reader<D>::root::renew() {
  using clock = std::chrono::steady_clock;
  const std::lock_guard alone(renewing_);
  const clock::time_point deadline = clock::now() + std::chrono::milliseconds(reader_.wait_ms_);
  for (std::string why_not; !try_renew(why_not);) {
    if (clock::now() >= deadline) throw error(errc::closed, reader_.path(), why_not);
    if constexpr (domain::has_real_threads<D>) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } else {
      D::relax();
    }
  }
}

template <domain::persistence_domain D>
bool basic_pool_reader<D>::root::try_renew(std::string& why_not) {
  const pool_detail::reader_page& page = reader_.page();
  const std::uint64_t changes = D::load(page.changes, std::memory_order_acquire);
  if (changes == known_.load(std::memory_order_relaxed)) return true;
  const auto phase = pool_detail::phase_of(changes);
  if (phase == pool_detail::reader_phase::refused) {
    pool_detail::throw_refused_readers(reader_.path());
  }
  if (phase == pool_detail::reader_phase::opening) {
    why_not = "a writer is opening the pool, or has died while it did; try again later";
    return false;
  }
  const std::uint64_t bytes = D::load(page.pool_bytes, std::memory_order_acquire);
  const auto is_same = [&] {
    return D::load(page.changes, std::memory_order_acquire) == changes &&
           D::load(page.pool_bytes, std::memory_order_acquire) == bytes;
  };
  std::optional<pool_detail::readable_root> its;
  try {
    pool_detail::require_same_base(page, reader_.base(), reader_.path());
    reader_.map_to(bytes);
    its = pool_detail::find_readable_root(reader_.base_, bytes, page, wanted_, reader_.path(),
                                          why_not);
  } catch (const error&) {
    if (is_same()) throw;
    its.reset();
  }
  if (!is_same()) {
    why_not = "writers change the roots of the pool all the time; try again";
    return false;
  }
  if (!its && why_not.empty()) {
    throw error(errc::not_found, reader_.path(), "there is no root '" + wanted_.name + "' to read");
  }
  if (!its) return false;
  index_.store(its->index, std::memory_order_relaxed);
  found(reader_.base_ + its->offset);
  // (5) release; synchronizes-with (4).
  known_.store(changes, std::memory_order_release);
  return true;
}

template <domain::persistence_domain D>
template <class Reader>
Reader basic_pool<D>::open_reader(const std::string& path) {
  return Reader(path);
}

template <domain::persistence_domain D>
template <class Reader>
Reader basic_pool<D>::open_reader(const std::string& path, const reader_options& options) {
  return Reader(path, options);
}

/// A reader that uses the instructions of the pool's writer.
using pool_reader = basic_pool_reader<domain::native>;

}  // namespace outlast
