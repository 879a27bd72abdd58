// The segments of a store of records: blocks of its root, to which records are appended.
#pragma once

#include <outlast/alloc/arena.hpp>
#include <outlast/base/growing_array.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/spin_lock.hpp>
#include <src/db/records/format.hpp>
#include <src/db/records/kept_index.hpp>
#include <src/db/records/segment_blocks.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>
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
  std::atomic<std::uint64_t> end{0};  ///< bytes in use, with the header
  /// Bytes before which all space was filled, or said to be reserved. For the opening after a kill.
  std::atomic<std::uint64_t> filled{sizeof(segment_header)};
  std::atomic<std::uint64_t> dead_bytes{0};  ///< of records that do not count any more
  std::atomic<std::uint64_t> only_key{0};    ///< hash of the key of its only record; 0: has more
  std::atomic<segment_state> state{segment_state::open};
  bool is_kept_back = false;  ///< was made of space for erasures and the cleaner
  bool is_dedicated = false;  ///< was made for one record or batch
  std::uint64_t durable_end = sizeof(segment_header);  ///< of the thread that makes marks
  segment* next_cleaned = nullptr;                     ///< in a list of segments without records
  std::uint64_t ends_after = 0;  ///< number of completed marks that must be before its end
  // Under the lock of the space:
  bool is_victim = false;        ///< is being cleaned
  bool is_cleaned = false;       ///< has no record that counts, and waits for its end
  std::uint64_t gone_after = 0;  ///< number of completed marks after which its end is durable
  bool has_ended = false;        ///< operations may still read it
  std::size_t position = 0;      ///< among all segments
  segment* next_kept = nullptr;  ///< in the list of a kept_index

  /// Notes that all space until `place` was filled, or said to be reserved.
  void note_filled(std::uint64_t place) noexcept {
    filled.store(place - offset, std::memory_order_release);
  }
  [[nodiscard]] segment_header& header() const noexcept {
    return *reinterpret_cast<segment_header*>(begin);
  }
  /// Returns the bytes of records that count.
  [[nodiscard]] std::uint64_t live_bytes() const noexcept {
    const std::uint64_t used = end.load(std::memory_order_relaxed) - sizeof(segment_header);
    return used - std::min(used, dead_bytes.load(std::memory_order_relaxed));
  }
  /// Returns the bytes that cleaning returns: of dead records, and the rest of a segment that was
  /// sealed early, such as by a crash.
  [[nodiscard]] std::uint64_t useless_bytes() const noexcept {
    const std::uint64_t dead = dead_bytes.load(std::memory_order_relaxed);
    const bool is_sealed = state.load(std::memory_order_acquire) == segment_state::sealed;
    return is_sealed ? dead + early_rest() : dead;
  }
  /// Returns the bytes after the records that cleaning returns if the segment is sealed now.
  [[nodiscard]] std::uint64_t early_rest() const noexcept {
    const std::uint64_t rest = bytes - end.load(std::memory_order_relaxed);
    return !is_dedicated && rest > bytes / 4 ? rest : 0;
  }
};

/// The segment that is cleaned next.
struct wanted_victim {
  unsigned percent = 0;  ///< at least this share of its bytes, and some, do not count
  bool oldest = false;   ///< the oldest one, if it has several records; otherwise the emptiest one
  std::uint64_t before = ~std::uint64_t{0};           ///< its ordinal is smaller
  std::uint64_t most_live_bytes = ~std::uint64_t{0};  ///< of its records that count
};

/// The ordinals of the segments that exist, ascending.
struct present_segments {
  struct one {
    std::uint64_t ordinal;
    std::uint64_t only_key;
    std::uint64_t gone_after;  ///< 0: it does not end
  };
  std::vector<one> all;

  /// Returns whether no segment with an ordinal in [oldest, bound), except `except`, can have a
  /// record of the key with this hash. Does not count those that end, and raises `gone_after` to
  /// the number of completed marks after which their ends are durable.
  [[nodiscard]] bool have_none(std::uint64_t oldest, std::uint64_t bound, std::uint64_t except,
                               std::uint64_t key_hash, std::uint64_t& gone_after) const {
    std::uint64_t last = gone_after;
    auto at = std::lower_bound(all.begin(), all.end(), oldest,
                               [](const one& a, std::uint64_t b) { return a.ordinal < b; });
    for (; at != all.end() && at->ordinal < bound; ++at) {
      if (at->ordinal == except) continue;
      if (at->only_key != 0 && at->only_key != key_hash) continue;
      if (at->gone_after == 0) return false;
      last = std::max(last, at->gone_after);
    }
    gone_after = last;
    return true;
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
  using blocks_type = segment_blocks<D, Shape>;

  /// `base`: address of the pool. Segments are aligned by their addresses; places count from it.
  segment_space(alloc::arena<D>& arena, std::uintptr_t base)
      : pages_(arena.pages()),
        blocks_(arena),
        before_base_(base % granule),
        at_(granule_of(std::size_t{arena.pages().space()} * page_space<D>::page_size) + 1) {}
  ~segment_space() { closes_ = true; }
  segment_space(const segment_space&) = delete;
  segment_space& operator=(const segment_space&) = delete;

  /// Takes the objects of segments from `kept` from now on, which must outlive this object.
  /// Requires: there are no segments.
  void use(kept_index<D, Shape>& kept) noexcept { outlives_ = &kept; }
  /// Lists the segments that the index of an earlier life has in `kept`, so that adopt() uses their
  /// objects. Throws std::bad_alloc.
  void list_kept(kept_index<D, Shape>& kept) {
    kept_before_.clear();
    kept.for_each_segment([this](segment_type& each) {
      if (each.ordinal != 0 && !each.has_ended) kept_before_.emplace(each.ordinal, &each);
    });
  }
  void forget_kept() noexcept { kept_before_.clear(); }
  [[nodiscard]] const std::unordered_map<std::uint64_t, segment_type*>& kept_before() const {
    return kept_before_;
  }
  /// Frees the objects of the other segments of the earlier life. Requires: all have been adopted
  /// that exist.
  void free_kept() {
    kept_before_.clear();
    const std::lock_guard lock(lock_);
    std::unordered_set<const segment_type*> in_use;
    for (const owned& each : all_) in_use.insert(each.get());
    outlives_->for_each_segment([&](segment_type& each) {
      if (!in_use.contains(&each)) free(each);
    });
  }
  /// Sets the seed of salts and checks.
  void set_secret(std::uint64_t secret) noexcept { secret_ = secret; }
  [[nodiscard]] std::uint64_t secret() const noexcept { return secret_; }
  /// Numbers segments from now on. Each life of a store has other salts.
  void number_from(std::uint64_t life, std::uint64_t ordinal) noexcept {
    next_salt_.store(life << 32, relaxed);
    next_ordinal_.store(ordinal, relaxed);
  }
  /// Returns a number that is larger than the ordinals of all segments that exist.
  [[nodiscard]] std::uint64_t next_ordinal() const noexcept {
    return next_ordinal_.load(std::memory_order_acquire);
  }

  /// Returns the size of a segment for `room` bytes of records.
  [[nodiscard]] static constexpr std::size_t needed_for(std::size_t room) noexcept {
    return (sizeof(segment_header) + room + granule - 1) / granule * granule;
  }
  /// Returns whether a record or batch has a segment of its own, so that others keep full ones.
  [[nodiscard]] bool is_for_dedicated(std::size_t bytes) const noexcept {
    return bytes > usual_bytes() / 4;
  }
  /// Makes a segment with room for `room` bytes of records, or with `is_dedicated` for no more.
  /// Durable at return. Throws out_of_space, std::bad_alloc.
  [[nodiscard]] segment_type& open(std::size_t room, purpose why, bool is_dedicated = false) {
    owned made = make();
    made->is_dedicated = is_dedicated;
    const std::size_t least = needed_for(room);
    const std::size_t most = is_dedicated ? least : std::max(usual_bytes(), least);
    const block from = blocks_.take(most, least, usual_bytes(), why, made->is_kept_back);
    segment_type* opened = nullptr;
    try {
      made->begin = from.begin;
      made->offset = pages_.offset_of(from.begin);
      made->bytes = from.bytes;
      const std::uint64_t number = next_salt_.fetch_add(1, relaxed);
      const bool has_copies = why != purpose::write;
      made->salt = salt_of_copies(seeded_hash(&number, sizeof number, secret_), has_copies);
      made->end.store(sizeof(segment_header), relaxed);
      provide(*made);
      opened = &enter(std::move(made));
    } catch (...) {
      blocks_.give_back(from, usual_bytes());  // there was no memory, and nothing was written
      throw;
    }
    write_header(*opened);
    if (!is_dedicated) blocks_.want_block();
    return *opened;
  }
  /// Enters a segment that a recovery has found. Throws std::bad_alloc, out_of_space.
  segment_type& adopt(std::byte* begin, std::uint64_t end) {
    const auto& header = *reinterpret_cast<const segment_header*>(begin);
    const auto kept = kept_before_.find(header.ordinal);
    owned found = kept == kept_before_.end() ? make() : renew(*kept->second);
    found->begin = begin;
    found->offset = pages_.offset_of(begin);
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
    store_sealed(full, full.end.load(relaxed));
    domain::fence<D>();
    note_sealed(full);
  }
  /// The segment can be cleaned from now on. Requires: its state is durable.
  void note_sealed(segment_type& full) {
    full.state.store(segment_state::sealed, std::memory_order_release);
    unsealed_.fetch_sub(1, relaxed);
  }
  /// Returns whether cleaning returns the rest of a segment that is not sealed, except `except`.
  [[nodiscard]] bool have_open_rest(const segment_type* except) const {
    const std::lock_guard lock(lock_);
    return std::any_of(all_.begin(), all_.end(), [except](const owned& each) {
      return each.get() != except && each->state.load(relaxed) == segment_state::open &&
             each->early_rest() != 0;
    });
  }
  /// Returns the number of segments that are not sealed.
  [[nodiscard]] std::size_t unsealed() const noexcept { return unsealed_.load(relaxed); }
  /// Lists the segments that are not sealed. Returns the ordinal of the next segment. Throws
  /// std::bad_alloc.
  [[nodiscard]] std::uint64_t list_unsealed(std::vector<segment_type*>& to) const {
    to.clear();
    const std::lock_guard lock(lock_);
    for (const auto& each : all_) {
      if (each->state.load(relaxed) == segment_state::open) to.push_back(each.get());
    }
    return next_ordinal_.load(relaxed);
  }
  /// Stores the state of a segment, and starts its write-back.
  static void store_sealed(segment_type& of, std::uint64_t end,
                           domain::site where = domain::site::current()) {
    segment_header& header = of.header();
    D::store(header.state, sealed_state(end, of.salt), std::memory_order_release, where);
    domain::flush<D>(&header, sizeof header, where.at(1));
  }
  /// Ends a segment. Durable at return: no recovery finds it. Requires: its records that count have
  /// durable copies.
  void discard(segment_type& gone) {
    segment_header& header = gone.header();
    D::store(header.check, 0, std::memory_order_release);
    domain::note_store<D>();
    domain::persist<D>(&header, sizeof header);
    bytes_.fetch_sub(gone.bytes, relaxed);
    const std::lock_guard lock(lock_);
    gone.has_ended = true;
  }
  /// Stores the end of a segment, and starts its write-back. Otherwise as discard().
  void store_end(segment_type& gone) {
    segment_header& header = gone.header();
    D::store(header.check, 0, std::memory_order_release);
    domain::flush<D>(&header, sizeof header);
  }
  /// Requires: the end is durable.
  void note_end(segment_type& gone) {
    bytes_.fetch_sub(gone.bytes, relaxed);
    const std::lock_guard lock(lock_);
    gone.has_ended = true;
  }
  /// The segment does not count as space that can be cleaned, and its end is durable after a number
  /// of completed marks.
  void note_cleaned(segment_type& done, std::uint64_t gone_after) {
    const std::lock_guard lock(lock_);
    done.is_cleaned = true;
    done.gone_after = gone_after;
  }
  /// Returns the space of a discarded segment. Requires: no thread reads it.
  void release(segment_type& gone) noexcept {
    for (std::uint64_t o = gone.offset; o < gone.offset + gone.bytes; o += granule) {
      at_[granule_of(o)].store(nullptr, relaxed);
    }
    const block unused{gone.begin, gone.bytes};
    owned last;
    {
      const std::lock_guard lock(lock_);
      all_[gone.position].swap(all_.back());
      all_[gone.position]->position = gone.position;
      last = std::move(all_.back());
      all_.pop_back();
    }
    blocks_.give_back(unused, usual_bytes());
  }

  /// Returns the space of the next segments.
  [[nodiscard]] blocks_type& blocks() noexcept { return blocks_; }
  [[nodiscard]] const blocks_type& blocks() const noexcept { return blocks_; }
  /// Returns the size of the next segment, which grows with the store.
  [[nodiscard]] std::size_t usual_bytes() const noexcept {
    const std::size_t share = bytes_.load(relaxed) / 16;
    return std::clamp(std::bit_ceil(share + 1), Shape::min_segment_bytes, Shape::max_segment_bytes);
  }

  /// Returns the segment of a record. Wait-free. Requires: there is one.
  [[nodiscard]] segment_type& of_record(std::uint64_t place) const {
    return *at_[granule_of(place)].load(std::memory_order_acquire);
  }
  /// Returns the segment that contains the offset, or nullptr. Wait-free.
  [[nodiscard]] segment_type* find(std::uint64_t offset) const {
    const auto* const entry = at_.find(granule_of(offset));
    if (entry == nullptr) return nullptr;
    segment_type* const found = entry->load(std::memory_order_acquire);
    const bool is_inside = found != nullptr && offset >= found->offset + sizeof(segment_header) &&
                           offset < found->offset + found->bytes;
    return is_inside ? found : nullptr;
  }

  /// Calls `visit(const segment&)` for each segment, under a lock.
  template <class Visit>
  void for_each(Visit&& visit) const {
    const std::lock_guard lock(lock_);
    for (const auto& each : all_) {
      if (!each->has_ended) visit(std::as_const(*each));
    }
  }
  /// Lists the segments that exist. Throws std::bad_alloc.
  void list(present_segments& to) const {
    to.all.clear();
    for_each([&](const segment_type& each) {
      to.all.push_back({each.ordinal, each.only_key.load(relaxed), each.gone_after});
    });
    std::sort(to.all.begin(), to.all.end(),
              [](const auto& a, const auto& b) { return a.ordinal < b.ordinal; });
  }
  /// Takes a sealed segment for cleaning, or returns nullptr.
  [[nodiscard]] segment_type* take_victim(const wanted_victim& wanted) {
    const std::lock_guard lock(lock_);
    segment_type* chosen = nullptr;
    for (const auto& each : all_) {
      if (each->is_victim || each->has_ended || each->ordinal >= wanted.before) continue;
      if (each->state.load(std::memory_order_acquire) != segment_state::sealed) continue;
      const std::uint64_t useless = each->useless_bytes();
      const bool is_full =
          useless == 0 || useless * 100 < each->bytes * std::uint64_t{wanted.percent};
      if (wanted.oldest ? each->only_key.load(relaxed) != 0 : is_full) continue;
      if (each->live_bytes() > wanted.most_live_bytes) continue;
      const bool is_better = chosen == nullptr || (wanted.oldest ? each->ordinal < chosen->ordinal
                                                                 : is_emptier(*each, *chosen));
      if (is_better) chosen = each.get();
    }
    if (chosen != nullptr) chosen->is_victim = true;
    return chosen;
  }

 private:
  using block = typename blocks_type::block;

  /// Returns the number of the aligned part of the address space that has an offset.
  [[nodiscard]] std::size_t granule_of(std::uint64_t offset) const noexcept {
    return (offset + before_base_) / granule;
  }
  [[nodiscard]] static bool is_emptier(const segment_type& a, const segment_type& b) noexcept {
    // Without a division. Sizes are usually below 2^32, and an overflow only chooses another one.
    return a.useless_bytes() * b.bytes > b.useless_bytes() * a.bytes;
  }
  // ---- segments ----

  struct returning {
    segment_space* to = nullptr;
    void operator()(segment_type* gone) const noexcept { to->unmake(*gone); }
  };
  using owned = std::unique_ptr<segment_type, returning>;

  /// Returns a new object. Throws std::bad_alloc, out_of_space.
  [[nodiscard]] owned make() {
    if (outlives_ == nullptr) return owned(new segment_type, {this});
    {
      const std::lock_guard lock(lock_);
      if (segment_type* const first = free_) {
        free_ = first->next_cleaned;
        return renew(*first);
      }
    }
    return owned(outlives_->make_segment(), {this});
  }
  /// Sets an object of the earlier life, or a free one, to its first state, but for the counts of
  /// its dead bytes.
  [[nodiscard]] owned renew(segment_type& one) {
    const bool is_free = one.ordinal == 0;
    one.is_kept_back = false;
    one.durable_end = sizeof(segment_header);
    one.next_cleaned = nullptr;
    one.ends_after = 0;
    one.is_victim = one.is_cleaned = one.has_ended = false;
    one.gone_after = 0;
    one.position = 0;
    if (is_free) {
      one.filled.store(sizeof(segment_header), relaxed);
      one.dead_bytes.store(0, relaxed);
      one.only_key.store(0, relaxed);
      one.state.store(segment_state::open, relaxed);
      one.is_dedicated = false;
    }
    return owned(&one, {this});
  }
  void unmake(segment_type& gone) noexcept {
    if (outlives_ == nullptr) {
      delete &gone;
      return;
    }
    if (closes_) return;  // the next life has it
    const std::lock_guard lock(lock_);
    free(gone);
  }
  void free(segment_type& gone) noexcept {
    gone.ordinal = 0;
    gone.next_cleaned = std::exchange(free_, &gone);
  }

  void provide(const segment_type& of) { at_.provide(granule_of(of.offset + of.bytes) + 1); }

  segment_type& enter(owned made) {
    segment_type& entered = *made;
    {
      const std::lock_guard lock(lock_);
      all_.push_back(std::move(made));
      entered.position = all_.size() - 1;
      // A segment is listed with its ordinal before another one has a larger ordinal.
      if (entered.ordinal == 0) entered.ordinal = next_ordinal_.fetch_add(1, relaxed);
      if (entered.state.load(relaxed) == segment_state::open) unsealed_.fetch_add(1, relaxed);
    }
    for (std::uint64_t o = entered.offset; o < entered.offset + entered.bytes; o += granule) {
      at_[granule_of(o)].store(&entered, std::memory_order_release);
    }
    bytes_.fetch_add(entered.bytes, relaxed);
    return entered;
  }
  /// Durable at return, so that a crash finds the segment of each record that counts (P3). The
  /// check is stored last: a header is complete, or the block is free.
  void write_header(const segment_type& of) {
    segment_header& header = of.header();
    if (D::load(header.check, relaxed) != 0) {
      // The block was no segment. What it contained must not look like one that is damaged.
      D::store(header.check, 0, relaxed);
      domain::note_store<D>();
      domain::persist<D>(&header.check, sizeof header.check);
    }
    D::store(header.state, 0, relaxed);
    const struct {
      std::uint64_t magic, ordinal, salt, bytes;
    } first{segment_header::right_magic, of.ordinal, of.salt, of.bytes};
    static_assert(sizeof first == offsetof(segment_header, check));
    D::write(&header, &first, sizeof first);
    const std::uint64_t reserved = 0;
    D::write(&header.reserved, &reserved, sizeof reserved);
    D::write(&header.reserved_too, &reserved, sizeof reserved);
    domain::persist<D>(&header, sizeof header);
    D::store(header.check, header.right_check(secret_), std::memory_order_release);
    domain::note_store<D>();
    domain::persist<D>(&header, sizeof header);
  }

  page_space<D>& pages_;
  blocks_type blocks_;
  std::size_t before_base_;
  base::growing_array<std::atomic<segment_type*>> at_;
  std::uint64_t secret_ = 0;
  std::atomic<std::uint64_t> next_salt_{0};
  std::atomic<std::uint64_t> next_ordinal_{1};
  std::atomic<std::size_t> bytes_{0};
  std::atomic<std::size_t> unsealed_{0};
  mutable domain::spin_lock<D> lock_;
  kept_index<D, Shape>* outlives_ = nullptr;
  std::unordered_map<std::uint64_t, segment_type*> kept_before_;  ///< during an opening
  segment_type* free_ = nullptr;                                  ///< objects in `outlives_`
  bool closes_ = false;
  std::vector<owned> all_;
};

}  // namespace outlast::store_detail::records
