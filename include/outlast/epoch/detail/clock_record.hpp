// The clock's record in the pool. docs/formats/epoch.md has the meaning of each byte.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/pool/format.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/root/root_session.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace outlast::epoch::detail {

/// One of two copies of the time, each in a line of its own; a tick writes the older one. On a disk
/// a line may be torn. Then the other one is valid, which is one epoch behind, or two.
struct alignas(base::cache_line_size) clock_slot {
  std::uint64_t now;      ///< the epoch that begins
  std::uint64_t restart;  ///< the epoch in which the last opener began
  std::uint64_t kept;     ///< the boundary that it found
  std::uint64_t check;    ///< XXH3-64 of the 24 bytes before it
  std::uint64_t reserved[4];

  /// Returns the last epoch that is complete on the media if this copy is there. Epochs overlap by
  /// one, so it is the last but one before the present. An epoch that never began cannot be it.
  [[nodiscard]] std::uint64_t boundary() const noexcept {
    return now >= restart + 2 ? now - 2 : kept;
  }
};
static_assert(sizeof(clock_slot) == 64 && offsetof(clock_slot, check) == 24);

[[nodiscard]] inline std::uint64_t check_of(const clock_slot& slot) noexcept {
  return pool_format::checksum_of(&slot, offsetof(clock_slot, check));
}

/// States of a root in the clock's table; other values are `settle_from` plus a boundary.
inline constexpr std::uint64_t not_ours = 0;
inline constexpr std::uint64_t in_use = 1;  ///< its payloads have labels of this clock
inline constexpr std::uint64_t settle_from = 2;

/// The clock's root: two slots, then a word per root of the pool.
///
/// After a crash, all roots that were in use must be cut off at the same boundary, whenever they
/// are attached again. So the next opener writes the boundary into the word of each of them before
/// it restarts the clock. Each root is settled at its own boundary when it is attached.
template <domain::persistence_domain D>
class clock_session final : public roots::root_session<D> {
  using base_type = roots::root_session<D>;
  using slot = clock_slot;

 public:
  static constexpr const char* root_name = "outlast.epoch.clock";
  [[nodiscard]] static roots::root_type type() {
    return {"epoch::clock", 0x65706f6368'0001, true, false};
  }

  clock_session(typename base_type::pool_type& in, const attached_root& root)
      : base_type(in, root), roots_(in.first_roots()) {
    if (root.state == root_state::fresh) {
      create();
    } else {
      open();
    }
    start_anew();
  }

  /// Returns the last epoch that the opened pool contains completely.
  [[nodiscard]] std::uint64_t boundary() const noexcept { return time_.kept; }
  [[nodiscard]] std::uint64_t now() const noexcept { return time_.now; }

  /// Writes the time. Requires: everything before the new boundary is durable.
  void write(std::uint64_t now, domain::site where = domain::site::current()) {
    time_.now = now;
    time_.check = check_of(time_);
    slot& older = newest_ == slots_ ? slots_[1] : slots_[0];
    D::write(&older, &time_, sizeof(slot), where);
    newest_ = &older;
  }
  /// Starts the write-back of the bytes that write() wrote.
  void flush(domain::site where = domain::site::current()) {
    domain::flush<D>(newest_, sizeof(slot), where);
  }

  /// Returns the boundary at which the root must be settled before it is used, or nothing for a new
  /// root.
  [[nodiscard]] std::optional<std::uint64_t> unsettled(std::uint32_t root) const {
    if (root >= roots_) return std::nullopt;
    const std::uint64_t word = D::load(words_[root], std::memory_order_relaxed);
    if (word < settle_from) return std::nullopt;
    return word - settle_from;
  }
  [[nodiscard]] bool knows(std::uint32_t root) const {
    return root < roots_ && D::load(words_[root], std::memory_order_relaxed) != not_ours;
  }
  /// Records that the root is settled, durably, and about to be used. Durable at return.
  void take(std::uint32_t root) {
    if (root >= roots_) {
      throw error(errc::roots_exhausted, this->pool().path(),
                  "the root of a buffered structure has the number " + std::to_string(root) +
                      "; the clock has a table for " + std::to_string(roots_) +
                      " roots: drop a root, and then create the structure");
    }
    D::store(words_[root], in_use, std::memory_order_release);
    domain::persist<D>(&words_[root], sizeof(words_[root]));
  }

  [[nodiscard]] bool before_close() override { return true; }
  void collect_all() override {}
  void forbid() noexcept override {}

 private:
  /// Labels of the last opener may be ahead of the clock on the media by one epoch: during a sync,
  /// or on domains that make the clock durable with the next tick. The rest is a margin.
  static constexpr std::uint64_t ahead = 3;

  [[nodiscard]] std::size_t bytes() const noexcept {
    return 2 * sizeof(slot) + roots_ * sizeof(std::uint64_t);
  }

  void point_into(void* block) {
    slots_ = static_cast<slot*>(block);
    words_ = reinterpret_cast<std::atomic<std::uint64_t>*>(slots_ + 2);
  }

  void create() {
    void* const block = this->arena().allocate(bytes(), alignof(slot));
    point_into(block);
    D::zero(block, bytes());
    write(1);
    domain::persist<D>(block, bytes());
    this->pool().publish_root(this->root().index, block);
  }

  void open() {
    auto* const block = this->template object<slot>();
    if (this->pool().pages().block_bytes(block, this->root().index) < bytes()) {
      report("is shorter than the table of the pool's roots");
    }
    point_into(block);
    auto recovery = this->arena().begin_recovery();
    recovery.mark(block);
    recovery.finish();
    const slot* newest = nullptr;
    for (slot* each : {slots_, slots_ + 1}) {
      if (each->check != check_of(*each)) {
        blank(*each);
        continue;
      }
      if (newest == nullptr || each->now > newest->now) newest = each;
    }
    if (newest == nullptr) report("has no intact copy of the time");
    time_ = *newest;
    newest_ = newest;
    // It holds no pointers.
    if (this->root().pointers_base != this->pool().base()) {
      this->pool().root_relocated(this->root().index);
    }
  }

  /// Clears a torn copy. If its missing part were written over it, and the rest torn off again, it
  /// would be whole.
  static void blank(slot& torn) {
    D::zero(&torn, sizeof torn);
    domain::persist<D>(&torn, sizeof torn);
  }

  /// Stores the boundary for each root, durably, and then sets the clock after every existing
  /// label.
  void start_anew() {
    const std::uint64_t boundary = time_.boundary();
    for (std::size_t i = 0; i < roots_; ++i) {
      if (D::load(words_[i], std::memory_order_relaxed) != in_use) continue;
      // (P1) persisted-before (P2): a root that nobody has settled keeps its boundary.
      D::store(words_[i], settle_from + boundary, std::memory_order_release);
      domain::flush<D>(&words_[i], sizeof(words_[i]));
    }
    domain::fence<D>();
    time_.kept = boundary;
    time_.restart = time_.now + ahead;
    write(time_.restart);  // (P2) the boundary in the clock is another one from now on.
    flush();
    domain::fence<D>();
  }

  [[noreturn]] void report(const std::string& what) {
    throw corruption(this->pool().path(), "the clock of the pool's epochs " + what +
                                              "; the pool was damaged outside of Outlast, restore "
                                              "a backup");
  }

  std::size_t roots_;
  slot* slots_ = nullptr;
  const slot* newest_ = nullptr;
  std::atomic<std::uint64_t>* words_ = nullptr;
  slot time_ = {};
};

}  // namespace outlast::epoch::detail
