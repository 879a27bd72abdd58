// A buffered last-in first-out stack.
//
//   outlast::epoch::stack<job> jobs(pool, "jobs");
//   jobs.push(work);
//   std::optional<job> next = jobs.pop();
//
// Payloads contain the values and are numbered from the bottom. Only ordinary memory has their
// positions. One lock. [Wen21, 3: what a structure has to keep]
//
// When not to use: as for epoch::hash_map; where many threads fight over values, no stack scales.
//
// Memory: 32 bytes in the pool beside the value; 8 to 16 outside.
#pragma once

#include <outlast/base/hash.hpp>
#include <outlast/base/stored_name.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/domain/spin_lock.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/epoch/detail/numbered_payloads.hpp>
#include <outlast/epoch/payload_session.hpp>
#include <outlast/epoch/policies.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/root/attached.hpp>
#include <outlast/root/map_operations.hpp>
#include <outlast/root/storable.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::epoch {

/// A stack of trivially copyable values, or of std::string.
///
/// Thread-safety: all members may be called concurrently. for_each() blocks all other members, and
/// its visitor must not use the stack. Progress: blocking, one lock. Durability: as
/// epoch::hash_map.
template <class Policy, roots::storable Value>
class basic_stack : public roots::structure_operations<basic_stack<Policy, Value>> {
  using D = typename Policy::domain_type;
  using numbered = detail::stored_pair<std::uint64_t, Value>;
  using payload_type = typename numbered::payload_type;
  using prepared_type = typename Policy::template prepared<typename numbered::content>;
  using operation = typename Policy::operation;
  using value_view = typename roots::reading<Value>::view;
  class session;
  friend struct roots::handle_access;

 public:
  using value_type = Value;
  using policy_type = Policy;
  using pool_type = basic_pool<D>;

  /// Attaches the stack `name` in `pool`. Creates it if there is none. Durable at return. Throws
  /// error{root_type_mismatch}, corruption, out_of_space, std::bad_alloc.
  basic_stack(pool_type& pool, std::string_view name)
      : clock_(clock_of(pool)), session_(pool, name, type(), clock_) {}

  /// Puts `value` on top. Throws out_of_space, std::bad_alloc without effect.
  void push(value_view value) {
    // Written before the lock is taken; its number is stored under the lock.
    prepared_type made =
        numbered::template prepare<prepared_type>(session_->memory(), std::uint64_t{0}, value);
    session_->require_here();
    const std::lock_guard lock(session_->lock);
    std::vector<payload_type*>& items = session_->items;
    if (items.size() == items.capacity()) items.reserve(2 * items.size() + 16);
    operation op(session_->memory());
    numbered::template set_key<D>(*made.get(), items.size());
    items.push_back(op.adopt(std::move(made)));
    session_->size.store(items.size(), std::memory_order_release);
  }

  /// Removes and returns the value on top, or nothing.
  std::optional<Value> pop() {
    session_->require_here();
    const std::lock_guard lock(session_->lock);
    std::vector<payload_type*>& items = session_->items;
    if (items.empty()) return std::nullopt;
    std::optional<Value> taken(std::in_place, numbered::value_of(*items.back()));
    operation op(session_->memory());
    payload_type* const gone = items.back();
    items.pop_back();
    session_->size.store(items.size(), std::memory_order_release);
    op.pdelete_unseen(gone);
    return taken;
  }

  [[nodiscard]] bool empty() const { return size_estimate() == 0; }
  /// Returns the number of values; exact while no operation runs.
  [[nodiscard]] std::size_t size_estimate() const {
    return session_->size.load(std::memory_order_acquire);
  }

  /// Calls `visit(value)`, first for the value that pop() would return first.
  template <class Visit>
  void for_each(Visit&& visit) const {
    session_->require_here();
    const std::lock_guard lock(session_->lock);
    for (std::size_t n = session_->items.size(); n-- > 0;) {
      visit(numbered::value_of(*session_->items[n]));
    }
  }

  /// Blocks until every operation that has returned is durable. As clock::sync().
  void sync() { clock_.sync(); }

  [[nodiscard]] epoch::clock<D>& pool_clock() noexcept { return clock_; }

 private:
  static roots::root_type type() {
    const std::string full = std::string("epoch::stack,") + base::stored_name<Value>() + ",1";
    return {"epoch::stack<" + std::to_string(sizeof(Value)) + ">", base::hash_bytes(full), true,
            false};
  }

  /// The volatile state of the stack.
  class session final : public payload_session<D> {
   public:
    session(pool_type& in, const attached_root& root, epoch::clock<D>& clock)
        : payload_session<D>(in, root, clock) {
      std::uint64_t first = 0;
      items = detail::in_order<numbered>(
          this->recovered(), first, [this](auto* each) { return this->room_of(each); },
          [this](const char* what) { this->report_damage(what); });
      if (first != 0) this->report_damage("has a stack without a bottom");
      size.store(items.size(), std::memory_order_relaxed);
    }

    domain::spin_lock<D> lock;
    std::vector<payload_type*> items;  // with the lock
    domain::volatile_word<D, std::size_t> size{0};
  };

  epoch::clock<D>& clock_;
  roots::attached<session> session_;
};

/// The buffered stack.
template <roots::storable Value, domain::persistence_domain D = domain::native>
using stack = basic_stack<buffered<D>, Value>;

}  // namespace outlast::epoch
