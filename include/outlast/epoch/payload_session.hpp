// The volatile state of a buffered structure, and the recovery of its payloads.
#pragma once

#include <outlast/alloc/arena.hpp>
#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/domain/parallel.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/epoch/clock.hpp>
#include <outlast/epoch/operation.hpp>
#include <outlast/epoch/payload.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/root/root_session.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace outlast::epoch {

/// The volatile state of a buffered structure. A structure derives its own from it, and rebuilds it
/// from recovered() in its constructor. [Wen21, 5.1]
template <domain::persistence_domain D>
class payload_session : public roots::root_session<D> {
  using base_type = roots::root_session<D>;

  /// On media: docs/formats/epoch.md. Everything but a number is in the payloads.
  struct alignas(base::cache_line_size) root_block {
    std::atomic<std::uint64_t> number;
    std::uint64_t reserved[7];  ///< zero
  };
  static_assert(sizeof(root_block) == base::cache_line_size && offsetof(root_block, number) == 0);

 public:
  /// Creates the root, or settles it: recovered() returns its state at the end of the last epoch
  /// that the pool's clock guarantees. Durable at return. Re-entrant. Throws corruption,
  /// out_of_space.
  payload_session(typename base_type::pool_type& in, const attached_root& root, clock<D>& clock)
      : base_type(in, root, pool_format::recovery_mode::scan), clock_(clock), found_(threads()) {
    if (root.state == root_state::fresh) {
      create();
    } else {
      open();
    }
  }

  using base_type::arena;
  using base_type::pool;

  [[nodiscard]] bool before_close() override { return true; }
  void collect_all() override { clock_.settle(); }
  /// Waits until no tick reads intents of operations on this root. Waits for buffered operations of
  /// all roots, as each sync does. Throws error{io_failure}, error{refused} inside a buffered
  /// operation.
  void before_drop() override { clock_.sync(); }
  void forbid() noexcept override { is_parents_.store(true, std::memory_order_relaxed); }
  /// Throws error{forked} in the child of a fork. For calls that begin no operation of the clock,
  /// before they take a lock that another thread may have held during the fork.
  void require_here() const {
    if (is_parents_.load(std::memory_order_relaxed)) [[unlikely]]
      throw_forked();
  }

  /// Returns a number of the structure that only grows; 0 at first.
  [[nodiscard]] std::uint64_t kept_number() const {
    return D::load(block_->number, std::memory_order_relaxed);
  }
  /// Raises the number to `number` + `ahead`, unless it is at least `number`. Returns the number,
  /// which is durable at return in any case. Throws what a fence of the domain throws.
  std::uint64_t keep_number(std::uint64_t number, std::uint64_t ahead) {
    std::uint64_t kept = kept_number();
    while (kept < number) {
      if (D::compare_exchange(block_->number, kept, number + ahead, std::memory_order_relaxed)) {
        kept = number + ahead;
      }
    }
    domain::persist<D>(block_, sizeof(root_block));
    return kept;
  }

  [[nodiscard]] payload_memory<D> memory() noexcept { return {arena(), clock_}; }
  [[nodiscard]] epoch::clock<D>& clock() noexcept { return clock_; }
  [[nodiscard]] bool was_recovered() const noexcept {
    return this->root().state != root_state::fresh && this->root().state != root_state::clean;
  }

 protected:
  /// Returns the payloads that survived, in as many parts as threads may process them, in no order.
  /// May be called once. The caller owns them from now on.
  [[nodiscard]] std::vector<std::vector<payload_header*>> recovered() {
    return std::exchange(found_, {});
  }

  /// Returns the number of threads that may process them.
  [[nodiscard]] static unsigned threads() noexcept { return domain::threads_for_opening<D>(); }

  /// Returns the bytes of the block of a payload, against which its recorded length can be checked.
  [[nodiscard]] std::size_t room_of(const payload_header* at) const {
    return const_cast<payload_session*>(this)->arena().usable_size(at);
  }

  [[noreturn]] void report_damage(const std::string& what) {
    throw corruption(pool().path(), "root " + std::to_string(this->root().index) + " " + what +
                                        "; the pool was damaged outside of Outlast, restore a "
                                        "backup");
  }

 private:
  [[noreturn, gnu::noinline]] void throw_forked() const {
    throw error(errc::forked, const_cast<payload_session*>(this)->pool().path(),
                "the pool was opened before fork() and belongs to the parent process; the child "
                "may use only pools that it opens itself");
  }

  void create() {
    // (P1) persisted-before (P2): a root that exists is known to the clock.
    clock_.session().take(this->root().index);
    block_ = static_cast<root_block*>(arena().allocate(sizeof(root_block), alignof(root_block)));
    D::zero(block_, sizeof(root_block));
    domain::persist<D>(block_, sizeof(root_block));
    pool().publish_root(this->root().index, block_);  // (P2) it exists.
  }

  void open() {
    if (!clock_.session().knows(this->root().index)) {
      report_damage("holds payloads, but the pool's clock has no record of it");
    }
    block_ = this->template object<root_block>();
    const void* const object = block_;
    settle(object, clock_.session().unsettled(this->root().index));
    // (P3) persisted-before (P4): the clock forgets the boundary when nothing is left beyond it.
    clock_.session().take(this->root().index);  // (P4) and never asks again.
    arena().recover_by_scan(
        [&](void* block, std::size_t, std::uint64_t) {
          return block == object || is_alive(*static_cast<payload_header*>(block));
        },
        threads(), true);
    if (this->root().pointers_base != pool().base()) pool().root_relocated(this->root().index);
  }

  /// Returns true if the payload is live. Requires: it is settled.
  static bool is_alive(const payload_header& header) noexcept {
    return header.label<D>() != 0 && header.retired<D>() == 0;
  }

  /// Removes, durably, the changes after `boundary`. Changes that an earlier recovery removed do
  /// not come back: labels that are too new are cleared, and so are retirements.
  void settle(const void* object, std::optional<std::uint64_t> boundary) {
    const bool persists = D::flushes() && pool().pages().blocks_may_be_unflushed();
    const auto runs = arena().stored_runs();
    std::atomic<std::size_t> next{0};
    base::in_parallel(threads(), [&](unsigned worker) {
      for (std::size_t r; (r = next.fetch_add(1, std::memory_order_relaxed)) < runs.size();) {
        const auto [begin, stride, blocks] = runs[r];
        // A process that died may have left it in the caches.
        if (persists) domain::flush<D>(begin, blocks * stride);
        for (std::size_t i = 0; i < blocks; ++i) {
          std::byte* const block = begin + i * stride;
          if (block == object) continue;
          auto& header = *reinterpret_cast<payload_header*>(block);
          if (boundary) settle(header, *boundary);
          if (is_alive(header)) found_[worker].push_back(&header);
        }
      }
      domain::fence<D>();  // (P3)
    });
  }

  static void settle(payload_header& header, std::uint64_t boundary) {
    const std::uint64_t label = header.label<D>();
    if (label == 0) return;
    if (label > boundary) {
      header.blank<D>();
    } else if (header.retired<D>() > boundary) {
      header.set_retired<D>(0);
    } else {
      return;
    }
    domain::flush<D>(&header, sizeof header);
  }

  epoch::clock<D>& clock_;
  root_block* block_ = nullptr;
  std::vector<std::vector<payload_header*>> found_;
  std::atomic<bool> is_parents_{false};
};

}  // namespace outlast::epoch
