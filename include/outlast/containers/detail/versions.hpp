// Multi-version concurrency control: the blocks of a structure that snapshots still see.
//
// Each new snapshot increases a version number. A block has the version in which it was created,
// its `born`. When the structure retires a block, snapshots opened since that version see it. The
// newest of these keeps the block. When that snapshot closes, the block passes to the next older
// one, until no snapshot sees it.
#pragma once

#include <outlast/tx/field.hpp>
#include <outlast/tx/heap.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace outlast::containers::detail {

/// A version of a structure. A snapshot sees blocks that were born in its version or before.
using version = std::uint64_t;

/// The snapshots of one version, and the blocks that only these and older snapshots see.
class holder {
 public:
  holder(version at, holder* older) : at_(at), open_(1), older_(older) {}

  [[nodiscard]] version at() const noexcept { return at_; }

  /// Returns the target of `link`: nullptr, or a holder of a version before `newer`. So no list is
  /// a circle. Throws corruption for any other target.
  [[nodiscard]] static holder* before(const tx::pointer<holder>& link, version newer) {
    holder* const found = link;
    if (found == nullptr) return nullptr;
    const bool is_inside = tx::detail::room_at(tx::running(), found) >= sizeof(holder);
    if (!is_inside || found->at_ >= newer) [[unlikely]]
      refuse();
    return found;
  }

 private:
  friend class versions;

  [[noreturn, gnu::cold, gnu::noinline]] static void refuse() {
    tx::detail::refuse_damage("what is kept for snapshots contradicts itself");
  }

  /// On media: docs/formats/tx.md.
  struct kept {
    tx::pointer<std::byte> block;
    tx::field<version> born;
  };
  struct chunk {
    static constexpr std::size_t room = 15;

    tx::pointer<chunk> next;
    tx::field<std::uint64_t> count;
    std::array<kept, room> of;
  };
  static_assert(sizeof(kept) == 16 && sizeof(chunk) == 256);

  /// The last chunk.
  [[nodiscard]] chunk* last() const { return checked(last_); }
  [[nodiscard]] static chunk* next_of(const chunk& newer) { return checked(newer.next); }
  [[nodiscard]] static chunk* checked(const tx::pointer<chunk>& link) {
    chunk* const found = link;
    if (found == nullptr) return nullptr;
    if (tx::detail::room_at(tx::running(), found) < sizeof(chunk) || found->count > chunk::room)
        [[unlikely]] {
      refuse();
    }
    return found;
  }

  void keep(std::byte* block, version born) {
    chunk* to = last();
    if (to == nullptr || to->count == chunk::room) {
      chunk* const made = tx::alloc<chunk>();
      made->next = to;
      last_ = made;
      to = made;
    }
    place(*to, to->count, block, born);
    ++to->count;
  }

  [[nodiscard]] std::size_t blocks() const noexcept {
    std::size_t all = 1;
    for (const chunk* each = last_; each != nullptr; each = each->next) all += 1 + each->count;
    return all;
  }

  /// Returns the bytes of the kept blocks, and of the holder and its chunks, as they were rounded
  /// up.
  [[nodiscard]] std::size_t bytes() const {
    const tx::heap in(tx::running());
    std::size_t all = in.bytes_of(this);
    std::size_t left = tx::running().bytes() / sizeof(chunk);
    for (const chunk* each = last(); each != nullptr; each = next_of(*each)) {
      if (left-- == 0) [[unlikely]]
        refuse();
      all += in.bytes_of(each);
      for (std::size_t i = 0; i < each->count; ++i) all += in.bytes_of(each->of.at(i).block.get());
    }
    return all;
  }

  /// Frees the blocks of the last chunk, except for those that `to`, an older snapshot, sees, which
  /// pass to `to`. nullptr means no such snapshot. Allocates no memory: an operation that makes
  /// room must succeed without any. Requires: all chunks of `to` except its last are full.
  void hand_on_chunk(chunk* from, holder* to) {
    last_ = from->next.get();
    std::uint64_t left = 0;
    for (std::uint64_t i = 0; i < from->count; ++i) {
      const kept& taken = from->of.at(i);
      std::byte* const block = taken.block;
      const version born = taken.born;
      if (to == nullptr || born > to->at_) {
        tx::free_found(block);
      } else if (chunk* const there = to->last(); there != nullptr && there->count < chunk::room) {
        place(*there, there->count, block, born);
        ++there->count;
      } else {
        if (left != i) place(*from, left, block, born);
        ++left;
      }
    }
    if (left == 0) return tx::free_found(from);
    if (from->count != left) from->count = left;
    from->next = to->last_.get();
    to->last_ = from;
  }

  static void place(chunk& in, std::uint64_t at, std::byte* block, version born) {
    kept& to = in.of.at(at);
    to.block = block;
    to.born = born;
  }

  tx::field<version> at_;
  tx::field<std::uint64_t> open_;  // snapshots
  tx::pointer<holder> older_;
  tx::pointer<chunk> last_;  // of kept blocks
};

/// The snapshots of a structure, and the blocks that are kept for them. On media:
/// docs/formats/tx.md.
///
/// Invariants:
///   I1  the holders are in the order of their versions, which are all before now().
///   I2  the holder of a kept block sees it, if the holder is open, and no newer holder does.
///   I3  seen_ is the version of the newest open holder.
/// A closed holder that keeps no blocks is visited once: the closing of the next newer holder, or
/// sweep(), removes it from the list. So the cost of a change or a release() does not depend on the
/// number of snapshots.
/// Sequential code, a member of an object of a transaction manager.
class versions {
 public:
  /// Returns the version in which new blocks are born.
  [[nodiscard]] version now() const noexcept { return now_; }
  /// Returns true if a snapshot sees a block of version `born` that is not retired yet.
  [[nodiscard]] bool is_seen(version born) const noexcept { return born <= seen_; }
  /// Notes a change of the structure in version now().
  void change() {
    if (!changed_) changed_ = true;
  }
  /// Returns true if nothing has changed since the snapshots of `at` were opened.
  [[nodiscard]] bool is_latest(version at) const noexcept { return !changed_ && at + 1 == now_; }

  /// Opens a snapshot, and begins a new version if something has changed. Throws out_of_space.
  [[nodiscard]] holder* open() {
    holder* newest = holder::before(newest_, now_);
    if (newest != nullptr && newest->open_ != 0 && is_latest(newest->at_)) {
      ++newest->open_;
    } else {
      newest = tx::alloc<holder>(now_, newest);
      newest_ = newest;
      ++now_;
      changed_ = false;
    }
    seen_ = newest->at_.get();
    return newest;
  }
  /// Closes a snapshot. reap() frees its blocks.
  void close(holder& of) {
    --of.open_;
    if (of.open_ != 0) return;
    ++closed_;
    if (of.at_ != seen_) return;
    const holder* const newest = newest_open();
    seen_ = newest == nullptr ? 0 : newest->at_.get();
  }
  /// Closes a snapshot, unless it `is_closed` by a call that returned false, and frees the blocks
  /// that only it has kept. Subtracts their number from `limit`, and can exceed that by 14. Returns
  /// false if some are left: only the caller may free these. Throws out_of_space.
  bool release(holder& of, bool is_closed, std::size_t& limit) {
    if (!is_closed) {
      limit -= std::min<std::size_t>(limit, 1);
      close(of);
      if (of.open_ != 0) return true;
    }
    if (!hand_on(of, limit)) return false;
    drop_unused_newest();
    return true;
  }
  /// Removes the closed holders that keep no blocks from the list, if there are more than `spare`
  /// of them.
  void sweep(std::size_t spare) {
    if (closed_ <= spare) return;
    tx::pointer<holder>* link = &newest_;
    version newer = now_;
    while (holder* const each = holder::before(*link, newer)) {
      newer = each->at_;
      if (is_unused(*each)) {
        remove(*link, *each);
      } else {
        link = &each->older_;
      }
    }
  }
  /// Closes all snapshots. Returns one holder that keeps the blocks of all; nullptr if there are no
  /// such blocks.
  holder* close_all() {
    std::size_t left = tx::running().bytes() / sizeof(holder);
    holder* const newest = holder::before(newest_, now_);
    seen_ = 0;
    closed_ = 0;
    if (newest == nullptr) return nullptr;
    holder::chunk* end = end_of(newest->last(), left);
    while (holder* const each = holder::before(newest->older_, newest->at_)) {
      if (holder::chunk* const some = each->last()) {
        if (end == nullptr) {
          newest->last_ = some;
        } else {
          end->next = some;
        }
        end = end_of(some, left);
      }
      newest->older_ = each->older_.get();
      tx::free_found(each);
    }
    newest->open_ = 0;
    closed_ = 1;
    drop_unused_newest();
    return newest_;
  }
  /// Returns true if there are closed holders.
  [[nodiscard]] bool any_closed() const noexcept { return closed_ != 0; }
  [[nodiscard]] bool any() const noexcept { return newest_ != nullptr; }
  /// Returns true if all lists are inside the replica, without circles. They may be damaged.
  [[nodiscard]] bool is_sound() const;
  /// Returns the number of kept blocks, and of holders and chunks. Visits the latter.
  [[nodiscard]] std::size_t blocks() const noexcept {
    std::size_t all = 0;
    for (const holder* each = newest_; each != nullptr; each = each->older_) all += each->blocks();
    return all;
  }

  /// Retires `block`: frees it, or keeps it while a snapshot sees it.
  /// Throws out_of_space.
  void retire(void* block, version born) {
    if (!is_seen(born)) return tx::free_found(block);
    holder* const by = newest_open();
    if (by == nullptr) [[unlikely]]
      holder::refuse();
    by->keep(static_cast<std::byte*>(block), born);
  }

  /// Returns the bytes of these, as they were rounded up. Visits them.
  [[nodiscard]] std::size_t bytes() const {
    std::size_t all = 0;
    version newer = now_;
    for (const holder* each = holder::before(newest_, newer); each != nullptr;
         each = holder::before(each->older_, newer)) {
      newer = each->at_;
      all += each->bytes();
    }
    return all;
  }

  /// Frees the blocks that only closed snapshots keep, or passes them on; at most 14 blocks more
  /// than `limit`. Returns true if there may be more. Visits all open snapshots. Throws
  /// out_of_space.
  bool reap(std::size_t limit) {
    tx::pointer<holder>* link = &newest_;
    version newer = now_;
    while (closed_ != 0) {
      holder* const each = holder::before(*link, newer);
      if (each == nullptr) return false;
      newer = each->at_;
      if (each->open_ != 0) {
        link = &each->older_;
        continue;
      }
      if (!hand_on(*each, limit)) return true;
      remove(*link, *each);
    }
    return false;
  }

  /// A position in the kept blocks, of the running operation.
  struct mark {
    const void* chunk = nullptr;
    std::uint64_t count = 0;
  };
  [[nodiscard]] mark kept_now() const {
    const holder::chunk* const last = newest_chunk();
    return last == nullptr ? mark{} : mark{last, last->count};
  }
  /// Returns the number of blocks that were retired since `then` and that a snapshot sees.
  [[nodiscard]] std::size_t kept_since(const mark& then) const {
    std::size_t all = 0;
    for (const holder::chunk* each = newest_chunk(); each != nullptr; each = each->next) {
      if (each == then.chunk) return all + each->count - std::min(then.count, each->count.get());
      all += each->count;
    }
    return all;
  }

 private:
  [[nodiscard]] holder* newest_open() const {
    holder* each = holder::before(newest_, now_);
    while (each != nullptr && each->open_ == 0) each = holder::before(each->older_, each->at_);
    return each;
  }
  [[nodiscard]] const holder::chunk* newest_chunk() const {
    const holder* const newest = seen_ == 0 ? nullptr : newest_open();
    return newest == nullptr ? nullptr : newest->last();
  }

  [[nodiscard]] static bool is_unused(const holder& each) noexcept {
    return each.open_ == 0 && each.last_ == nullptr;
  }
  /// Removes `each`, a closed holder, from the list. `link` leads to it.
  void remove(tx::pointer<holder>& link, holder& each) {
    link = each.older_.get();
    if (closed_ == 0) [[unlikely]]
      holder::refuse();
    --closed_;
    tx::free_found(&each);
  }
  void drop_unused_newest() {
    for (holder* each = holder::before(newest_, now_); each != nullptr && is_unused(*each);
         each = holder::before(newest_, now_)) {
      remove(newest_, *each);
    }
  }
  /// Returns the next older open holder; nullptr if there is none.
  [[nodiscard]] holder* below(holder& of) {
    holder* each = holder::before(of.older_, of.at_);
    while (each != nullptr && is_unused(*each)) {
      remove(of.older_, *each);
      each = holder::before(of.older_, of.at_);
    }
    while (each != nullptr && each->open_ == 0) each = holder::before(each->older_, each->at_);
    return each;
  }
  /// Frees the blocks of a closed holder, except for those that an older snapshot sees. Returns
  /// false if there are more than `limit` blocks.
  bool hand_on(holder& of, std::size_t& limit) {
    holder* const to = below(of);
    while (holder::chunk* const from = of.last()) {
      if (limit == 0) return false;
      if (from->count == 0) [[unlikely]]
        holder::refuse();
      limit -= std::min<std::size_t>(limit, from->count);
      of.hand_on_chunk(from, to);
    }
    return true;
  }
  /// Returns the last chunk of a list. Throws corruption if the list is longer than `left`.
  [[nodiscard]] static holder::chunk* end_of(holder::chunk* first, std::size_t& left) {
    holder::chunk* end = first;
    while (end != nullptr && end->next != nullptr) {
      end = end->next.get();
      if (left == 0 || tx::detail::room_at(tx::running(), end) < sizeof *end) [[unlikely]]
        holder::refuse();
      --left;
    }
    return end;
  }

  tx::field<version> now_{1};
  tx::pointer<holder> newest_;
  tx::field<version> seen_;          // of the newest open snapshot; 0: none is open
  tx::field<std::uint64_t> closed_;  // holders that no snapshot uses
  tx::field<bool> changed_;          // since the newest holder was made
};
static_assert(sizeof(versions) == 40 && sizeof(holder) == 32);

inline bool versions::is_sound() const {
  const tx::transaction& in = tx::running();
  std::size_t left = in.bytes() / sizeof(holder);
  const auto lies_there = [&](const void* at, std::size_t bytes) {
    if (left == 0 || tx::detail::room_at(in, at) < bytes) return false;
    --left;
    return true;
  };
  version newer = now_;
  for (const holder* each = newest_; each != nullptr; each = each->older_) {
    if (!lies_there(each, sizeof(holder)) || each->at_ >= newer) return false;
    newer = each->at_;
    for (const holder::chunk* some = each->last_; some != nullptr; some = some->next) {
      if (!lies_there(some, sizeof *some) || some->count > holder::chunk::room) return false;
    }
  }
  return true;
}

}  // namespace outlast::containers::detail
