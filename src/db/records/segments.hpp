// The segments of a store of records: blocks of its root, to which records are appended.
#pragma once

#include <outlast/alloc/arena.hpp>
#include <outlast/base/growing_array.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/spin_lock.hpp>
#include <src/db/records/format.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace outlast::store_detail::records {

/// A segment of an open store. One thread appends to it.
template <domain::persistence_domain D>
struct segment {
  std::byte* begin = nullptr;
  std::uint64_t offset = 0;  ///< of `begin` from the base of the pool
  std::uint64_t bytes = 0;
  std::uint64_t ordinal = 0;
  std::uint64_t salt = 0;
  std::atomic<std::uint64_t> end{0};         ///< bytes in use, with the header
  std::atomic<std::uint64_t> dead_bytes{0};  ///< of records that do not count any more
  std::atomic<segment_state> state{segment_state::open};

  [[nodiscard]] segment_header& header() const noexcept {
    return *reinterpret_cast<segment_header*>(begin);
  }
};

/// All segments of a store.
///
/// Thread-safety: all members may be called concurrently, except number_from().
template <domain::persistence_domain D, class Shape>
class segment_space {
  static constexpr std::size_t granule = Shape::min_segment_bytes;
  static constexpr auto relaxed = std::memory_order_relaxed;

 public:
  using segment_type = segment<D>;

  explicit segment_space(alloc::arena<D>& arena)
      : arena_(arena),
        at_((std::size_t{arena.pages().space()} * page_space<D>::page_size) / granule + 1) {}
  segment_space(const segment_space&) = delete;
  segment_space& operator=(const segment_space&) = delete;

  /// Numbers segments from now on. Each life of a store has other numbers, and other salts.
  void number_from(std::uint64_t life, std::uint64_t secret) noexcept {
    next_ordinal_.store(life << 32, relaxed);
    secret_ = secret;
  }

  /// Makes a segment with room for `room` bytes of records. Durable at return. Throws out_of_space,
  /// std::bad_alloc.
  [[nodiscard]] segment_type& open(std::size_t room) {
    auto made = std::make_unique<segment_type>();
    std::size_t bytes = 0;
    std::byte* const begin = allocate(needed_for(room), bytes);
    segment_type* opened = nullptr;
    try {
      made->begin = begin;
      made->offset = arena_.pages().offset_of(begin);
      made->bytes = bytes;
      made->ordinal = next_ordinal_.fetch_add(1, relaxed);
      made->salt = seeded_hash(&made->ordinal, sizeof made->ordinal, secret_);
      made->end.store(sizeof(segment_header), relaxed);
      provide(*made);
      opened = &enter(std::move(made));
    } catch (...) {
      arena_.deallocate(begin);  // there was no memory, and nothing was written
      throw;
    }
    write_header(*opened);
    return *opened;
  }
  /// Enters a segment that a recovery has found. Throws std::bad_alloc, out_of_space.
  segment_type& adopt(std::byte* begin, std::uint64_t end) {
    auto found = std::make_unique<segment_type>();
    const auto& header = *reinterpret_cast<const segment_header*>(begin);
    found->begin = begin;
    found->offset = arena_.pages().offset_of(begin);
    found->bytes = header.bytes;
    found->ordinal = header.ordinal;
    found->salt = header.salt;
    found->end.store(end, relaxed);
    found->state.store(segment_state::sealed, relaxed);
    provide(*found);
    return enter(std::move(found));
  }

  /// Records the end of a segment. Durable at return. Requires: its records are durable, and no
  /// thread appends to it any more.
  void seal(segment_type& full) {
    set_state(full, segment_state::sealed, full.end.load(relaxed));
    domain::fence<D>();
    full.state.store(segment_state::sealed, std::memory_order_release);
  }
  /// Stores the state of a segment, and starts its write-back.
  static void set_state(segment_type& of, segment_state state, std::uint64_t end,
                        domain::site where = domain::site::current()) {
    segment_header& header = of.header();
    D::store(header.state, word_of_state(state, end, of.salt), std::memory_order_release, where);
    domain::flush<D>(&header, sizeof header, where.at(1));
  }

  /// Returns the segment of a record. Wait-free. Requires: there is one.
  [[nodiscard]] segment_type& of_record(std::uint64_t place) const {
    return *at_[place / granule].load(std::memory_order_acquire);
  }
  /// Returns the segment that contains the offset, or nullptr. Wait-free.
  [[nodiscard]] segment_type* find(std::uint64_t offset) const {
    const auto* const entry = at_.find(offset / granule);
    if (entry == nullptr) return nullptr;
    segment_type* const found = entry->load(std::memory_order_acquire);
    const bool is_inside = found != nullptr && offset >= found->offset + sizeof(segment_header) &&
                           offset < found->offset + found->bytes;
    return is_inside ? found : nullptr;
  }

  /// Calls `visit(segment&)` for each segment.
  template <class Visit>
  void for_each(Visit&& visit) const {
    std::vector<segment_type*> all;
    {
      const std::lock_guard lock(lock_);
      all.reserve(all_.size());
      for (const auto& each : all_) all.push_back(each.get());
    }
    for (segment_type* const each : all) visit(*each);
  }

 private:
  [[nodiscard]] static constexpr std::size_t needed_for(std::size_t room) noexcept {
    return (sizeof(segment_header) + room + granule - 1) / granule * granule;
  }
  /// Returns the size of the next segment, which grows with the store.
  [[nodiscard]] std::size_t usual_bytes() const noexcept {
    const std::size_t share = total_bytes_.load(relaxed) / 16;
    return std::clamp(std::bit_ceil(share + 1), Shape::min_segment_bytes, Shape::max_segment_bytes);
  }
  /// Returns a block of the usual size. In a pool that is almost full, returns a smaller one of at
  /// least `least` bytes. Throws out_of_space.
  [[nodiscard]] std::byte* allocate(std::size_t least, std::size_t& bytes) {
    for (bytes = std::max(usual_bytes(), least);; bytes = std::max(bytes / 2, least)) {
      try {
        return static_cast<std::byte*>(arena_.allocate(bytes, granule));
      } catch (const out_of_space&) {
        if (bytes <= least) throw;
      }
    }
  }
  void provide(const segment_type& of) { at_.provide((of.offset + of.bytes) / granule + 1); }

  segment_type& enter(std::unique_ptr<segment_type> made) {
    segment_type& entered = *made;
    {
      const std::lock_guard lock(lock_);
      all_.push_back(std::move(made));
    }
    for (std::uint64_t o = entered.offset; o < entered.offset + entered.bytes; o += granule) {
      at_[o / granule].store(&entered, std::memory_order_release);
    }
    total_bytes_.fetch_add(entered.bytes, relaxed);
    return entered;
  }

  /// Durable at return, so that a crash finds the segment of each record that counts (P3). The
  /// state is stored before the check: an intact header never has the state of an earlier use.
  void write_header(const segment_type& of) {
    segment_header& header = of.header();
    D::store(header.state, word_of_state(segment_state::open, 0, of.salt), relaxed);
    D::store(header.stale, of.ordinal, relaxed);
    const struct {
      std::uint64_t magic, ordinal, salt, bytes;
    } first{segment_header::right_magic, of.ordinal, of.salt, of.bytes};
    static_assert(sizeof first == offsetof(segment_header, check));
    D::write(&header, &first, sizeof first);
    const std::uint64_t reserved = 0;
    D::write(&header.reserved, &reserved, sizeof reserved);
    D::store(header.check, seeded_hash(&first, sizeof first, 0), std::memory_order_release);
    domain::persist<D>(&header, sizeof header);
  }

  alloc::arena<D>& arena_;
  base::growing_array<std::atomic<segment_type*>> at_;
  std::atomic<std::uint64_t> next_ordinal_{0};
  std::uint64_t secret_ = 0;
  std::atomic<std::size_t> total_bytes_{0};
  mutable domain::spin_lock<D> lock_;
  std::vector<std::unique_ptr<segment_type>> all_;
};

}  // namespace outlast::store_detail::records
