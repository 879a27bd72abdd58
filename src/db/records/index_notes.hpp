// What threads change in an index that outlives its process, so that a kill leaves no half change.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/domain/concept.hpp>
#include <src/db/records/index_pages.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace outlast::store_detail::records {

/// The change that a thread makes in an index, and its part of the counts of keys.
///
/// A kill ends a thread between two instructions, and leaves all stores before them. A page that is
/// being changed has an image of before in the note, which the next opening restores. The change
/// takes effect when the images are given up, by one store.
///
/// Thread-safety: one thread uses a note. undo() and the members for an opening require that no
/// thread does.
template <domain::persistence_domain D, class Shape>
struct alignas(base::cache_line_size) index_note {
  using page = index_page<D>;
  using leaf = leaf_page<D, Shape>;
  using inner = inner_page<D, Shape>;
  static constexpr unsigned max_pages = 3;
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr auto release = std::memory_order_release;

  // ---- pages ----

  /// Notes a page that the thread is about to lock.
  void begin(page& one) noexcept {
    const std::uint32_t at = pages.load(relaxed);
    which[at].store(&one, relaxed);
    pages.store(at + 1, release);
  }
  /// Keeps the present content of all noted pages. Requires: the thread has locked them.
  void save() noexcept {
    const std::uint32_t count = pages.load(relaxed);
    for (std::uint32_t i = 0; i < count; ++i) {
      const page* const from = which[i].load(relaxed);
      std::memcpy(images[i].data(), static_cast<const void*>(from), bytes_of(*from));
    }
    saved.store(count, release);
  }
  /// As save(). The root of the index changes, too.
  void save_with_root(page* root) noexcept {
    root_before.store(root, relaxed);
    save();
  }
  /// The change takes effect. Requires: no page was unlocked since save().
  void commit() noexcept {
    saved.store(0, release);
    root_before.store(nullptr, relaxed);
  }
  /// Forgets the pages, which the thread has unlocked.
  void end() noexcept { pages.store(0, release); }

  /// Restores the pages of a change that has not taken effect. Returns whether there was one.
  bool undo(domain::volatile_word<D, page*>& root) {
    const std::uint32_t count = std::min(saved.load(relaxed), max_pages);
    for (std::uint32_t i = 0; i < count; ++i) {
      page* const to = which[i].load(relaxed);
      // The image has the class of the page, which does not change.
      std::memcpy(static_cast<void*>(to), images[i].data(), bytes_of(*to));
    }
    if (page* const before = root_before.load(relaxed); count != 0 && before != nullptr) {
      root.store(before, release);
    }
    commit();
    return count != 0;
  }
  /// Unlocks the noted pages. Requires: undo() of all notes.
  void unlock_all() {
    const std::uint32_t count = std::min(pages.load(relaxed), max_pages);
    for (std::uint32_t i = 0; i < count; ++i) {
      page& one = *which[i].load(relaxed);
      const std::uint64_t version = one.version.load(relaxed);
      if ((version & 1) != 0) one.version.store(version + 1, release);
    }
    end();
  }

  // ---- records ----

  /// Notes a record that the thread is about to write, and its effect on the counts.
  void begin_write(std::uint64_t record, std::uint64_t ordinal, std::int64_t more_keys,
                   std::int64_t more_tombstones) noexcept {
    next_keys.store(keys.load(relaxed) + more_keys, relaxed);
    next_tombstones.store(tombstones.load(relaxed) + more_tombstones, relaxed);
    in_segment.store(ordinal, relaxed);
    writing.store(record, release);
  }
  /// The record counts.
  void end_write(std::uint64_t version) noexcept {
    keys.store(next_keys.load(relaxed), release);
    tombstones.store(next_tombstones.load(relaxed), release);
    if (last_version.load(relaxed) < version) last_version.store(version, relaxed);
    note_written(writing.load(relaxed), in_segment.load(relaxed));
    writing.store(0, release);
  }
  void cancel_write() noexcept { writing.store(0, release); }
  /// Notes the last record that the thread has completed.
  void note_written(std::uint64_t record, std::uint64_t ordinal) noexcept {
    last_record.store(0, release);
    last_segment.store(ordinal, release);
    last_record.store(record, release);
  }

  std::atomic<std::uint32_t> pages{0};  ///< noted
  std::atomic<std::uint32_t> saved{0};  ///< pages with images; 0: no change is being made
  std::array<std::atomic<page*>, max_pages> which{};
  std::atomic<page*> root_before{nullptr};
  std::atomic<std::uint64_t> writing{0};  ///< place of a record that may not be counted yet
  std::atomic<std::uint64_t> in_segment{0};
  std::atomic<std::int64_t> keys{0};
  std::atomic<std::int64_t> next_keys{0};
  std::atomic<std::int64_t> tombstones{0};
  std::atomic<std::int64_t> next_tombstones{0};
  std::atomic<std::uint64_t> last_version{0};
  std::atomic<std::uint64_t> last_record{0};  ///< place; 0: none
  std::atomic<std::uint64_t> last_segment{0};
  std::atomic<bool> is_taken{false};
  index_note* next = nullptr;  ///< in the list of all notes

 private:
  [[nodiscard]] static std::size_t bytes_of(const page& of) noexcept {
    return of.is_leaf ? sizeof(leaf) : sizeof(inner);
  }

  alignas(base::cache_line_size)
      std::array<std::array<std::byte, std::max(sizeof(leaf), sizeof(inner))>, max_pages> images;
};

}  // namespace outlast::store_detail::records
