// Which blocks of a structure snapshots still see.
//
// Time is a number that each new snapshot increases. A block is born at a time; when the structure
// has no use for it any more, a snapshot that was opened since then may see it. It is kept by the
// newest of those then, and handed on to an older one when that closes, until none sees it.
#pragma once

#include <outlast/tx/field.hpp>
#include <outlast/tx/heap.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace outlast::tx::seq::detail {

/// A moment of a structure. Snapshots see what was born at theirs or before.
using moment = std::uint64_t;

/// The snapshots of one moment, and the blocks that they alone, or older ones with them, see.
class holder {
 public:
  holder(moment at, holder* older) : at_(at), open_(1), older_(older) {}

  [[nodiscard]] moment at() const noexcept { return at_; }

  /// What `link` leads to: null, or a holder of a moment before `newer`. So no list is a circle.
  [[nodiscard]] static holder* before(const pointer<holder>& link, moment newer) {
    holder* const found = link;
    if (found == nullptr) return nullptr;
    if (tx::detail::room_at(running(), found) < sizeof(holder) || found->at_ >= newer) [[unlikely]]
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
    pointer<std::byte> block;
    field<moment> born;
  };
  struct chunk {
    static constexpr std::size_t room = 15;

    pointer<chunk> next;
    field<std::uint64_t> count;
    std::array<kept, room> of;
  };
  static_assert(sizeof(kept) == 16 && sizeof(chunk) == 256);

  /// The last chunk.
  [[nodiscard]] chunk* last() const { return checked(last_); }
  [[nodiscard]] static chunk* next_of(const chunk& newer) { return checked(newer.next); }
  [[nodiscard]] static chunk* checked(const pointer<chunk>& link) {
    chunk* const found = link;
    if (found == nullptr) return nullptr;
    if (tx::detail::room_at(running(), found) < sizeof(chunk) || found->count > chunk::room)
        [[unlikely]] {
      refuse();
    }
    return found;
  }

  void keep(std::byte* block, moment born) {
    chunk* to = last();
    if (to == nullptr || to->count == chunk::room) {
      chunk* const made = alloc<chunk>();
      made->next = to;
      last_ = made;
      to = made;
    }
    kept& place = to->of.at(to->count);
    place.block = block;
    place.born = born;
    ++to->count;
  }

  [[nodiscard]] std::size_t blocks() const noexcept {
    std::size_t all = 1;
    for (const chunk* each = last_; each != nullptr; each = each->next) all += 1 + each->count;
    return all;
  }

  /// Bytes of what is kept and of where that is written, as they were rounded up.
  [[nodiscard]] std::size_t bytes() const {
    const heap in(running());
    std::size_t all = in.bytes_of(this);
    std::size_t left = running().bytes() / sizeof(chunk);
    for (const chunk* each = last(); each != nullptr; each = next_of(*each)) {
      if (left-- == 0) [[unlikely]]
        refuse();
      all += in.bytes_of(each);
      for (std::size_t i = 0; i < each->count; ++i) all += in.bytes_of(each->of.at(i).block.get());
    }
    return all;
  }

  /// Nobody uses it: frees what it keeps, but for what an older snapshot sees. False if that is
  /// more than `limit` blocks.
  bool hand_on(std::size_t& limit) {
    holder* below = before(older_, at_);
    while (below != nullptr && below->open_ == 0) below = before(below->older_, below->at_);
    while (chunk* const from = last()) {
      if (limit == 0) return false;
      --limit;
      if (from->count == 0) [[unlikely]]
        refuse();
      --from->count;
      const kept& taken = from->of.at(from->count);
      std::byte* const block = taken.block;
      const moment born = taken.born;
      if (from->count == 0) {
        last_ = from->next.get();
        tx::free_found(from);
      }
      if (below != nullptr && born <= below->at_) {
        below->keep(block, born);
      } else {
        tx::free_found(block);
      }
    }
    return true;
  }

  field<moment> at_;
  field<std::uint64_t> open_;  // snapshots
  pointer<holder> older_;
  pointer<chunk> last_;  // what is kept
};

/// The snapshots of a structure, and what is kept for them. On media: docs/formats/tx.md.
///
/// Invariants:
///   I1  the holders are in the order of their moments, and all of these are before now().
///   I2  a kept block is seen by its holder, if that is open, and by no newer one.
///   I3  seen_ is the moment of the newest holder that is open.
/// Sequential; a member of an object of a transaction manager.
class versions {
 public:
  /// What is written from here on is born then.
  [[nodiscard]] moment now() const noexcept { return now_; }
  /// Does a snapshot see what was born at `born`, and is not replaced yet?
  [[nodiscard]] bool is_seen(moment born) const noexcept { return born <= seen_; }
  /// The structure is changed at now().
  void change() {
    if (!changed_) changed_ = true;
  }
  /// Has nothing changed since the snapshots of `at` were opened?
  [[nodiscard]] bool is_latest(moment at) const noexcept { return !changed_ && at + 1 == now_; }

  /// A snapshot of now. What is written from here on is born later. Throws out_of_space.
  [[nodiscard]] holder* open() {
    holder* newest = holder::before(newest_, now_);
    if (newest != nullptr && newest->open_ != 0 && is_latest(newest->at_)) {
      ++newest->open_;
    } else {
      newest = alloc<holder>(now_, newest);
      newest_ = newest;
      ++now_;
      changed_ = false;
    }
    seen_ = newest->at_.get();
    return newest;
  }
  /// What it held is given back by reap().
  void close(holder& of) {
    --of.open_;
    if (of.open_ != 0) return;
    ++closed_;
    if (of.at_ != seen_) return;
    const holder* const newest = newest_open();
    seen_ = newest == nullptr ? 0 : newest->at_.get();
  }
  /// Closes all.
  void close_all() {
    moment newer = now_;
    for (holder* each = holder::before(newest_, newer); each != nullptr;
         each = holder::before(each->older_, newer)) {
      newer = each->at_;
      if (each->open_ == 0) continue;
      each->open_ = 0;
      ++closed_;
    }
    seen_ = 0;
  }
  [[nodiscard]] bool any() const noexcept { return newest_ != nullptr; }
  /// Do all lists lie in the replica, and run in no circle? Of those that may be damaged.
  [[nodiscard]] bool is_sound() const;
  /// Blocks that are kept, and those in which that is written. Visits these.
  [[nodiscard]] std::size_t blocks() const noexcept {
    std::size_t all = 0;
    for (const holder* each = newest_; each != nullptr; each = each->older_) all += each->blocks();
    return all;
  }

  /// The structure has no use for `block` any more: frees it, or keeps it while a snapshot sees it.
  /// Throws out_of_space.
  void retire(void* block, moment born) {
    if (!is_seen(born)) return tx::free_found(block);
    holder* const by = newest_open();
    if (by == nullptr) [[unlikely]]
      holder::refuse();
    by->keep(static_cast<std::byte*>(block), born);
  }

  /// Bytes of these, as they were rounded up. Visits them.
  [[nodiscard]] std::size_t bytes() const {
    std::size_t all = 0;
    moment newer = now_;
    for (const holder* each = holder::before(newest_, newer); each != nullptr;
         each = holder::before(each->older_, newer)) {
      newer = each->at_;
      all += each->bytes();
    }
    return all;
  }

  /// Frees what closed snapshots alone have kept, or hands it on; at most `limit` blocks. True if
  /// there may be more. Throws out_of_space.
  bool reap(std::size_t limit) {
    pointer<holder>* link = &newest_;
    moment newer = now_;
    while (closed_ != 0) {
      holder* const each = holder::before(*link, newer);
      if (each == nullptr) return false;
      newer = each->at_;
      if (each->open_ != 0) {
        link = &each->older_;
        continue;
      }
      if (!each->hand_on(limit)) return true;
      *link = each->older_.get();
      --closed_;
      tx::free_found(each);
    }
    return false;
  }

 private:
  [[nodiscard]] holder* newest_open() const {
    holder* each = holder::before(newest_, now_);
    while (each != nullptr && each->open_ == 0) each = holder::before(each->older_, each->at_);
    return each;
  }

  field<moment> now_{1};
  pointer<holder> newest_;
  field<moment> seen_;           // of the newest open snapshot; 0: none is open
  field<std::uint64_t> closed_;  // holders that no snapshot uses
  field<bool> changed_;          // since the newest holder was made
};
static_assert(sizeof(versions) == 40 && sizeof(holder) == 32);

inline bool versions::is_sound() const {
  const transaction& in = running();
  std::size_t left = in.bytes() / sizeof(holder);
  const auto lies_there = [&](const void* at, std::size_t bytes) {
    if (left == 0 || tx::detail::room_at(in, at) < bytes) return false;
    --left;
    return true;
  };
  moment newer = now_;
  for (const holder* each = newest_; each != nullptr; each = each->older_) {
    if (!lies_there(each, sizeof(holder)) || each->at_ >= newer) return false;
    newer = each->at_;
    for (const holder::chunk* some = each->last_; some != nullptr; some = some->next) {
      if (!lies_there(some, sizeof *some) || some->count > holder::chunk::room) return false;
    }
  }
  return true;
}

}  // namespace outlast::tx::seq::detail
