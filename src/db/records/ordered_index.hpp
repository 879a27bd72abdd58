// The index of the record engine: a B+-tree in ordinary memory with optimistic lock coupling.
//
// A leaf maps keys to words of the engine. The keys themselves are in the records to which the
// words refer, so that a page has only the first bytes of each key after the prefix that its keys
// share. Readers take no lock: they read the version of a page, its content, and the version again.
// Writers lock the pages that they change, from the root towards the leaves.
//
// Literature: Leis, Scheibner, Kemper, Neumann, The ART of practical synchronization (DaMoN 2016),
// for optimistic lock coupling; Lomet, The evolution of effective B-tree page organization (SIGMOD
// Record 2001), for heads of keys.
#pragma once

#include <outlast/base/announce.hpp>
#include <outlast/base/cache_line.hpp>
#include <outlast/base/callers.hpp>
#include <outlast/db/detail/key_order.hpp>
#include <outlast/domain/backoff.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/hw/flush.hpp>
#include <src/db/records/index_notes.hpp>
#include <src/db/records/index_pages.hpp>
#include <src/db/records/kept_index.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::store_detail::records {

/// The index of a store. `KeyOf`: a function object that returns the key to which a word refers.
///
/// Thread-safety: all members may be called concurrently, except the constructor, the destructor
/// and build().
/// Requires: the calling thread is in an operation of the reclaimer of the store's pool, so that no
/// record or page that it reads is reused.
/// Progress: a call waits while another thread has locked a page on its way, which is short.
/// Invariants:
///   I1  a key is in the leaf whose bounds surround it, at most once; slots are in the order of
///       their keys.
///   I2  a page above the leaves has one child more than keys; a key is the lower bound of the
///       child after it.
template <domain::persistence_domain D, class Shape, class KeyOf>
class ordered_index {
  using page = index_page<D>;
  using leaf = leaf_page<D, Shape>;
  using inner = inner_page<D, Shape>;
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr auto acquire = std::memory_order_acquire;
  static constexpr auto release = std::memory_order_release;
  static constexpr auto seq_cst = std::memory_order_seq_cst;

 public:
  /// Throws std::bad_alloc, out_of_space.
  ordered_index(key_order order, KeyOf key_of)
      : order_(order), key_of_(std::move(key_of)), own_root_(memory_.template make<leaf>()) {}
  ~ordered_index() {
    if (memory_.is_kept()) {
      removed_.forget();
    } else {
      destroy(root_->load(relaxed));
    }
  }
  ordered_index(const ordered_index&) = delete;
  ordered_index& operator=(const ordered_index&) = delete;

  using note = index_note<D, Shape>;
  /// The index is in `kept` from now on, which must outlive this object. An index that is there is
  /// used again. Requires: the index is empty, and no other thread uses it. Throws std::bad_alloc,
  /// out_of_space.
  void use(kept_index<D, Shape>& kept) {
    destroy(root_->load(relaxed));
    memory_.use(kept.heap());
    root_ = &kept.root();
    if (root_->load(relaxed) == nullptr) root_->store(memory_.template make<leaf>(), release);
  }

  /// The slot of a key, or the place for a new slot, in one version of a leaf. A place remains
  /// usable in the operation of the reclaimer in which it was found.
  struct place {
    leaf* in = nullptr;
    std::uint64_t version = 0;
    unsigned at = 0;
    std::uint64_t word = 0;  ///< 0: the key has no slot
    /// The page above the leaf, and its version when it referred to the leaf. nullptr: none.
    const inner* above = nullptr;
    std::uint64_t version_above = 0;
  };

  /// Returns the place of a key.
  [[nodiscard]] place find(std::string_view key) const {
    for (;;) {
      place found;
      if (descend(key, false, found) && locate(key, found)) return found;
    }
  }
  /// Returns the place of a key. `near`: an earlier place of the key, or the result of approach().
  /// Searches from the root only if another leaf may contain the key.
  [[nodiscard]] place find(std::string_view key, const place& near) const {
    place found = near;
    if (reach(found) && locate(key, found)) return found;
    return find(key);
  }
  /// Returns the place of a key that is after the key of `before`, an earlier place. Searches from
  /// the root only if another leaf contains the key.
  [[nodiscard]] place find_after(std::string_view key, const place& before) const {
    place found = before;
    if (reach(found)) {
      const separator* const high = found.in->high.load(acquire);
      const bool is_inside =
          still(*found.in, found.version) && (high == nullptr || compare(key, high->view()) < 0);
      if (is_inside && locate(key, found)) return found;
    }
    return find(key);
  }
  /// Prefetches the leaf of a key. Returns a place for a find() or has_word() that follows.
  [[nodiscard]] place approach(std::string_view key) const {
    page* at = root_->load(acquire);
    std::uint64_t version = version_of(*at);
    if (at != root_->load(acquire)) return {};
    while (!at->is_leaf) {
      const inner& in = static_cast<const inner&>(*at);
      const std::optional<unsigned> which = child_for(in, version, key, false);
      if (!which) return {};
      page* const child = in.children[*which].load(acquire);
      if (!still(in, version)) return {};
      prefetch_page(child, in.level == 1);
      if (in.level == 1) {
        return {.in = static_cast<leaf*>(child), .above = &in, .version_above = version};
      }
      const std::uint64_t of_child = version_of(*child);
      if (!still(in, version)) return {};
      at = child;
      version = of_child;
    }
    return {};
  }
  /// Calls `visit(word)` for the first slot of a leaf that may be that of the key, to prefetch what
  /// it refers to. The word can be outdated. `near`: the result of approach().
  template <class Visit>
  void visit_likely(std::string_view key, const place& near, Visit&& visit) const {
    if (near.in == nullptr || !order_.is_by_bytes()) return;
    const leaf& in = *near.in;
    const unsigned count = count_of(in);
    const auto head = head_of<typename leaf::head_type>(key, in.prefix_size());
    const unsigned at = first_not_below(in.heads, 0, count, head);
    if (at < count && in.heads[at].load(relaxed) == head) visit(in.slots[at].load(acquire));
  }
  /// Returns whether the slot of a key has a word for which `is_wanted(word)` holds. Reads no other
  /// keys if keys are ordered by their bytes. `near`: as for find(); afterwards it is the leaf that
  /// was read.
  template <class IsWanted>
  [[nodiscard]] bool has_word(std::string_view key, place& near, IsWanted&& is_wanted) const {
    if (!order_.is_by_bytes()) {
      near = find(key, near);
      return is_wanted(near.word);
    }
    for (bool is_near = reach(near);; is_near = false) {
      if (!is_near && !descend(key, false, near)) continue;
      const leaf* const in = near.in;
      const std::uint64_t version = near.version;
      const unsigned count = count_of(*in);
      const std::size_t prefix = in->prefix_size();
      bool has = false;
      // A page that has changed stays so: unlock_unchanged() can return the version that was there.
      bool has_changed = false;
      if (in->compare_prefix(key, prefix) == 0) {
        const auto head = head_of<typename leaf::head_type>(key, prefix);
        unsigned at = first_not_below(in->heads, 0, count, head);
        for (; !has && at < count && in->heads[at].load(relaxed) == head; ++at) {
          const std::uint64_t word = in->slots[at].load(acquire);
          has_changed = !still(*in, version);
          if (has_changed) break;
          has = is_wanted(word);
        }
      }
      if (!has_changed && still(*in, version)) return has;
    }
  }
  /// Returns whether the leaf of a place has not changed since find().
  [[nodiscard]] bool is_current(const place& of) const { return still(*of.in, of.version); }

  /// Changes the slot of a key, or inserts one. Under the lock of the leaf, `change(word)` returns
  /// the new word for the present one, which is 0 if the key has no slot. If it returns its
  /// argument, nothing changes. Returns whether the slot has changed. Throws std::bad_alloc and
  /// out_of_space before the call of `change`, which must not throw. `at`: a place of the key that
  /// find() or update() has returned; afterwards it is the present one. `by`: the note of the
  /// calling thread, if the index is kept.
  template <class Change>
  bool update(std::string_view key, place& at, Change&& change, note* by = nullptr) {
    for (;;) {
      begin(by, *at.in);
      if (try_lock(*at.in, at.version)) {
        if (has_room_for(at)) {
          const bool has_changed = update_locked(key, at, change, by);
          end(by);
          return has_changed;
        }
        unlock_unchanged(*at.in);
        end(by);
        split_towards(key, by);
      } else {
        end(by);
      }
      at = find(key, at);
    }
  }
  /// Removes the slot of a key if it has `word`. Returns whether its leaf has few slots now, so
  /// that join_towards() may be useful. `at`: an earlier place of the key.
  bool remove(std::string_view key, place at, std::uint64_t word, note* by = nullptr) {
    for (;;) {
      at = find(key, at);
      if (at.word != word || word == 0) return false;
      begin(by, *at.in);
      if (!try_lock(*at.in, at.version)) {
        end(by);
        continue;
      }
      save(by);
      remove_slot(*at.in, at.at);
      const bool is_small = at.in->count.load(relaxed) <= leaf::capacity / 4;
      commit(by);
      unlock(*at.in);
      end(by);
      return is_small;
    }
  }
  /// Joins pages with few entries on the way to a key with their neighbours. Calls `retire(gone)`
  /// for each page, and each separator, that no operation finds any more.
  template <class Retire>
  void join_towards(std::string_view key, Retire&& retire, note* by = nullptr) {
    while (!try_to_join(key, retire, by)) {
    }
  }
  /// Returns the memory of an object that was passed to `retire`. Requires: no thread uses it.
  void destroy_retired(leaf_page<D, Shape>* gone) noexcept { destroy_retired_page(gone); }
  void destroy_retired(inner_page<D, Shape>* gone) noexcept { destroy_retired_page(gone); }
  void destroy_retired(separator* gone) noexcept {
    removed_.remove(gone);
    memory_.note_destroyed(sizeof(separator) + gone->bytes);
    memory_.destroy_separator(gone);
  }

  /// The content of a leaf.
  struct leaf_content {
    std::array<std::uint64_t, Shape::leaf_slots> words;
    unsigned count = 0;
    std::optional<std::string> low;   ///< keys are not before it; nothing: no bound
    std::optional<std::string> high;  ///< keys are before it; nothing: no bound
  };
  /// Direction of a search for a leaf.
  enum class side { at_or_after, before };
  /// Copies the leaf that contains the keys from `key` on, or those before `key`. Without a key,
  /// the first or the last leaf. Throws std::bad_alloc.
  void copy_leaf(const std::optional<std::string_view>& key, side wanted, leaf_content& to) const {
    for (;;) {
      place found;
      const bool before = wanted == side::before;
      if (!(key ? descend(*key, before, found) : descend_to_end(before, found))) continue;
      const leaf& in = *found.in;
      to.count = count_of(in);
      for (unsigned i = 0; i < to.count; ++i) to.words[i] = in.slots[i].load(acquire);
      const separator* const low = in.low.load(acquire);
      const separator* const high = in.high.load(acquire);
      if (!still(in, found.version)) continue;
      copy_bound(low, to.low);
      copy_bound(high, to.high);
      return;
    }
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return memory_.bytes(); }
  [[nodiscard]] const key_order& order() const noexcept { return order_; }
  /// Returns a negative number, zero or a positive number, as the keys are ordered.
  [[nodiscard]] int compare(std::string_view a, std::string_view b) const {
    if (order_.is_by_bytes()) return a.compare(b);
    return order_(a, b) ? -1 : order_(b, a) ? 1 : 0;
  }

  // ---- The construction of an index from sorted keys ----

  struct built_page {
    page* what;
    const separator* low;  ///< nullptr for the first page of a part
  };
  /// Makes the leaves of `count` words, whose keys ascend. Several threads may make parts
  /// concurrently. Throws std::bad_alloc, out_of_space: then the caller calls destroy_built().
  template <class WordAt>
  void make_leaves(std::size_t count, WordAt&& word_at, std::vector<built_page>& made);
  /// Makes the index of parts, whose keys ascend from part to part. Requires: the index is empty,
  /// and no other thread uses it. Throws std::bad_alloc, out_of_space.
  void build(std::vector<std::vector<built_page>>& parts);
  void destroy_built(std::vector<built_page>& made) noexcept {
    for (const built_page& each : made) {
      destroy(each.what);
      if (each.low != nullptr) memory_.destroy_separator(each.low);
    }
    made.clear();
  }

  /// Returns the first contradiction in the pages, or "". Requires: no other thread uses the index.
  [[nodiscard]] std::string check() const {
    std::string wrong;
    check_page(root_->load(relaxed), std::nullopt, std::nullopt, wrong);
    return wrong;
  }

 private:
  // ---- versions ----

  static bool is_locked(std::uint64_t version) noexcept { return (version & 1) != 0; }
  /// Waits until the page is not locked, and returns its version.
  static std::uint64_t version_of(const page& of) {
    domain::backoff<D> waiting;
    for (;;) {
      // (1) seq_cst; synchronizes-with (3). A snapshot that was counted before this load is seen by
      // a writer that locks the page after it (V2).
      const std::uint64_t version = of.version.load(seq_cst);
      if (!is_locked(version)) {
        D::schedule_point(&of.count);
        return version;
      }
      waiting.wait();
    }
  }
  static bool still(const page& of, std::uint64_t version) {
    base::order_loads();
    return of.version.load(relaxed) == version;
  }
  static bool try_lock(page& of, std::uint64_t version) {
    // (2) seq_cst; synchronizes-with (3).
    return of.version.compare_exchange(version, version + 1, seq_cst);
  }
  static void unlock(page& of) {
    // (3) release; synchronizes-with (1, 2).
    of.version.store(of.version.load(relaxed) + 1, release);
  }
  static void unlock_unchanged(page& of) {
    of.version.store(of.version.load(relaxed) - 1, release);
  }

  // ---- notes of an index that is kept ----

  static void begin(note* by, page& next) noexcept {
    if (by != nullptr) by->begin(next);
  }
  static void save(note* by) noexcept {
    if (by != nullptr) by->save();
  }
  static void commit(note* by) noexcept {
    if (by != nullptr) by->commit();
  }
  static void end(note* by) noexcept {
    if (by != nullptr) by->end();
  }

  static unsigned count_of(const page& of) noexcept {
    const unsigned limit = of.is_leaf ? leaf::capacity : inner::capacity;
    return std::min<unsigned>(of.count.load(relaxed), limit);
  }

  // ---- searches ----

  /// Returns the end of the heads, of the `count` ones from `at` on, that are below `head`.
  /// Has no branch that depends on a head: a processor would guess half of them wrongly.
  template <class Heads, class Head>
  static unsigned first_not_below(const Heads& heads, unsigned at, unsigned count,
                                  Head head) noexcept {
    while (count > 1) {
      const unsigned half = count / 2;
      at += heads[at + half - 1].load(relaxed) < head ? half : 0;
      count -= half;
    }
    return count == 0 ? at : at + (heads[at].load(relaxed) < head ? 1 : 0);
  }

  /// Returns the end of the heads from `at` on that are equal to `head`.
  template <class Heads, class Head>
  static unsigned end_of_equal(const Heads& heads, unsigned at, unsigned count,
                               Head head) noexcept {
    if (at == count || heads[at].load(relaxed) != head) return at;
    ++at;
    if (at == count || heads[at].load(relaxed) != head) return at;  // the usual case
    const Head after = head + 1;
    return after == 0 ? count : first_not_below(heads, at, count - at, after);
  }

  /// Sets the slot of `found`. Returns false if the leaf has changed. Follows no word before it is
  /// known to be in the leaf.
  bool locate(std::string_view key, place& found) const {
    const leaf& in = *found.in;
    const unsigned count = count_of(in);
    unsigned end = count;
    found.at = 0;
    if (order_.is_by_bytes()) {
      const std::size_t prefix = in.prefix_size();
      const int beside = in.compare_prefix(key, prefix);
      if (beside != 0) {
        found.at = beside < 0 ? 0 : count;
        return still(in, found.version);
      }
      const auto head = head_of<typename leaf::head_type>(key, prefix);
      found.at = first_not_below(in.heads, 0, count, head);
      end = end_of_equal(in.heads, found.at, count, head);
    }
    while (found.at < end) {
      const unsigned middle = found.at + (end - found.at) / 2;
      const std::uint64_t word = in.slots[middle].load(acquire);
      if (!still(in, found.version)) return false;
      const int order = compare(key, key_of_(word));
      if (order == 0) {
        found.at = middle;
        found.word = word;
        return true;
      }
      if (order < 0) {
        end = middle;
      } else {
        found.at = middle + 1;
      }
    }
    return still(in, found.version);
  }

  /// Returns the number of keys that are not after `key`; with `before`, of those before it.
  /// Returns nothing if the page has changed.
  std::optional<unsigned> child_for(const inner& in, std::uint64_t version, std::string_view key,
                                    bool before) const {
    const unsigned count = count_of(in);
    unsigned at = 0;
    unsigned end = count;
    if (order_.is_by_bytes()) {
      const std::size_t prefix = in.prefix_size();
      const int beside = in.compare_prefix(key, prefix);
      if (beside != 0) return beside < 0 ? 0 : count;
      const auto head = head_of<typename inner::head_type>(key, prefix);
      at = first_not_below(in.heads, 0, count, head);
      end = end_of_equal(in.heads, at, count, head);
    }
    while (at < end) {
      const unsigned middle = at + (end - at) / 2;
      const separator* const here = in.keys[middle].load(acquire);
      if (!still(in, version)) return std::nullopt;
      const int order = compare(key, here->view());
      if (before ? order <= 0 : order < 0) {
        end = middle;
      } else {
        at = middle + 1;
      }
    }
    return at;
  }

  /// Finds the leaf for `key`, or with `before` the leaf of the keys before it. Returns false if a
  /// page on the way has changed.
  bool descend(std::string_view key, bool before, place& to) const {
    return descend_by(
        [&](const inner& in, std::uint64_t its) { return child_for(in, its, key, before); }, to);
  }
  bool descend_to_end(bool last, place& to) const {
    return descend_by(
        [&](const inner& in, std::uint64_t) {
          return std::optional<unsigned>(last ? count_of(in) : 0);
        },
        to);
  }
  template <class Choose>
  bool descend_by(Choose&& choose, place& to) const {
    to = place{};
    page* at = root_->load(acquire);
    std::uint64_t version = version_of(*at);
    if (at != root_->load(acquire)) return false;
    while (!at->is_leaf) {
      const inner& in = static_cast<const inner&>(*at);
      const std::optional<unsigned> which = choose(in, version);
      if (!which) return false;
      page* const child = in.children[*which].load(acquire);
      if (!still(in, version)) return false;
      prefetch_page(child, in.level == 1);
      const std::uint64_t of_child = version_of(*child);
      if (!still(in, version)) return false;
      to.above = &in;
      to.version_above = version;
      at = child;
      version = of_child;
    }
    to.in = static_cast<leaf*>(at);
    to.version = version;
    return true;
  }
  /// Makes an earlier place the present version of its leaf, without a slot. Returns false if the
  /// page above has changed, or is not known: then the leaf may have other bounds, or be removed.
  bool reach(place& of) const {
    if (of.above == nullptr) return false;
    of.version = version_of(*of.in);
    of.word = 0;
    return still(*of.above, of.version_above);
  }
  /// Prefetches the lines of a page that an operation reads. Otherwise it waits for one after the
  /// other, because what it finds in one decides which line is next.
  static void prefetch_page(const page* of, bool is_leaf) noexcept {
    const std::size_t bytes = is_leaf ? sizeof(leaf) : offsetof_keys;
    for (std::size_t at = 0; at < bytes; at += base::cache_line_size) {
      hw::prefetch(reinterpret_cast<const std::byte*>(of) + at);
    }
  }
  static constexpr std::size_t offsetof_keys = sizeof(page) + sizeof(inner::heads);

  static void copy_bound(const separator* bound, std::optional<std::string>& to) {
    if (bound == nullptr) {
      to.reset();
    } else if (to) {
      to->assign(bound->view());
    } else {
      to.emplace(bound->view());
    }
  }

  // ---- changes of a locked page ----

  [[nodiscard]] std::string_view key_at(const leaf& in, unsigned i) const {
    return key_of_(in.slots[i].load(relaxed));
  }
  [[nodiscard]] std::string_view key_at(const inner& in, unsigned i) const {
    return in.keys[i].load(relaxed)->view();
  }

  static bool has_room_for(const place& at) {
    return at.word != 0 || at.in->count.load(relaxed) < leaf::capacity;
  }
  /// Unlocks the leaf. Requires: it has room for the key.
  template <class Change>
  bool update_locked(std::string_view key, place& at, Change& change, note* by) {
    leaf& in = *at.in;
    const std::uint64_t word = change(at.word);
    if (word == at.word) {
      unlock_unchanged(in);
      return false;
    }
    if (at.word != 0) {
      in.slots[at.at].store(word, release);
    } else {
      save(by);
      insert_slot(in, at.at, in.count.load(relaxed), key, word);
      commit(by);
    }
    unlock(in);
    at.version += 2;
    at.word = word;
    return true;
  }
  void insert_slot(leaf& in, unsigned at, unsigned count, std::string_view key,
                   std::uint64_t word) {
    admit(in, count, key);
    for (unsigned i = count; i > at; --i) {
      in.heads[i].store(in.heads[i - 1].load(relaxed), relaxed);
      in.slots[i].store(in.slots[i - 1].load(relaxed), release);
    }
    in.heads[at].store(head_of<typename leaf::head_type>(key, in.prefix_size()), relaxed);
    in.slots[at].store(word, release);
    in.count.store(static_cast<std::uint16_t>(count + 1), relaxed);
  }
  void remove_slot(leaf& in, unsigned at) {
    const unsigned count = in.count.load(relaxed);
    for (unsigned i = at; i + 1 < count; ++i) {
      in.heads[i].store(in.heads[i + 1].load(relaxed), relaxed);
      in.slots[i].store(in.slots[i + 1].load(relaxed), release);
    }
    in.count.store(static_cast<std::uint16_t>(count - 1), relaxed);
  }
  void insert_child(inner& in, unsigned at, const separator* key, page* right) {
    const unsigned count = in.count.load(relaxed);
    admit(in, count, key->view());
    for (unsigned i = count; i > at; --i) {
      in.heads[i].store(in.heads[i - 1].load(relaxed), relaxed);
      in.keys[i].store(in.keys[i - 1].load(relaxed), relaxed);
      in.children[i + 1].store(in.children[i].load(relaxed), relaxed);
    }
    in.heads[at].store(head_of<typename inner::head_type>(key->view(), in.prefix_size()), relaxed);
    in.keys[at].store(key, release);
    in.children[at + 1].store(right, release);
    in.count.store(static_cast<std::uint16_t>(count + 1), relaxed);
  }

  template <class Page>
  void set_prefix(Page& of, unsigned count, std::string_view text) {
    of.set_prefix_text(text);
    for (unsigned i = 0; i < count; ++i) {
      of.heads[i].store(head_of<typename Page::head_type>(key_at(of, i), text.size()), relaxed);
    }
  }
  /// Shortens the prefix if a new key does not begin with it.
  template <class Page>
  void admit(Page& of, unsigned count, std::string_view key) {
    if (!order_.is_by_bytes()) return;
    constexpr std::size_t head = sizeof(typename Page::head_type);
    if (count == 0) {
      const std::size_t bytes = key.size() > head ? key.size() - head : 0;
      return of.set_prefix_text(key.substr(0, std::min(bytes, page::max_prefix_bytes)));
    }
    const std::size_t prefix = of.prefix_size();
    if (of.compare_prefix(key, prefix) == 0) return;
    const std::string_view first = key_at(of, 0);
    set_prefix(of, count, first.substr(0, common_bytes(first, key, prefix)));
  }
  /// Lengthens the prefix after a split, if that makes the heads more selective.
  template <class Page>
  void narrow(Page& of, unsigned count) {
    if (count == 0 || !order_.is_by_bytes()) return;
    const std::string_view first = key_at(of, 0);
    const std::size_t common = common_bytes(first, key_at(of, count - 1), page::max_prefix_bytes);
    if (common >= of.prefix_size() + sizeof(typename Page::head_type) / 2) {
      set_prefix(of, count, first.substr(0, common));
    }
  }

  // ---- splits: index_splits.hpp ----

  /// Splits the first full page on the way to a key, until its leaf has been split. Throws
  /// std::bad_alloc and out_of_space without effect on the content.
  void split_towards(std::string_view key, note* by) {
    while (!try_to_split(key, by)) {
    }
  }
  bool try_to_split(std::string_view key, note* by);
  void split_locked(inner* parent, unsigned which, page& full, std::string_view key, note* by);
  page* split(leaf& full, std::string_view key, const separator*& between);
  page* split(inner& full, const separator*& between);
  template <class Page>
  void destroy_retired_page(Page* gone) noexcept {
    memory_.note_destroyed(sizeof(Page));
    memory_.destroy(gone);
  }

  // ---- joins: index_joins.hpp ----

  template <class Retire>
  bool try_to_join(std::string_view key, Retire& retire, note* by);
  template <class Page, class Retire>
  bool join_children(inner& parent, std::uint64_t of_parent, unsigned which, Page& small,
                     std::uint64_t version, bool& joined, Retire& retire, note* by);
  template <class Page, class Retire>
  void retire_page(Page& gone, Retire& retire) {
    memory_.note_retired(sizeof(Page));
    retire(&gone);
  }
  [[nodiscard]] static bool can_join(const leaf& left, const leaf& right);
  [[nodiscard]] static bool can_join(const inner& left, const inner& right);
  void append(leaf& to, leaf& from, const separator* between);
  void append(inner& to, inner& from, const separator* between);
  template <class Page>
  void choose_prefix(Page& of, unsigned count);
  static void remove_child(inner& from, unsigned key);

  void join_parts(std::vector<std::vector<built_page>>& parts, std::vector<built_page>& level);
  [[nodiscard]] inner* make_parent(const built_page* children, std::size_t count);
  void destroy(page* at) noexcept {
    if (at->is_leaf) return memory_.destroy(static_cast<leaf*>(at));
    auto* const in = static_cast<inner*>(at);
    const unsigned count = count_of(*in);
    for (unsigned i = 0; i <= count; ++i) destroy(in->children[i].load(relaxed));
    for (unsigned i = 0; i < count; ++i) memory_.destroy_separator(in->keys[i].load(relaxed));
    memory_.destroy(in);
  }

  using bound = std::optional<std::string_view>;
  void check_page(const page* at, const bound& low, const bound& high, std::string& wrong) const;
  void check_leaf(const leaf& in, const bound& low, const bound& high, std::string& wrong) const;
  [[nodiscard]] static bound bound_of(const separator* text) {
    return text == nullptr ? bound() : bound(text->view());
  }

  key_order order_;
  KeyOf key_of_;
  page_memory<D, Shape::large_pages> memory_;
  removed_separators<D> removed_;
  domain::volatile_word<D, page*> own_root_;
  domain::volatile_word<D, page*>* root_ = &own_root_;
};

}  // namespace outlast::store_detail::records

#include <src/db/records/index_build.hpp>
#include <src/db/records/index_joins.hpp>
#include <src/db/records/index_splits.hpp>
