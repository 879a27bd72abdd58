// The part of an index that outlives its process: what a kill leaves in a region of shared memory,
// and what the next opening repairs in it.
//
// Order of the steps (P11): the life of the store in the pool is advanced, durably, before the
// index changes, and the index gets the number of the new life only when it has all records of the
// store. So an index with the number of the present life is complete, but for the changes that
// their threads had begun.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <src/db/records/index_notes.hpp>
#include <src/db/records/index_pages.hpp>
#include <src/db/records/kept_heap.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

namespace outlast::store_detail::records {

template <domain::persistence_domain D>
struct segment;

/// An index in a region. Requires: all processes that use a region have the same build; the owner
/// of the region ensures it.
/// Thread-safety: the members for an opening require that no other thread uses the index. All
/// others may be called concurrently.
template <domain::persistence_domain D, class Shape>
class kept_index {
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr auto release = std::memory_order_release;

 public:
  using page = index_page<D>;
  using note = index_note<D, Shape>;
  using heap_type = kept_heap<D>;
  static constexpr unsigned kinds_of_objects = 2;

  /// Objects of one type. The first word of an object that is free is 0.
  struct object_chunk {
    object_chunk* next;
    std::size_t bytes;
  };

  explicit kept_index(kept_region& in) : in_(in), heap_(in, prepared(in).heap) {}
  kept_index(const kept_index&) = delete;
  kept_index& operator=(const kept_index&) = delete;

  // ---- openings ----

  /// Returns whether the region has the complete index of this life of a store.
  [[nodiscard]] bool is_of(std::uint64_t life, std::uint64_t origin) const {
    const header& its = header_of(in_);
    return its.magic == right_magic && its.sizes == right_sizes() &&
           its.life.load(relaxed) == life && its.origin == origin && heap_.is_whole() &&
           !heap_.has_lost_much();
  }
  /// Begins a new index without content, which is of no store yet. Throws std::bad_alloc,
  /// out_of_space.
  void begin() {
    header_of(in_).life.store(0, std::memory_order_seq_cst);
    header* const made = new (&header_of(in_)) header;
    made->sizes = right_sizes();
    made->magic = right_magic;
    heap_.begin(sizeof(header));
  }
  /// The index has all records of this life of the store from now on. Has no effect if a kill does
  /// not leave the region.
  void confirm(std::uint64_t life, std::uint64_t origin) {
    if (!in_.is_kept()) return;
    header_of(in_).origin = origin;
    header_of(in_).life.store(life, release);
  }
  /// The next opening makes a new index.
  void withdraw() { header_of(in_).life.store(0, std::memory_order_seq_cst); }
  /// Undoes the changes that had not taken effect. Throws std::bad_alloc, out_of_space.
  void repair() {
    constexpr std::size_t made_by_a_change = sizeof(inner_page<D, Shape>) + 4096;
    heap_.recover();
    for_each_note([this](note& each) {
      if (each.undo(root())) heap_.count_lost(made_by_a_change);
    });
    for_each_note([](note& each) {
      each.unlock_all();
      each.is_taken.store(false, relaxed);
    });
  }

  // ---- the parts ----

  [[nodiscard]] heap_type& heap() noexcept { return heap_; }
  [[nodiscard]] domain::volatile_word<D, page*>& root() noexcept { return header_of(in_).root; }
  [[nodiscard]] std::atomic<object_chunk*>& chunks(unsigned kind) noexcept {
    return header_of(in_).chunks[kind];
  }
  /// Returns a note for a thread. Throws std::bad_alloc, out_of_space.
  [[nodiscard]] note& take_note() {
    const std::lock_guard lock(lock_);
    std::atomic<note*>& all = header_of(in_).notes;
    for (note* at = all.load(relaxed); at != nullptr; at = at->next) {
      if (at->is_taken.load(relaxed)) continue;
      at->is_taken.store(true, relaxed);
      return *at;
    }
    static_assert(alignof(note) <= heap_type::alignment);
    note* const made = new (heap_.allocate(sizeof(note))) note;
    made->is_taken.store(true, relaxed);
    made->next = all.load(relaxed);
    all.store(made, release);
    return *made;
  }
  template <class Visit>
  void for_each_note(Visit&& visit) const {
    note* at = header_of(in_).notes.load(std::memory_order_acquire);
    for (; at != nullptr; at = at->next) visit(*at);
  }
  /// Returns a new object for a segment, which is listed for ever.
  [[nodiscard]] segment<D>* make_segment() {
    static_assert(alignof(segment<D>) <= heap_type::alignment);
    auto* const made = new (heap_.allocate(sizeof(segment<D>))) segment<D>;
    const std::lock_guard lock(lock_);
    std::atomic<segment<D>*>& all = header_of(in_).segments;
    made->next_kept = all.load(relaxed);
    all.store(made, release);
    return made;
  }
  template <class Visit>
  void for_each_segment(Visit&& visit) {
    for (segment<D>* at = header_of(in_).segments.load(relaxed); at != nullptr;) {
      segment<D>* const next = at->next_kept;
      visit(*at);
      at = next;
    }
  }

  // ---- counts ----

  /// Sets what the counts of the notes are added to.
  void count_from(std::int64_t keys, std::int64_t tombstones) noexcept {
    header_of(in_).keys.store(keys, relaxed);
    header_of(in_).tombstones.store(tombstones, relaxed);
  }
  [[nodiscard]] std::int64_t keys() const {
    std::int64_t sum = header_of(in_).keys.load(relaxed);
    for_each_note([&](const note& each) { sum += each.keys.load(relaxed); });
    return sum;
  }
  [[nodiscard]] std::int64_t tombstones() const {
    std::int64_t sum = header_of(in_).tombstones.load(relaxed);
    for_each_note([&](const note& each) { sum += each.tombstones.load(relaxed); });
    return sum;
  }
  /// The newest version when the index was made.
  void set_first_version(std::uint64_t version) noexcept {
    header_of(in_).first_version.store(version, relaxed);
  }
  /// Returns a version that is not before those of the records that were completed.
  [[nodiscard]] std::uint64_t last_version() const {
    std::uint64_t last = header_of(in_).first_version.load(relaxed);
    for_each_note([&](const note& each) {
      const std::uint64_t its = each.last_version.load(relaxed);
      if (its > last) last = its;
    });
    return last;
  }

 private:
  static constexpr std::uint64_t right_magic = 0x6f746c7369647831;

  struct header {
    std::uint64_t magic = 0;
    std::uint64_t sizes = 0;
    std::atomic<std::uint64_t> life{0};  ///< of the store; 0: the index is not complete
    std::uint64_t origin = 0;
    typename heap_type::state heap;
    domain::volatile_word<D, page*> root;
    std::atomic<note*> notes{nullptr};
    std::atomic<segment<D>*> segments{nullptr};
    std::array<std::atomic<object_chunk*>, kinds_of_objects> chunks{};
    std::atomic<std::int64_t> keys{0};
    std::atomic<std::int64_t> tombstones{0};
    std::atomic<std::uint64_t> first_version{0};
  };

  /// Returns a number that differs if the types of another build have other sizes.
  [[nodiscard]] static constexpr std::uint64_t right_sizes() noexcept {
    std::uint64_t sum = 1;
    for (const std::size_t each : {sizeof(header), sizeof(note), sizeof(segment<D>),
                                   sizeof(leaf_page<D, Shape>), sizeof(inner_page<D, Shape>)}) {
      sum = sum * 1000003 + each;
    }
    return sum;
  }
  [[nodiscard]] static header& header_of(kept_region& in) noexcept {
    return *std::launder(reinterpret_cast<header*>(in.first()));
  }
  [[nodiscard]] static header& prepared(kept_region& in) {
    in.provide(sizeof(header));
    return header_of(in);
  }

  kept_region& in_;
  heap_type heap_;
  domain::spin_lock<D> lock_;
};

}  // namespace outlast::store_detail::records
