// A hash table of pointers in ordinary memory, with a lock per bucket, that grows while it is used.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/zeroed_array.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/spin_lock.hpp>
#include <outlast/domain/volatile_word.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace outlast::epoch::detail {

/// A bucket is a line: up to six items, and sixteen bits of the hash of each, so that a lookup
/// reads the item that it searches for and rarely another one. Further lines follow if a bucket has
/// more items. Its lock must be held while it is used.
template <class Item, domain::persistence_domain D>
class alignas(base::cache_line_size) bucket {
  static constexpr std::uint32_t per_line = 6;

 public:
  /// The position of an item.
  struct place {
    bucket* line = nullptr;
    std::uint32_t index = 0;

    explicit operator bool() const noexcept { return line != nullptr; }
    [[nodiscard]] Item* item() const noexcept { return item_of(line->entries_[index]); }
  };

  /// Returns the item for which `matches` returns true, among those that may have `hash`.
  template <class Matches>
  [[nodiscard]] place find(std::uint64_t hash, Matches&& matches) {
    const std::uint64_t tag = hash & tag_mask;
    for (bucket* line = this; line != nullptr; line = line->next_) {
      for (std::uint32_t i = 0; i < line->used_; ++i) {
        const std::uint64_t entry = line->entries_[i];
        if ((entry & tag_mask) == tag && matches(*item_of(entry))) return {line, i};
      }
    }
    return {};
  }
  void replace(place at, Item* item) noexcept {
    std::uint64_t& entry = at.line->entries_[at.index];
    entry = (entry & tag_mask) | word_of(item);
  }
  /// Removes an item; the last item takes its place. The last line may be empty afterwards: room
  /// that was made for an item that was not added.
  void remove(place at) noexcept {
    bucket* last = this;
    bucket* before = nullptr;
    for (; last->next_ != nullptr && last->next_->used_ != 0; last = last->next_) before = last;
    at.line->entries_[at.index] = last->entries_[--last->used_];
    if (last->used_ == 0 && before != nullptr) before->drop_further_lines();
  }
  /// Adds an item. Throws std::bad_alloc without effect, but not after make_room().
  void add(std::uint64_t hash, Item* item) {
    bucket& line = make_room();
    line.entries_[line.used_++] = (hash & tag_mask) | word_of(item);
  }
  /// Returns the line that has room for one more item.
  bucket& make_room() {
    bucket* line = this;
    for (; line->used_ == per_line; line = line->next_) {
      if (line->next_ == nullptr) line->next_ = new bucket();
    }
    return *line;
  }
  [[nodiscard]] std::uint32_t in_first_line() const noexcept { return used_; }

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const bucket* line = this; line != nullptr; line = line->next_) {
      for (std::uint32_t i = 0; i < line->used_; ++i) visit(*item_of(line->entries_[i]));
    }
  }

  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }
  /// True if the bucket's items are in the next table.
  [[nodiscard]] bool moved() const noexcept { return moved_; }
  void clear() noexcept {
    drop_further_lines();
    used_ = 0;
  }
  void empty_for_good() noexcept {
    clear();
    moved_ = true;
  }
  void drop_further_lines() noexcept {
    for (bucket* line = std::exchange(next_, nullptr); line != nullptr;) {
      delete std::exchange(line, line->next_);
    }
  }

 private:
  static constexpr std::uint64_t tag_mask = std::uint64_t{0xffff} << 48;
  static Item* item_of(std::uint64_t entry) noexcept {
    return reinterpret_cast<Item*>(entry & ~tag_mask);
  }
  static std::uint64_t word_of(const Item* item) noexcept {
    return reinterpret_cast<std::uintptr_t>(item);
  }

  domain::spin_lock<D> lock_;
  std::uint16_t used_ = 0;
  bool moved_ = false;
  bucket* next_ = nullptr;
  std::uint64_t entries_[per_line] = {};
};

/// Growing doubles the table. Each bucket moves when it is next used, and each insert moves some.
/// No thread waits for all. Former tables stay until the end: together they take no more memory
/// than the present one.
///
/// `HashOf` returns the hash of an item. Thread-safety: all members may be called concurrently.
template <class Item, class HashOf, domain::persistence_domain D>
class bucket_table {
 public:
  using bucket_type = bucket<Item, D>;

  /// Makes a table with `buckets` buckets, a power of two. It grows when there are more than `load`
  /// items per bucket.
  bucket_table(std::size_t buckets, std::size_t load) : load_(load) {
    tables_.push_back(std::make_unique<table>(buckets, nullptr));
    current_.store(tables_.back().get(), std::memory_order_release);
  }
  bucket_table(const bucket_table&) = delete;
  bucket_table& operator=(const bucket_table&) = delete;

  /// Calls `work(bucket)` with the bucket of `hash`, locked, and returns its result. Throws what it
  /// throws.
  template <class Work>
  decltype(auto) with(std::uint64_t hash, Work&& work) {
    for (;;) {
      // (1) acquire; synchronizes-with (2).
      table& now = *current_.load(std::memory_order_acquire);
      table* const old = now.previous.load(std::memory_order_acquire);
      bool moved = true;
      if (old != nullptr) [[unlikely]]
        moved = try_move(*old, now, hash & (old->size - 1));
      // Without memory to move the bucket, its items are used in the former table.
      table& holding = moved ? now : *old;
      bucket_type& here = holding[hash & (holding.size - 1)];
      const std::lock_guard lock(here);
      if (!here.moved()) [[likely]]
        return work(here);
    }
  }

  /// Returns, after an insert, whether grow_if_full() is likely to grow the table. Requires: the
  /// bucket is locked.
  [[nodiscard]] bool may_be_full(const bucket_type& here) const {
    return here.in_first_line() > load_ ||
           // (3) acquire; synchronizes-with (2): another thread may just have grown the table.
           current_.load(std::memory_order_acquire)->previous.load(std::memory_order_relaxed) !=
               nullptr;
  }
  /// Grows the table if it has too many `items`, or continues its growth. Without volatile memory
  /// it tries again at a later call. Requires: the caller holds no lock.
  void grow_if_full(std::size_t items) noexcept {
    table& now = *current_.load(std::memory_order_acquire);
    if (table* const old = now.previous.load(std::memory_order_acquire)) {
      move_some(*old, now);
    } else if (items > now.size * load_) {
      grow(now);
    }
  }

  /// Calls `visit(item)` for each item, under the lock of its bucket. Meanwhile the table does not
  /// begin to grow. Throws std::bad_alloc before the first visit.
  template <class Visit>
  void for_each(Visit&& visit) {
    const std::lock_guard no_growth(growing_);
    table& now = *current_.load(std::memory_order_acquire);
    if (table* const old = now.previous.load(std::memory_order_acquire)) {
      for (std::size_t i = 0; i < old->size; ++i) {
        if (!try_move(*old, now, i)) throw std::bad_alloc();
      }
    }
    for (std::size_t i = 0; i < now.size; ++i) {
      const std::lock_guard lock(now[i]);
      now[i].for_each(visit);
    }
  }

  /// Calls `visit(item)` for the items of the bucket that `cursor` names, under its lock. Returns
  /// the cursor of the next bucket; 0 is the first, and 0 is returned after the last. An item that
  /// is in the table during a whole walk is visited at least once, although the table may grow: the
  /// walk counts from the highest bit of the bucket's number down, so that the buckets into which
  /// one is divided are all before the walk, or all after it.
  template <class Visit>
  std::uint64_t scan(std::uint64_t cursor, Visit&& visit) {
    for (;;) {
      table& now = *current_.load(std::memory_order_acquire);
      table* const old = now.previous.load(std::memory_order_acquire);
      const bool moved = old == nullptr || try_move(*old, now, cursor & (old->size - 1));
      table& holding = moved ? now : *old;
      bucket_type& here = holding[cursor & (holding.size - 1)];
      const std::lock_guard lock(here);
      if (here.moved()) continue;
      here.for_each(visit);
      return after(cursor, holding.size - 1);
    }
  }

  /// Calls `visit(item)` for each item, and forgets it. Requires: no other thread uses the table.
  template <class Visit>
  void drain(Visit&& visit) noexcept {
    for (const auto& each : tables_) {
      for (std::size_t i = 0; i < each->size; ++i) {
        (*each)[i].for_each(visit);
        (*each)[i].clear();
      }
    }
  }

  [[nodiscard]] std::size_t size() const { return current_.load(std::memory_order_acquire)->size; }

 private:
  struct table {
    table(std::size_t buckets, table* old)
        : size(buckets), memory(buckets + 1, base::densely_used), previous(old) {
      auto address = reinterpret_cast<std::uintptr_t>(&memory[0]);
      address = (address + alignof(bucket_type) - 1) / alignof(bucket_type) * alignof(bucket_type);
      first = reinterpret_cast<bucket_type*>(address);
    }
    ~table() {
      for (std::size_t i = 0; i < size; ++i) first[i].drop_further_lines();
    }
    table(const table&) = delete;
    table& operator=(const table&) = delete;
    [[nodiscard]] bucket_type& operator[](std::size_t i) noexcept { return first[i]; }

    struct raw_line {
      std::byte bytes[sizeof(bucket_type)];
    };

    std::size_t size;
    base::zeroed_array<raw_line> memory;  // a bucket is empty when it is zero
    bucket_type* first;
    domain::volatile_word<D, table*> previous;
    domain::volatile_word<D, std::size_t> next_to_move{0};
    domain::volatile_word<D, std::size_t> moved{0};
  };

  static std::uint64_t reversed(std::uint64_t bits) noexcept {
    std::uint64_t result = 0;
    for (unsigned i = 0; i < 64; ++i) result |= (bits >> i & 1) << (63 - i);
    return result;
  }
  static std::uint64_t after(std::uint64_t cursor, std::uint64_t mask) noexcept {
    return reversed(reversed(cursor | ~mask) + 1);
  }

  /// Moves bucket `i` of `old`, unless it has moved. No thread uses the target buckets before that.
  /// Returns false without a change if there is no memory.
  [[nodiscard]] bool try_move(table& old, table& to, std::size_t i) noexcept {
    const std::lock_guard lock(old[i]);
    if (old[i].moved()) return true;
    bucket_type& low = to[i];
    bucket_type& high = to[i + old.size];
    try {
      old[i].for_each([&](Item& item) {
        const std::uint64_t hash = HashOf()(item);
        ((hash & old.size) == 0 ? low : high).add(hash, &item);
      });
    } catch (const std::bad_alloc&) {
      low.clear();
      high.clear();
      return false;
    }
    old[i].empty_for_good();
    const bool was_last = old.moved.fetch_add(1, std::memory_order_acq_rel) + 1 == old.size;
    if (was_last) to.previous.store(nullptr, std::memory_order_release);
    return true;
  }

  void move_some(table& old, table& to) noexcept {
    constexpr std::size_t some = 2;
    for (std::size_t n = 0; n < some; ++n) {
      const std::size_t i = old.next_to_move.fetch_add(1, std::memory_order_relaxed);
      // Another pass: a bucket for which there was no memory is still there.
      if (i >= old.size) return old.next_to_move.store(0, std::memory_order_relaxed);
      if (!try_move(old, to, i)) return;
    }
  }

  void grow(table& from) noexcept {
    const std::unique_lock alone(growing_, std::try_to_lock);
    if (!alone.owns_lock() || current_.load(std::memory_order_relaxed) != &from) return;
    try {
      tables_.push_back(std::make_unique<table>(2 * from.size, &from));
    } catch (const std::bad_alloc&) {
      return;
    }
    // (2) release; synchronizes-with (1, 3).
    current_.store(tables_.back().get(), std::memory_order_release);
  }

  std::size_t load_;
  domain::volatile_word<D, table*> current_{nullptr};
  alignas(base::cache_line_size) domain::spin_lock<D> growing_;
  std::vector<std::unique_ptr<table>> tables_;  // with growing_
};

}  // namespace outlast::epoch::detail
