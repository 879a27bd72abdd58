// A buffered first-in first-out queue.
//
//   outlast::epoch::queue<job> jobs(pool, "jobs");
//   jobs.push(work);
//   std::optional<job> next = jobs.pop();
//
// Payloads contain the values and are numbered in order. Everything else is a ring of pointers in
// ordinary memory. queue has one lock for pushing and one for popping threads, which meet only if
// the queue is nearly empty. one_lock_queue has one lock for both ends [Wen21, 6.1]. Their data in
// the pool is the same: each opens the other's.
//
// Use queue; one_lock_queue is for comparison with the publication. `outlast bench --micro
// epochs-queues` measures which is faster.
//
// When not to use: as for epoch::hash_map; if many threads contend for values, no queue scales.
//
// Memory: 32 bytes in the pool per value, in addition to the value; 8 to 16 outside.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/hash.hpp>
#include <outlast/base/stored_name.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/domain/spin_lock.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/epoch/detail/numbered_payloads.hpp>
#include <outlast/epoch/detail/stored_pair.hpp>
#include <outlast/epoch/payload_session.hpp>
#include <outlast/epoch/policies.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/root/attached.hpp>
#include <outlast/root/map_operations.hpp>
#include <outlast/root/storable.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace outlast::epoch {

/// The locks of a queue.
enum class queue_locks {
  one,       ///< one lock: each operation waits for every other one
  each_end,  ///< a lock per end: a push waits for pushes, a pop for pops
};

/// A queue of trivially copyable values, or of std::string.
///
/// Thread-safety: all members may be called concurrently. for_each() blocks all other members, and
/// its visitor must not use the queue. Progress: blocking, by `Locks`. Durability: as
/// epoch::hash_map.
template <class Policy, roots::storable Value, queue_locks Locks = queue_locks::each_end>
class basic_queue : public roots::structure_operations<basic_queue<Policy, Value, Locks>> {
  using D = typename Policy::domain_type;
  using pair = detail::stored_pair<std::uint64_t, Value>;
  using payload_type = typename pair::payload_type;
  using prepared_type = typename Policy::template prepared<typename pair::content>;
  using operation = typename Policy::operation;
  using pending_operation = typename Policy::pending_operation;
  using value_view = typename roots::reading<Value>::view;
  class session;
  friend struct roots::handle_access;

 public:
  using value_type = Value;
  using policy_type = Policy;
  using pool_type = basic_pool<D>;

  /// Attaches the queue `name` in `pool`. Creates it if there is none. Durable at return. Throws
  /// error{root_type_mismatch}, also if this process has attached it with other locks since the
  /// pool was opened; corruption, out_of_space, std::bad_alloc.
  basic_queue(pool_type& pool, std::string_view name)
      : clock_(clock_of(pool)), session_(pool, name, type(), clock_) {}

  /// Appends `value`. Throws out_of_space, std::bad_alloc without effect.
  void push(value_view value) {
    // Written before the lock is taken; its number is stored under the lock.
    prepared_type made =
        pair::template prepare<prepared_type>(session_->memory(), std::uint64_t{0}, value);
    session_->push(std::move(made));
  }

  /// Removes and returns the first value, or nothing.
  std::optional<Value> pop() {
    std::optional<Value> taken;
    session_->pop([&](value_view value) { taken.emplace(value); });
    return taken;
  }

  [[nodiscard]] bool empty() const { return session_->is_empty(); }
  /// Returns the number of values; exact while no operation runs.
  [[nodiscard]] std::size_t size_estimate() const { return session_->size(); }

  /// Calls `visit(value)`, first for the value that pop() would return first.
  template <class Visit>
  void for_each(Visit&& visit) const {
    session_->for_each([&](const payload_type& at) { visit(pair::value_of(at)); });
  }

  /// Blocks until every operation that has returned is durable. As clock::sync().
  void sync() { clock_.sync(); }

  [[nodiscard]] epoch::clock<D>& pool_clock() noexcept { return clock_; }

 private:
  static roots::root_type type() {
    const std::string full = std::string("epoch::queue,") + base::stored_name<Value>() + ",1";
    return {"epoch::queue<" + std::to_string(sizeof(Value)) + ">", base::hash_bytes(full), true,
            false};
  }

  /// The volatile state: a ring of pointers. The item of number n is at n modulo the ring's size.
  ///
  /// Invariants: the present items have the numbers from first_ to last_. A popping thread holds
  /// the lock of the front and reads items below last_. A pushing thread holds in_, and also the
  /// lock of the front if it changes the ring. With one lock in_ is the front's, too.
  class session final : public payload_session<D> {
   public:
    session(pool_type& in, const attached_root& root, epoch::clock<D>& clock)
        : payload_session<D>(in, root, clock) {
      std::uint64_t first = 0;
      const std::vector<payload_type*> items = detail::in_order<pair>(
          this->recovered(), first, [this](auto* each) { return this->room_of(each); },
          [this](const char* what) { this->report_damage(what); });
      ring_.resize(std::max<std::size_t>(std::bit_ceil(items.size() + 1), min_ring));
      for (payload_type* item : items) slot(pair::key_of(*item)) = item;
      first_.store(first, std::memory_order_relaxed);
      last_.store(first + items.size(), std::memory_order_relaxed);
    }

    void push(prepared_type&& made) {
      pending_operation coming(this->memory());
      const std::lock_guard lock(in_);
      const std::uint64_t number = last_.load(std::memory_order_relaxed);
      // (1) acquire; synchronizes-with (2): the slot is free.
      if (number - first_.load(std::memory_order_acquire) == ring_.size()) grow();
      operation op(coming);
      pair::template set_key<D>(*made.get(), number);
      slot(number) = op.adopt(std::move(made));
      // (3) release; synchronizes-with (4).
      last_.store(number + 1, std::memory_order_release);
    }

    template <class Take>
    void pop(Take&& take) {
      if (take_first(take)) return;
      if constexpr (has_one_lock) return;  // while it was held nobody pushed
      const std::lock_guard nobody_pushes(in_);
      (void)take_first(take);
    }

    /// Waits until no thread can push in an epoch before that of the last popped value. A caller
    /// that gets "empty" must not meet a value of an earlier epoch afterwards.
    [[nodiscard]] bool is_empty() {
      if (size() != 0) return false;
      this->require_here();
      const std::lock_guard nobody_pushes(in_);
      return size() == 0;
    }

   private:
    template <class Take>
    [[nodiscard]] bool take_first(Take&& take) {
      pending_operation coming(this->memory());
      const std::lock_guard lock(front());
      const std::uint64_t number = first_.load(std::memory_order_relaxed);
      // (4) acquire; synchronizes-with (3).
      if (last_.load(std::memory_order_acquire) == number) return false;
      payload_type* const gone = slot(number);
      take(pair::value_of(*gone));
      // Begun after the value was there: its epoch is not before that of the value.
      operation op(coming);
      // (2) release; synchronizes-with (1).
      first_.store(number + 1, std::memory_order_release);
      op.pdelete_unseen(gone);
      return true;
    }

   public:
    template <class Visit>
    void for_each(Visit&& visit) {
      this->require_here();
      const std::lock_guard nobody_pushes(in_);
      const std::unique_lock nobody_pops = holding_front_too();
      const std::uint64_t last = last_.load(std::memory_order_relaxed);
      for (auto n = first_.load(std::memory_order_relaxed); n != last; ++n) visit(*slot(n));
    }

    [[nodiscard]] std::size_t size() const {
      const std::uint64_t first = first_.load(std::memory_order_acquire);
      const std::uint64_t last = last_.load(std::memory_order_acquire);
      return static_cast<std::size_t>(last > first ? last - first : 0);
    }

   private:
    using lock_type = domain::spin_lock<D>;
    struct no_lock {};
    static constexpr bool has_one_lock = Locks == queue_locks::one;
    static constexpr std::size_t min_ring = 64;
    static constexpr std::size_t apart = 2 * base::cache_line_size;

    /// A popping thread holds it.
    [[nodiscard]] lock_type& front() noexcept {
      if constexpr (has_one_lock) {
        return in_;
      } else {
        return out_;
      }
    }
    /// Makes room in the ring. Requires: the caller holds in_; no thread pops meanwhile.
    [[nodiscard]] std::unique_lock<lock_type> holding_front_too() {
      std::unique_lock held(front(), std::defer_lock);
      if constexpr (!has_one_lock) held.lock();
      return held;
    }

    [[nodiscard]] payload_type*& slot(std::uint64_t number) noexcept {
      return ring_[number & (ring_.size() - 1)];
    }

    /// Appends an item. Requires: the caller holds in_.
    void grow() {
      std::vector<payload_type*> larger(2 * ring_.size());
      const std::unique_lock nobody_pops = holding_front_too();
      const std::uint64_t last = last_.load(std::memory_order_relaxed);
      for (auto n = first_.load(std::memory_order_relaxed); n != last; ++n) {
        larger[n & (larger.size() - 1)] = slot(n);
      }
      ring_ = std::move(larger);
    }

    alignas(apart) lock_type in_;
    domain::volatile_word<D, std::uint64_t> last_{0};
    alignas(has_one_lock ? alignof(std::uint64_t) : apart)
        [[no_unique_address]] std::conditional_t<has_one_lock, no_lock, lock_type> out_;
    domain::volatile_word<D, std::uint64_t> first_{0};
    alignas(apart) std::vector<payload_type*> ring_;
  };

  epoch::clock<D>& clock_;
  roots::attached<session> session_;
};

/// The buffered queue.
template <roots::storable Value, domain::persistence_domain D = domain::native>
using queue = basic_queue<buffered<D>, Value>;

}  // namespace outlast::epoch
