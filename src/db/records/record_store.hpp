// A store of records: writers append in parallel, and an index in ordinary memory orders the keys.
//
// A write appends one record to the segment of its thread, waits for one fence, and stores one slot
// of the index. It changes no other persistent word. A crash takes only records that no reader has
// seen. The next opening finds all records by a scan and builds the index. docs/formats/records.md
// describes the records; docs/decisions/2026-11-27-a-second-engine-of-records.md has the reasons.
//
// Order of the steps. Persisted before:
//   P1  a record                            before its slot is stored
//   P2  all records of a batch              before its first node is linked
//   P3  the header of a segment             before the fence of its first record returns
//   P4  all records of a segment            before it is sealed, and before it is cleaned
//   P5  copies of a segment's records       before the segment ends
//   P6  the end of a segment                before its space is used again. Before that, all
//                                           operations end that may read it
//   P7  the end of all segments that may have older records of a key
//                                           before the segment of its tombstone ends
//   P8  what is found in an open segment    before it is sealed by a recovery
//   P9  moments of a new life are after those of all intact records
//   P11 the life of the store          before an index that outlives the process changes:
//                                           record_reopening.hpp
// On a disk (is_grouped) writes do not wait, and marks replace P1, P2, P4 and P5: record_marks.hpp.
// Visible:
//   V1  a slot is stored under the locks of its key and of its leaf
//   V2  a writer reads under the leaf's lock whether snapshots exist, and the moment
//   V3  a snapshot declares itself before it draws its moment
//   V4  the lock of a key is held from the choice of its version to the store of its slot
//   V5  of a chain only versions go that no snapshot sees, or will see
//   V8  a slot is removed after the clock has passed the version of its tombstone
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/base/per_thread.hpp>
#include <outlast/base/sharded_count.hpp>
#include <outlast/db/detail/changes.hpp>
#include <outlast/db/detail/engine.hpp>
#include <outlast/db/detail/key_order.hpp>
#include <outlast/db/detail/read_set.hpp>
#include <outlast/domain/backoff.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/group_commit.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/spin_lock.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/domain/watched_blocks.hpp>
#include <outlast/hw/flush.hpp>
#include <outlast/pool/file/machine.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/reclaim/epochs.hpp>
#include <outlast/root/root_session.hpp>
#include <src/db/records/format.hpp>
#include <src/db/records/kept_index.hpp>
#include <src/db/records/key_locks.hpp>
#include <src/db/records/object_memory.hpp>
#include <src/db/records/ordered_index.hpp>
#include <src/db/records/segments.hpp>
#include <src/db/records/versions.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::store_detail::records {

/// An order of keys with its name, which the store records.
struct named_order {
  key_order order;
  std::string name;
  bool any_name = false;  ///< a store that has another order is accepted; see lacks_order()
};

/// One change of a batch.
struct change {
  std::string_view key;
  std::string_view value;
  record_kind kind;        ///< put or tombstone
  std::size_t number = 0;  ///< position in the batch
};

/// The records of a root, with the volatile state of an open store.
///
/// Thread-safety: all members may be called concurrently, except the constructor, the destructor,
/// before_close() and check().
/// Progress: a write waits for other writers of its keys, and for the lock of its leaf. Reads wait
/// for the lock of a leaf.
/// Durability: a write is durable at return. On a disk it survives a kill at return, and other
/// failures after a sync().
/// Errors: out_of_space and std::bad_alloc, without effect. On a disk also error{io_failure}.
template <domain::persistence_domain D, class Shape = usual_shape>
class record_store final : public roots::root_session<D> {
  using base_type = roots::root_session<D>;
  using epochs_type = reclaim::epochs<D>;
  using node = version_node<D>;
  using group = version_group<D>;
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr auto acquire = std::memory_order_acquire;
  static constexpr auto seq_cst = std::memory_order_seq_cst;

  /// Returns the key to which a slot refers.
  struct key_of_slot {
    const record_store* of;
    std::string_view operator()(std::uint64_t word) const {
      const record_header& record = of->record_at(newest_record<D>(word));
      prefetch_rest(&record);
      return record.key();
    }
  };
  /// Prefetches the lines after the first one of a record of usual size.
  static void prefetch_rest(const void* record) noexcept {
    const auto* const at = static_cast<const std::byte*>(record);
    hw::prefetch(at + base::cache_line_size);
    hw::prefetch(at + 2 * base::cache_line_size);
  }
  using index_type = ordered_index<D, Shape, key_of_slot>;
  using note = index_note<D, Shape>;
  using place = typename index_type::place;

 public:
  /// Writes become durable by marks, not one by one.
  static constexpr bool is_grouped = Shape::groups_syncs || domain::notes_pages<D>;

  [[nodiscard]] static roots::root_type type() {
    return {"store::records", 0x7265636f7264'0001, true, true};
  }

  /// Creates the store, or recovers it and builds the index. Throws corruption, error{bad_argument}
  /// if the store has another order, error{newer_version}, out_of_space, std::bad_alloc.
  /// `region`: nullptr, or the place of an index that outlives the process; it must outlive the
  /// store. An index of the store that is there is used again, unless `salvage` is true.
  record_store(typename base_type::pool_type& in, const attached_root& root,
               const named_order& order, bool salvage, kept_region* region = nullptr);
  ~record_store() override = default;

  /// Sets the value of a key.
  void put(std::string_view key, std::string_view value) {
    write_one({key, value, record_kind::put});
  }
  void erase(std::string_view key) { write_one({key, {}, record_kind::tombstone}); }
  /// Applies the changes atomically. Of several changes of a key the last one counts.
  void apply(const changes& all) { (void)commit(all, nullptr); }
  /// Applies the changes atomically if the store still matches `read`. Otherwise returns false,
  /// without effect.
  [[nodiscard]] bool apply_if(const read_set& read, const changes& all) {
    return commit(all, &read);
  }
  /// Makes all writes before the call durable. Threads that call it concurrently share one device
  /// sync. Throws error{io_failure}, after which no write is accepted; std::bad_alloc.
  void sync() {
    require_process();
    if constexpr (is_grouped) await_mark(last_written_.load(acquire));
  }
  /// Throws the error of the sync that has failed, if there was one.
  void require_sound() const {
    if (is_broken_.load(acquire)) std::rethrow_exception(broken_);
  }
  /// Returns whether a sync() has work: writes, or segments whose space is not returned yet.
  [[nodiscard]] bool has_unsynced() const {
    return last_written_.load(acquire) > durable_mark_.load(acquire) || unended_.load(acquire) != 0;
  }
  /// Makes a mark if has_unsynced(). Throws the errors of sync().
  void sync_if_useful() {
    require_process();
    if (is_grouped && has_unsynced()) await_mark(next_mark_.load(acquire));
  }
  /// Returns the number of the mark that covers the last write of the calling thread, and forgets
  /// it; 0 if there was none. For verification.
  [[nodiscard]] std::uint64_t take_last_mark() {
    return std::exchange(hands_.local().covered_by, 0);
  }
  /// Returns the number of the newest mark whose writes the opening found. For verification.
  [[nodiscard]] std::uint64_t found_mark() const noexcept { return found_mark_; }
  /// Returns whether the store matches `read` at one moment of the call.
  [[nodiscard]] bool holds(const read_set& read);

  /// Copies the value of `key` at `moment`. If `verify` is true and the record is damaged, returns
  /// `damaged`.
  [[nodiscard]] lookup_status get(std::string_view key, std::string& value, bool verify,
                                  std::uint64_t moment = latest_moment);

  /// Begins a snapshot, and returns its moment.
  [[nodiscard]] std::uint64_t begin_snapshot() {
    require_process();
    return moments_.begin();
  }
  void end_snapshot(std::uint64_t moment) {
    if (!is_forbidden_.load(relaxed)) moments_.end(moment);
  }
  /// Throws error{forked} in the child of a fork, where locks may be held for ever.
  void require_process() { static_cast<void>(hands_.local()); }

  /// A key of a leaf with its value. Long values are not copied.
  struct leaf_entry {
    std::size_t begin;  ///< of the record's bytes after its check, in leaf_copy::bytes
    std::uint32_t key_bytes;
    std::uint32_t value_bytes;
    std::uint64_t salt;
    bool has_value;  ///< with its check
  };
  struct leaf_copy {
    std::vector<leaf_entry> entries;
    std::string bytes;
    std::optional<std::string> low;
    std::optional<std::string> high;
  };
  using side = typename index_type::side;
  /// Copies the entries that a reader at `moment` sees in a leaf, as ordered_index::copy_leaf().
  void copy_leaf(const std::optional<std::string_view>& key, side wanted, std::uint64_t moment,
                 leaf_copy& to);

  /// Removes the versions that no snapshot sees.
  void collect();
  /// Returns all space that records occupy which do not count. Throws out_of_space, std::bad_alloc
  /// without effect on the content.
  void compact();
  /// Cleans segments with about `bytes` bytes if less than Shape::fullest_percent of the space
  /// counts, or tombstones take much of it. Returns false if there is nothing to do. Throws
  /// out_of_space, std::bad_alloc without effect on the content.
  bool clean_if_useful(std::size_t bytes);
  /// Returns whether clean_if_useful() probably has work.
  [[nodiscard]] bool is_cleaning_useful() const;
  /// Returns whether prepare() has work.
  [[nodiscard]] bool is_preparing_useful() const noexcept {
    return !is_grouped && segments_.blocks().wants_block();
  }
  /// Allocates the space of the next segment, so that writers do not wait for it. Throws
  /// std::bad_alloc.
  void prepare() {
    if (is_preparing_useful()) segments_.blocks().prepare(segments_.usual_bytes());
  }
  /// Sets the functions that are called if clean_if_useful() and prepare() are likely to have work.
  /// Requires: no other thread uses the store.
  void on_work(std::function<void()> cleans, std::function<void()> prepares) {
    wake_ = std::move(cleans);
    hasten_ = std::move(prepares);
  }
  [[nodiscard]] std::size_t keys() const {
    const std::int64_t sum = kept_ != nullptr ? kept_->keys() : keys_.sum();
    return static_cast<std::size_t>(std::max<std::int64_t>(sum, 0));
  }
  /// Returns the number of erased keys whose tombstones are in the index.
  [[nodiscard]] std::int64_t tombstones() const {
    return kept_ != nullptr ? kept_->tombstones() : tombstones_.sum();
  }
  /// Returns whether the opening has used the index of an earlier life.
  [[nodiscard]] bool has_reopened() const noexcept { return has_reopened_; }
  [[nodiscard]] const key_order& order() const noexcept { return index_.order(); }
  [[nodiscard]] const std::string& order_name() const noexcept { return order_name_; }
  /// Returns whether the index has the order of bytes, and the store another one. Keys that the
  /// order of the store takes for equal are then not recognized.
  [[nodiscard]] bool lacks_order() const noexcept { return lacks_order_; }
  [[nodiscard]] std::size_t index_bytes() const noexcept {
    return index_.bytes() + objects_.bytes();
  }
  /// Returns the bytes of segments, and the bytes in them that do not count any more.
  struct use_of_segments {
    std::size_t bytes = 0;
    std::size_t dead = 0;
    std::size_t in_use = 0;   ///< bytes of records, with dead ones, and of headers
    std::size_t useless = 0;  ///< bytes that cleaning returns
    std::size_t cleaned = 0;  ///< bytes of segments that a sync ends
  };
  [[nodiscard]] use_of_segments segment_use() const;
  /// Returns the bytes of records that only snapshots see, or saw before the last collect(). Visits
  /// the whole index if there are any.
  [[nodiscard]] std::size_t kept_bytes();
  /// Returns the approximate number of bytes of the keys from `from` to `to`, and their values.
  [[nodiscard]] std::uint64_t bytes_between(std::string_view from, std::string_view to);
  /// Returns the first damage, or "". Requires: no other thread uses the store.
  [[nodiscard]] std::string check();

  [[nodiscard]] bool before_close() override;
  void collect_all() override { epochs_.collect_all(); }
  void forbid() noexcept override {
    is_forbidden_.store(true, relaxed);
    hands_.forbid();
    epochs_.forbid();
  }

 private:
  static constexpr std::size_t max_copied_value = 1024;

  /// The state of a thread.
  struct alignas(2 * base::cache_line_size) hand {
    std::atomic<std::uint64_t> writing{0};  ///< 1: changes records or slots
    segment<D>* open = nullptr;             ///< for writes
    segment<D>* dedicated = nullptr;        ///< with a record or batch that has its own segment
    segment<D>* target = nullptr;           ///< of the two, that of the last write
    segment<D>* copies = nullptr;           ///< for copies by this thread's cleaning
    std::size_t written = 0;                ///< bytes that it wrote since it cleaned
    std::optional<purpose> last_space;      ///< of its write; it holds last_resort_lock_
    std::uint64_t covered_by = 0;           ///< number of the mark that covers its last write
    tombstone_bound bound = 0;              ///< value of the tombstones of the present write
    std::vector<std::byte> scratch;
    std::vector<std::uint64_t> locks;
    std::vector<change> sorted;
    std::vector<place> places;
    std::vector<std::uint64_t> oldest;  ///< ordinals for successor::oldest
    std::vector<node*> nodes;
    std::vector<std::uint64_t> records;
    note* noted = nullptr;             ///< of an index that outlives the process
    std::uint64_t version = 0;         ///< of the present write
    std::int64_t more_keys = 0;        ///< effect of the present write
    std::int64_t more_tombstones = 0;  ///< effect of the present write
  };

  /// An operation of the calling thread, during which no record that it reads is reused.
  class [[nodiscard]] operating {
   public:
    explicit operating(epochs_type& in) : in_(in), mine_(in.enter()) {}
    ~operating() { in_.leave(mine_); }
    operating(const operating&) = delete;
    operating& operator=(const operating&) = delete;

   private:
    epochs_type& in_;
    typename epochs_type::session mine_;
  };

  [[nodiscard]] const record_header& record_at(std::uint64_t at) const {
    const auto* const found =
        reinterpret_cast<const record_header*>(pool_base_ + static_cast<std::uintptr_t>(at));
    if constexpr (domain::watches_blocks<D>) {
      D::reads_block(found, sizeof *found, domain::code_line::here());
    }
    return *found;
  }
  [[nodiscard]] bool is_intact_at(std::uint64_t at) const {
    const segment<D>& in = segments_.of_record(at);
    return state_of_record(in.begin + (at - in.offset), in.bytes - (at - in.offset), in.salt) ==
           record_state::intact;
  }
  [[nodiscard]] bool is_put(std::uint64_t record) const {
    return record != 0 && record_at(record).kind() == record_kind::put;
  }
  /// Returns whether readers find the key of a slot. Requires: the caller holds the key's lock.
  [[nodiscard]] bool is_there(std::uint64_t word) const {
    return is_put(seen_at(word, latest_moment, moments_));
  }
  /// Counts the bytes of a record as dead.
  void count_dead(std::uint64_t record) {
    segments_.of_record(record).dead_bytes.fetch_add(bytes_of(record_at(record)), relaxed);
  }

  // ---- writes: record_writes.hpp, record_batches.hpp ----
  static constexpr std::uint64_t no_ordinal = ~std::uint64_t{0};
  struct successor {
    std::uint64_t version;
    std::uint64_t oldest;  ///< ordinal of the oldest segment that may have a record of the key
  };

  void write_one(const change& what);
  void write_once(change what);
  [[nodiscard]] bool commit(const changes& all, const read_set* read);
  [[nodiscard]] bool commit_once(const changes& all, const read_set* read);
  void close_gate();
  void sort_changes(const changes& all, hand& mine);
  void sort_with_ranges(const changes& all, std::vector<change>& to);
  void remove_overwritten(std::vector<change>& sorted) const;
  [[nodiscard]] bool commit_sorted(hand& mine, const read_set* read);
  class batch_search;
  class neighbours;
  void apply_sorted(hand& mine);
  void install_one(hand& mine, const change& what, const place& at, std::uint64_t record);
  void install_batch(hand& mine, std::uint64_t head, std::size_t bytes);
  void unlink(hand& mine, std::size_t linked, std::uint64_t head, std::size_t bytes, group& with);
  void settle_batch(hand& mine, std::uint64_t moment);
  static void count_keys(hand& mine, bool was_put, bool is_put, bool had_slot);
  void add_counted(hand& mine);
  [[nodiscard]] std::byte* reserve_room(hand& mine, std::size_t bytes);
  [[nodiscard]] successor successor_of(std::uint64_t word);
  [[nodiscard]] std::string_view new_bound(hand& mine) const;
  [[nodiscard]] std::uint64_t append_one(hand& mine, const change& what, const successor& next);
  [[nodiscard]] std::uint64_t append_long(hand& mine, const change& what, const successor& next);
  [[nodiscard]] std::uint64_t place_long(segment<D>& in, std::byte* to, const change& what,
                                         std::uint32_t age, std::uint64_t version);
  [[nodiscard]] std::uint64_t append_batch(hand& mine, std::uint64_t version, std::size_t bytes);
  [[nodiscard]] std::byte* reserve(hand& mine, std::size_t bytes);
  [[nodiscard]] bool may_use_last_space(purpose why, std::size_t bytes);
  [[nodiscard]] std::byte* reserve_in(segment<D>*& open, std::size_t bytes, purpose why);
  [[nodiscard]] std::byte* reserve_shared(hand& mine, std::size_t bytes);
  [[nodiscard]] std::byte* take_shared(hand& mine, std::size_t bytes);
  void note_written();
  [[nodiscard]] static std::byte* take_room(segment<D>& in, std::size_t bytes);
  void place_bytes(hand& mine, segment<D>& in, std::byte* to, std::size_t bytes);
  [[nodiscard]] std::uint64_t hash_of_only(std::string_view key) const;
  void cancel(std::uint64_t record, std::size_t bytes);
  void prune(node& newest, removed_versions<D>& cut, bool all);
  [[nodiscard]] bool is_seen_between(std::uint64_t first, std::uint64_t end, bool exactly) const;
  void remove_unseen(std::string_view key, place& at, bool all);
  void retire(removed_versions<D>& gone);
  template <class T>
  void retire(T* object);
  void require_sizes(std::string_view key, std::string_view value) const;

  // ---- cleaning: record_cleaner.hpp ----
  struct victim;
  struct moved;
  struct group_of_records;
  template <class Write>
  auto with_space(Write&& write);
  template <class Write, class Erases>
  auto or_in_last_space(Write&& write, Erases&& only_erases);
  [[nodiscard]] bool make_space(std::uint64_t before, std::uint64_t end);
  bool clean_what_fits(std::uint64_t end);
  bool clean_in_reserved(std::uint64_t end);
  [[nodiscard]] std::uint64_t room_for_copies(std::uint64_t largest);
  [[nodiscard]] std::uint64_t largest_record(const victim& of) const;
  void help_to_clean(hand& mine);
  void look_at_space();
  void seal_all(bool with_last);
  [[nodiscard]] static bool is_emptier_than(const use_of_segments& use, unsigned percent);
  [[nodiscard]] bool has_many_nodes() const;
  [[nodiscard]] bool has_many_tombstones(const use_of_segments& use) const;
  [[nodiscard]] std::unique_ptr<victim> take_victim(const wanted_victim& wanted);
  void put_back(std::unique_ptr<victim> one) noexcept;
  bool clean(std::size_t bytes, const wanted_victim& wanted, segment<D>*& to, purpose why);
  bool clean(std::size_t bytes, const wanted_victim& wanted);
  void clean_victim(std::unique_ptr<victim> one, std::size_t bytes, segment<D>*& to, purpose why);
  [[nodiscard]] bool clean_some(std::size_t bytes);
  static constexpr unsigned patience = domain::has_real_threads<D> ? 10'000 : 3;  ///< rounds
  [[nodiscard]] bool await_cleaners();
  void await_discarded();
  void clean_group(hand& mine, victim& of, segment<D>*& to, purpose why);
  [[nodiscard]] std::size_t read_group(hand& mine, victim& of, group_of_records& to);
  void examine(victim& of, moved& each);
  [[nodiscard]] bool is_droppable(victim& of, const record_header& tombstone) const;
  [[nodiscard]] unsigned copy_some(hand& mine, group_of_records& of, unsigned first,
                                   segment<D>*& open, purpose why);
  [[nodiscard]] std::uint32_t age_of_copy(const moved& of, const segment<D>& in) const;
  void copy_short(hand& mine, group_of_records& of, unsigned first, unsigned end, segment<D>& in,
                  std::byte* to, std::size_t bytes);
  void copy_long(group_of_records& of, unsigned first, unsigned end, segment<D>& in, std::byte* to);
  void install_copy(moved& each);
  void drop_tombstones(const group_of_records& of);
  void finish(segment<D>& done, std::uint64_t ends_after);
  void release_later(segment<D>& done);

  using stored_blocks = std::vector<std::pair<std::byte*, std::size_t>>;

  // ---- marks: record_marks.hpp ----
  struct marked_segment;
  struct found_marks;
  struct found_record;
  struct found_part;
  using boot = std::array<std::uint64_t, 2>;
  void await_mark(std::uint64_t number);
  void make_mark();
  void make_mark_or_break();
  [[nodiscard]] std::uint64_t choose_marked(std::uint64_t& number);
  void write_mark(std::byte* to, std::uint64_t number, std::uint64_t covers,
                  std::uint64_t next_ordinal);
  void end_with_marks(segment<D>& done, std::uint64_t ends_after);
  void end_cleaned();
  void seal_with_mark(bool with_last);
  void bound_unsealed();
  [[nodiscard]] static boot present_boot();
  [[nodiscard]] static constexpr std::size_t mark_capacity() noexcept {
    return (Shape::mark_bytes - sizeof(mark_header)) / sizeof(mark_entry);
  }
  void find_marks(const stored_blocks& blocks, bool salvage, found_part& to);
  [[nodiscard]] bool is_whole(const mark_header& mark, const stored_blocks& blocks);
  [[nodiscard]] bool is_whole_until(const std::byte* block, std::size_t end);
  [[nodiscard]] std::byte* new_mark_area();
  void begin_marks();
  void remove_marks();

  [[nodiscard]] std::string check_records();
  template <class Visit>
  void for_each_record(Visit&& visit);

  // ---- an index that outlives the process: record_reopening.hpp ----
  [[nodiscard]] std::unique_ptr<hand> make_hand();
  void begin_index();
  void use_kept();
  [[nodiscard]] bool can_reopen(const stored_blocks& blocks);
  [[nodiscard]] bool has_half_moved() const;
  [[nodiscard]] bool has_last_record(const note& of) const;
  [[nodiscard]] std::uint64_t reopen(const stored_blocks& blocks, found_part& found);
  [[nodiscard]] std::size_t first_unknown(const segment<D>& of) const;
  void adopt_kept(std::byte* block, std::size_t stride, found_part& found);
  void remove_left_nodes();
  void install_found(const std::vector<found_record>& found);
  void end_left();

  // ---- recovery: record_recovery.hpp ----
  class content;
  struct scanned;
  void create(const named_order& order);
  void open(const named_order& order, bool salvage);
  void read_header(const named_order& order);
  [[nodiscard]] stored_blocks list_blocks();
  [[nodiscard]] std::uint64_t recover(const stored_blocks& blocks, bool salvage,
                                      std::vector<found_part>& found);
  void seal_found(const found_part& found);
  void free_blocks_without_use(unsigned threads);
  [[nodiscard]] static std::uint64_t last_ordinal_of(const std::vector<found_part>& found);
  [[nodiscard]] segment<D>* adopt_found(std::byte* block, std::size_t stride, bool salvage,
                                        found_part& to, scanned& how);
  void scan(std::byte* block, std::size_t stride, bool salvage, found_part& to,
            std::size_t from = sizeof(segment_header));
  [[nodiscard]] static bool has_record_after(const std::byte* block, std::size_t at,
                                             std::size_t end);
  void note_only(segment<D>& in, std::size_t end);
  void note_found(const std::byte* block, std::uint64_t at, std::uint64_t offset, found_part& to);
  [[nodiscard]] std::size_t scan_batch(const std::byte* begin, std::size_t at, std::size_t end,
                                       std::uint64_t salt, record_state least,
                                       std::vector<std::uint64_t>& entries);
  void build(std::vector<found_part>& found);
  void build_part(const std::vector<found_part>& found, const std::vector<std::uint64_t>& bounds,
                  unsigned part, std::vector<typename index_type::built_page>& leaves,
                  std::int64_t& puts, std::int64_t& tombstones);
  [[nodiscard]] bool was_open(const std::vector<found_part>& found, std::uint64_t record) const;
  [[nodiscard]] static std::uint64_t random_origin();
  [[nodiscard]] std::uint64_t secret();
  void note_damage(const std::string& what, bool salvage, found_part& to) const;
  [[noreturn]] void report_damage(const std::string& what) const;

  std::uintptr_t pool_base_;
  epochs_type& epochs_;
  store_header* header_ = nullptr;
  std::string order_name_;
  bool lacks_order_ = false;
  std::string damage_;  ///< that a salvage has passed over
  std::unique_ptr<kept_index<D, Shape>> kept_;
  bool has_reopened_ = false;
  segment_space<D, Shape> segments_;
  moments<D> moments_{2};
  object_memory<D, Shape, node, group> objects_;
  index_type index_;
  key_locks<D, Shape> locks_;
  writer_gate<D> gate_;
  base::sharded_count keys_;
  base::sharded_count tombstones_;         ///< slots of erased keys
  std::atomic<bool> is_forbidden_{false};  ///< this is the child of a fork
  // Cleaning:
  std::function<void()> wake_;
  std::function<void()> hasten_;
  domain::spin_lock<D> victims_lock_;
  std::unique_ptr<victim> victims_;  ///< that are not complete, and that no thread cleans
  domain::spin_lock<D> last_resort_lock_;
  segment<D>* last_copies_ = nullptr;  ///< for copies and tombstones in a full pool; with the gate
  std::uint64_t largest_last_ = 0;     ///< bound of the bytes of a record there
  std::atomic<unsigned> cleaners_{0};  ///< threads that clean now
  std::atomic<bool> is_crowded_{false};           ///< writers clean, too
  std::atomic<std::uint64_t> discarded_{0};       ///< number of segments that have ended
  std::atomic<std::uint64_t> released_{0};        ///< number of those whose space was returned
  std::atomic<std::uint64_t> reservations_{0};    ///< of free blocks for copies
  std::atomic<std::uint64_t> renewed_until_{0};   ///< 0, or ordinals before it are cleaned
  std::atomic<std::int64_t> tombstones_left_{0};  ///< by the last pass over all segments
  std::atomic<std::uint64_t> settled_at_{0};      ///< next ordinal when there was nothing to clean
  std::atomic<std::size_t> nodes_left_{0};        ///< by the last collect()
  // Marks:
  domain::group_commit<D> syncing_;
  domain::spin_lock<D> opening_lock_;  ///< held while a segment for all threads is made
  domain::spin_lock<D> shared_lock_;
  segment<D>* shared_ = nullptr;             ///< to which all threads append
  std::atomic<std::uint64_t> next_mark_{1};  ///< number of the mark that covers present writes
  std::atomic<std::uint64_t> durable_mark_{0};
  std::atomic<std::uint64_t> completed_marks_{0};
  std::atomic<std::uint64_t> last_written_{0};  ///< number of the mark that covers the last write
  std::atomic<bool> has_cancelled_{false};      ///< a record since the last mark
  std::atomic<bool> seals_all_{false};          ///< the next mark seals all segments
  std::atomic<bool> seals_last_{false};         ///< also that of last copies
  std::atomic<std::uint64_t> left_until_{0};  ///< completed marks until the end of what a life left
  std::atomic<std::size_t> unended_{0};       ///< segments in the following lists
  domain::spin_lock<D> cleaned_lock_;
  segment<D>* cleaned_ = nullptr;  ///< no mark covers their copies yet
  // Of the thread that makes a mark:
  segment<D>* covering_ = nullptr;  ///< the mark that is made covers their copies
  segment<D>* ending_ = nullptr;    ///< a durable mark covers their copies
  std::vector<segment<D>*> unsealed_;
  std::vector<marked_segment> marked_;
  std::vector<std::byte> mark_scratch_;
  std::array<std::byte*, 2> mark_areas_{};
  unsigned durable_area_ = 1;
  std::exception_ptr broken_;  ///< of a device that has failed
  std::atomic<bool> is_broken_{false};
  std::uint64_t found_mark_ = 0;
  std::unique_ptr<found_marks> found_;                               ///< during an opening
  std::vector<std::pair<std::uint64_t, segment<D>*>> left_cleaned_;  ///< during an opening
  base::per_thread<hand> hands_;
};

}  // namespace outlast::store_detail::records

#include <src/db/records/record_batches.hpp>
#include <src/db/records/record_cleaner.hpp>
#include <src/db/records/record_marks.hpp>
#include <src/db/records/record_reads.hpp>
#include <src/db/records/record_recovery.hpp>
#include <src/db/records/record_reopening.hpp>
#include <src/db/records/record_writes.hpp>
