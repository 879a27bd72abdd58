// Epochs for non-blocking operations: a clock passes operations that stand still.
//
// A thread that links or marks a node does not record the epoch. The first thread that depends on
// the node does so, in the payload: the label, or the mark, changes from 0 to the present epoch.
// Before that the thread publishes its intent, and only then reads the clock. A tick from e to e +
// 1 reads all intents before it writes back epoch e - 1, and completes those that it finds. So a
// number that is late finds another one in its place, and a number that is not late was noted.
//
// This goes beyond the paper, whose clock waits for operations also if structures are non-blocking:
// docs/papers/montage.md has the argument.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/per_thread.hpp>
#include <outlast/base/periodic_thread.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/epoch/detail/version.hpp>
#include <outlast/epoch/detail/write_log.hpp>
#include <outlast/epoch/options.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace outlast::epoch::detail {

/// The non-blocking part of a clock.
///
/// A payload may be reused when no thread holds it and the clock has moved three times since. A
/// node may be reused when no thread holds it and is_helped() returns false: so a tick can read the
/// node of an intent although it does not hold it.
///
/// Thread-safety: label(), retire() and is_helped(): any thread, concurrently; pass(): one thread
/// at a time, while the clock stands still. Progress: label() and retire() are wait-free except for
/// the write-back of a full buffer; pass() does not wait for other threads.
///
/// Invariants:
///   I1  A label or mark e that label() or retire() gave is on the media, with the payload, when
///       pass(e + 1) has returned and its caller has waited for it.
///   I2  Numbers never decrease: a thread that gives one has read the clock after all numbers that
///       it has seen were given.
template <domain::persistence_domain D>
class nonblocking_epochs {
  using site = domain::site;

 public:
  using version_type = version<D>;
  class record;

  /// Makes the epochs of a clock, which `ticks` moves.
  nonblocking_epochs(const domain::volatile_word<D, std::uint64_t>& now,
                     base::periodic_thread& ticks)
      : now_(now),
        ticks_(ticks),
        records_([](std::uint32_t) { return std::make_unique<record>(); }) {}

  /// Returns the record of the calling thread. Throws std::bad_alloc, error{forked}.
  [[nodiscard]] record& local() { return records_.local(); }
  void forbid() noexcept { records_.forbid(); }
  void configure(std::size_t buffer, write_back writes) noexcept {
    buffer_.store(buffer, std::memory_order_relaxed);
    writes_.store(writes, std::memory_order_relaxed);
  }

  /// Labels the payload of a node that other threads can see. The payload that it has replaced is
  /// retired in the same epoch, now or later. Requires: the caller prevents the node from being
  /// freed, and the replaced one until that is retired.
  void label(record& mine, version_type& node, site where = site::current()) {
    if (node.is_labelled()) return;
    const std::uint64_t epoch = intend(mine, to_label(node));
    // (P1) the label, behind the payload; noted before the intent goes away.
    if (node.stored().template try_label<D>(epoch, where)) {
      note(mine, epoch, &node.stored(), node.bytes(), where.at(1));
      if (version_type* const old = node.replaced()) {
        old->stored().template try_retire<D>(epoch, where.at(2));
        note(mine, epoch, &old->stored(), sizeof(payload_header), where.at(3));
        old->set_retired();
        node.has_replaced();
      }
    }
    node.set_labelled();
    withdraw(mine);
  }

  /// Retires the payload of a node whose deletion other threads can see. As label().
  void retire(record& mine, version_type& node, site where = site::current()) {
    if (node.is_retired()) return;
    const std::uint64_t epoch = intend(mine, to_retire(node));
    if (node.stored().template try_retire<D>(epoch, where)) {
      note(mine, epoch, &node.stored(), sizeof(payload_header), where.at(1));
    }
    node.set_retired();
    withdraw(mine);
  }

  /// Retires `old`, which `fresh`, a labelled node, has replaced; `old` may be unlinked at return.
  /// The thread that gave the label notes the mark.
  void retire_replaced(version_type& old, const version_type& fresh, site where = site::current()) {
    if (old.is_retired()) return;
    old.stored().template try_retire<D>(fresh.stored().template label<D>(), where);
    old.set_retired();
  }

  /// Returns true if a tick reads the node. Called when all other threads have left it.
  [[nodiscard]] bool is_helped(const version_type& node) const {
    // (6) seq_cst; synchronizes-with (4, 5).
    return D::load(helped_[0], std::memory_order_seq_cst) == address_of(node) ||
           D::load(helped_[1], std::memory_order_seq_cst) == address_of(node);
  }

  /// Starts the write-back of all changes of the epoch before `epoch`, the present one. The caller
  /// must wait.
  void pass(std::uint64_t epoch, site where = site::current()) {
    records_.for_each([&](record& each) {
      help(each, epoch, where);
      for (write_log<D>& log : each.logs_) {
        if (log.epoch() == epoch - 1) log.write_back(where.at(1));
      }
    });
  }

  /// Returns true if a thread is about to give a number.
  [[nodiscard]] bool is_used() const {
    bool any = false;
    records_.for_each([&](const record& each) {
      // (7) seq_cst; synchronizes-with (1, 3).
      any = any || each.intent_.load(std::memory_order_seq_cst) != 0;
    });
    return any;
  }
  /// Returns the greatest number that was given before is_used() returned false.
  [[nodiscard]] std::uint64_t last_change() const {
    std::uint64_t last = 0;
    records_.for_each([&](const record& each) {
      last = std::max(last, each.changed_in_.load(std::memory_order_relaxed));
    });
    return last;
  }

  // ---- For verification ----

  void set_effect(record& mine, std::uint64_t epoch) noexcept { mine.effect_ = epoch; }
  /// Returns the epoch in which the thread's last operation took effect, or 0.
  [[nodiscard]] std::uint64_t effect() { return records_.local().effect_; }
  [[nodiscard]] std::uint64_t take_effect() { return std::exchange(records_.local().effect_, 0); }

 private:
  static constexpr std::size_t slots = 4;
  static constexpr std::uintptr_t retiring = 1;

 public:
  class alignas(2 * base::cache_line_size) record {
    friend class nonblocking_epochs;

    std::atomic<std::uintptr_t> intent_{0};
    std::atomic<std::uint64_t> changed_in_{0};
    std::uint64_t effect_ = 0;
    std::array<write_log<D>, slots> logs_;
  };

 private:
  static std::uintptr_t address_of(const version_type& node) noexcept {
    return reinterpret_cast<std::uintptr_t>(&node);
  }
  static std::uintptr_t to_label(const version_type& node) noexcept { return address_of(node); }
  static std::uintptr_t to_retire(const version_type& node) noexcept {
    return address_of(node) | retiring;
  }

  /// Returns the present epoch.
  std::uint64_t intend(record& mine, std::uintptr_t what) {
    // (1) seq_cst, before the clock is read; synchronizes-with (2, 7): if the tick that ends the
    // epoch after the one that is read does not see the intent, it comes after withdraw().
    D::announce(mine.intent_, what);
    const std::uint64_t epoch = now_.load(std::memory_order_seq_cst);
    mine.changed_in_.store(epoch, std::memory_order_relaxed);
    ticks_.note_work();
    return epoch;
  }
  void withdraw(record& mine) {
    // (3) release; synchronizes-with (2, 7): what was intended is done, and noted.
    D::store(mine.intent_, std::uintptr_t{0}, std::memory_order_release, site::none());
  }

  void note(record& mine, std::uint64_t epoch, const void* first, std::size_t bytes, site where) {
    const write_back writes = writes_.load(std::memory_order_relaxed);
    if (!D::flushes() || writes == write_back::none) return;
    write_log<D>& to = mine.logs_[epoch % slots];
    if (to.epoch() != epoch) to.begin(epoch);
    const bool at_once = writes == write_back::each_operation && !domain::notes_pages<D>;
    if (at_once || !to.add(first, bytes)) {
      domain::persist<D>(first, bytes, where);
      return;
    }
    if (domain::notes_pages<D>) return;
    if (to.waiting() >= buffer_.load(std::memory_order_relaxed)) [[unlikely]]
      to.write_back_half(where.at(1));
  }

  /// Completes the intent of `each` in the present epoch, and writes it back. Its owner holds the
  /// node while the intent is published; afterwards is_helped() protects the node.
  void help(record& each, std::uint64_t epoch, site where) {
    // (2) seq_cst; synchronizes-with (1, 3).
    const std::uintptr_t intent = D::load(each.intent_, std::memory_order_seq_cst);
    if (intent == 0) return;
    auto& node = *reinterpret_cast<version_type*>(intent & ~retiring);
    // (4) seq_cst, before the intent is read again; synchronizes-with (6): a thread frees the node
    // after (3), so it reads this, or this thread reads that the intent is gone. Its owner has
    // noted then.
    D::announce(helped_[0], address_of(node));
    if (D::load(each.intent_, std::memory_order_seq_cst) == intent) {
      if ((intent & retiring) != 0) {
        finish_retirement(node, epoch, where);
      } else {
        help_to_label(each, node, epoch, where);
      }
    }
    D::store(helped_[0], std::uintptr_t{0}, std::memory_order_release, site::none());
    D::store(helped_[1], std::uintptr_t{0}, std::memory_order_release, site::none());
  }

  void help_to_label(record& each, version_type& node, std::uint64_t epoch, site where) {
    version_type* const old = node.replaced();
    // (5) seq_cst, before the intent is read again; synchronizes-with (6): as (4), and before the
    // node has its label: otherwise its owner would continue, and the replaced node be freed.
    if (old != nullptr) D::announce(helped_[1], address_of(*old));
    if (D::load(each.intent_, std::memory_order_seq_cst) != to_label(node)) return;
    finish_label(node, old, epoch, where);
  }

  void finish_label(version_type& node, version_type* old, std::uint64_t epoch, site where) {
    (void)node.stored().template try_label<D>(epoch, where.at(1));
    domain::flush<D>(&node.stored(), node.bytes(), where.at(2));
    if (old != nullptr) {
      // The thread that labels clears the replaced payload, then leaves.
      if (node.replaced() == old) {
        old->stored().template try_retire<D>(node.stored().template label<D>(), where.at(3));
        domain::flush<D>(&old->stored(), sizeof(payload_header), where.at(4));
        old->set_retired();
        node.has_replaced();
      }
    }
    node.set_labelled();
  }
  void finish_retirement(version_type& node, std::uint64_t epoch, site where) {
    (void)node.stored().template try_retire<D>(epoch, where.at(5));
    domain::flush<D>(&node.stored(), sizeof(payload_header), where.at(6));
    node.set_retired();
  }

  const domain::volatile_word<D, std::uint64_t>& now_;
  base::periodic_thread& ticks_;
  std::atomic<std::size_t> buffer_{clock_options().buffer};
  std::atomic<write_back> writes_{write_back::buffered};
  // What a tick looks at, and what that has replaced.
  alignas(2 * base::cache_line_size) std::array<std::atomic<std::uintptr_t>, 2> helped_{};
  base::per_thread<record> records_;
};

}  // namespace outlast::epoch::detail
