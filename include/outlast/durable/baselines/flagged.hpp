// Flush if tagged with the paper's interface: a flag selects a p- or a v-instruction for each
// access, and a variable has a default flag.
//
//   struct node {
//     outlast::durable::persist<int> key;
//     outlast::durable::persist<std::atomic<node*>> left, right;
//   };
//   ...
//   node* child = parent->left->right;                                   // two p-loads
//   parent->left.store(fresh, outlast::durable::flush_option::unflushed);  // a v-store
//   outlast::durable::operation_completion();  // before the result is returned;
//                                               // `completion guard;` does so for all returns
//
// For code that is ported from a plain structure. New code names roles instead (`cell`): then one
// source supports every placement.
#pragma once

#include <outlast/domain/native.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/durable/cell.hpp>
#include <outlast/durable/roles.hpp>
#include <outlast/durable/tags.hpp>

#include <atomic>
#include <type_traits>

namespace outlast::durable {

/// Selects a p- or a v-instruction. [Wei22, Figure 1]
enum class flush_option : unsigned char { unflushed, persisted };

namespace detail {

/// Roles carry nothing but the flag.
struct by_flag {
  static constexpr role load(flush_option flag) noexcept {
    return flag == flush_option::persisted ? role::decide : role::traverse;
  }
  static constexpr role store(flush_option flag) noexcept {
    return flag == flush_option::persisted ? role::link : role::tidy;
  }

  static constexpr bool waits_for_loads = false;
  static constexpr std::string_view name() noexcept { return "by_flag"; }
  static constexpr bool persists_load(role r) noexcept { return r == role::decide; }
  static constexpr bool persists_arrival(role) noexcept { return false; }
  static constexpr bool persists_store(role r) noexcept { return r == role::link; }
  static constexpr bool fences_before(role) noexcept { return true; }
};

template <class T>
struct value_in {
  using type = T;
};
template <class T>
struct value_in<std::atomic<T>> {
  using type = T;
};

}  // namespace detail

/// A persistent variable: `T`, or the value of a `std::atomic<T>`; trivially copyable, at most 8
/// bytes. [Wei22, 5] `Default` is the flag of accesses that name none, and of `->`, `*`, `=` and
/// conversion, which cannot name one.
///
/// Thread-safety: all members may be called concurrently, except construction, the `_private` ones
/// and `recover`. Progress: lock-free; loads are wait-free. Durability: a p-store is durable when
/// it returns; what a p-load returned is durable before the caller's next store to a persistent
/// variable, and before `operation_completion` returns.
template <class T, flush_option Default = flush_option::persisted, class Tag = tag::adjacent,
          domain::persistence_domain D = domain::native>
class persist {
  using held = typename detail::value_in<T>::type;
  using site = domain::site;
  using flags = detail::by_flag;
  using order = std::memory_order;

 public:
  using value_type = held;
  using difference_type = detail::difference_of<held>;

  /// Stores into a node that no other thread can reach yet, under the default flag.
  persist(held value = {}, site where = site::current()) : cell_(value, where) {
    if (Default == flush_option::persisted) domain::flush<D>(&cell_, sizeof(held), where);
  }

  [[nodiscard]] held load(flush_option flag = Default, site where = site::current()) const {
    return cell_.load(flags::load(flag), where);
  }
  void store(held value, flush_option flag = Default, site where = site::current()) {
    cell_.store(value, flags::store(flag), where);
  }
  held exchange(held value, flush_option flag = Default, site where = site::current()) {
    return cell_.exchange(value, flags::store(flag), where);
  }
  /// Compares strongly. `expected` receives the value that was found instead.
  [[nodiscard]] bool compare_exchange(held& expected, held desired, flush_option flag = Default,
                                      site where = site::current()) {
    return cell_.compare_exchange(expected, desired, flags::store(flag), where);
  }

  // The members that code for std::atomic uses. A memory order has an effect if it is stronger than
  // acquire and release.

  [[nodiscard]] held load(order asked, flush_option flag = Default,
                          site where = site::current()) const {
    return cell_.load(asked, flags::load(flag), where);
  }
  void store(held value, order asked, flush_option flag = Default, site where = site::current()) {
    cell_.store(value, asked, flags::store(flag), where);
  }
  held exchange(held value, order asked, flush_option flag = Default,
                site where = site::current()) {
    return cell_.exchange(value, asked, flags::store(flag), where);
  }
  [[nodiscard]] bool compare_exchange_strong(held& expected, held desired,
                                             flush_option flag = Default,
                                             site where = site::current()) {
    return compare_exchange(expected, desired, flag, where);
  }
  [[nodiscard]] bool compare_exchange_strong(held& expected, held desired, order asked,
                                             flush_option flag = Default,
                                             site where = site::current()) {
    return cell_.compare_exchange_strong(expected, desired, asked, flags::store(flag), where);
  }
  [[nodiscard]] bool compare_exchange_strong(held& expected, held desired, order success,
                                             order failure, flush_option flag = Default,
                                             site where = site::current()) {
    return cell_.compare_exchange_strong(expected, desired, success, failure, flags::store(flag),
                                         where);
  }
  /// As the strong one.
  [[nodiscard]] bool compare_exchange_weak(held& expected, held desired,
                                           flush_option flag = Default,
                                           site where = site::current()) {
    return compare_exchange_strong(expected, desired, flag, where);
  }
  [[nodiscard]] bool compare_exchange_weak(held& expected, held desired, order asked,
                                           flush_option flag = Default,
                                           site where = site::current()) {
    return compare_exchange_strong(expected, desired, asked, flag, where);
  }
  [[nodiscard]] bool compare_exchange_weak(held& expected, held desired, order success,
                                           order failure, flush_option flag = Default,
                                           site where = site::current()) {
    return compare_exchange_strong(expected, desired, success, failure, flag, where);
  }

  held fetch_add(difference_type operand, flush_option flag = Default, site where = site::current())
    requires detail::addable<held>
  {
    return cell_.fetch_add(operand, flags::store(flag), where);
  }
  held fetch_add(difference_type operand, order asked, flush_option flag = Default,
                 site where = site::current())
    requires detail::addable<held>
  {
    return cell_.fetch_add(operand, asked, flags::store(flag), where);
  }
  held fetch_sub(difference_type operand, flush_option flag = Default, site where = site::current())
    requires detail::addable<held>
  {
    return cell_.fetch_sub(operand, flags::store(flag), where);
  }
  held fetch_sub(difference_type operand, order asked, flush_option flag = Default,
                 site where = site::current())
    requires detail::addable<held>
  {
    return cell_.fetch_sub(operand, asked, flags::store(flag), where);
  }
  held fetch_and(held operand, flush_option flag = Default, site where = site::current())
    requires detail::whole_number<held>
  {
    return cell_.fetch_and(operand, flags::store(flag), where);
  }
  held fetch_and(held operand, order asked, flush_option flag = Default,
                 site where = site::current())
    requires detail::whole_number<held>
  {
    return cell_.fetch_and(operand, asked, flags::store(flag), where);
  }
  held fetch_or(held operand, flush_option flag = Default, site where = site::current())
    requires detail::whole_number<held>
  {
    return cell_.fetch_or(operand, flags::store(flag), where);
  }
  held fetch_or(held operand, order asked, flush_option flag = Default,
                site where = site::current())
    requires detail::whole_number<held>
  {
    return cell_.fetch_or(operand, asked, flags::store(flag), where);
  }
  held fetch_xor(held operand, flush_option flag = Default, site where = site::current())
    requires detail::whole_number<held>
  {
    return cell_.fetch_xor(operand, flags::store(flag), where);
  }
  held fetch_xor(held operand, order asked, flush_option flag = Default,
                 site where = site::current())
    requires detail::whole_number<held>
  {
    return cell_.fetch_xor(operand, asked, flags::store(flag), where);
  }

  static constexpr bool is_always_lock_free = true;
  [[nodiscard]] bool is_lock_free() const noexcept { return true; }
  /// Blocks while the variable holds `old`.
  void wait(held old, order = order::seq_cst, flush_option flag = Default,
            site where = site::current()) const {
    cell_.wait(old, flags::load(flag), where);
  }
  void notify_one() noexcept { cell_.notify_one(); }
  void notify_all() noexcept { cell_.notify_all(); }

  /// A load and a store of a variable that no other thread can reach. The p-store starts its
  /// write-back; the next shared store, or the operation's completion, waits for it. [errata 2.3]
  [[nodiscard]] held load_private(site where = site::current()) const {
    return cell_.load(role::traverse, where);
  }
  void store_private(held value, flush_option flag = Default, site where = site::current()) {
    cell_.init(value, where);
    if (flag == flush_option::persisted) domain::flush<D>(&cell_, sizeof(held), where);
  }

  held operator->() const
    requires std::is_pointer_v<held>
  {
    return load();
  }
  auto& operator*() const
    requires std::is_pointer_v<held>
  {
    return *load();
  }
  operator held() const { return load(); }
  held operator=(held value) {
    store(value);
    return value;
  }
  persist(const persist&) = delete;
  persist& operator=(const persist&) = delete;

  held operator++(int)
    requires detail::steppable<held>
  {
    return fetch_add(1);
  }
  held operator--(int)
    requires detail::steppable<held>
  {
    return fetch_sub(1);
  }
  held operator++()
    requires detail::steppable<held>
  {
    return changed_by([this] { return fetch_add(1); }, [](std::atomic<held>& as) { return ++as; });
  }
  held operator--()
    requires detail::steppable<held>
  {
    return changed_by([this] { return fetch_sub(1); }, [](std::atomic<held>& as) { return --as; });
  }
  held operator+=(difference_type operand)
    requires detail::addable<held>
  {
    return changed_by([&] { return fetch_add(operand); },
                      [&](std::atomic<held>& as) { return as += operand; });
  }
  held operator-=(difference_type operand)
    requires detail::addable<held>
  {
    return changed_by([&] { return fetch_sub(operand); },
                      [&](std::atomic<held>& as) { return as -= operand; });
  }
  held operator&=(held operand)
    requires detail::whole_number<held>
  {
    return static_cast<held>(fetch_and(operand) & operand);
  }
  held operator|=(held operand)
    requires detail::whole_number<held>
  {
    return static_cast<held>(fetch_or(operand) | operand);
  }
  held operator^=(held operand)
    requires detail::whole_number<held>
  {
    return static_cast<held>(fetch_xor(operand) ^ operand);
  }

  /// Lowers the tag if a crash left it raised. Must be called before the variable is shared.
  void recover(site where = site::current()) { cell_.recover(where); }

 private:
  /// Returns the result of std::atomic after the same change.
  template <class Change, class Same>
  static held changed_by(Change&& change, Same&& same) {
    std::atomic<held> as(change());
    return same(as);
  }

  cell<held, Tag, flags, D> cell_;
};

/// Ends an operation: its p-stored values and everything that it depends on are durable at return.
template <domain::persistence_domain D = domain::native>
void operation_completion(domain::site where = domain::site::current()) {
  domain::complete<D>(where);
}

/// Ends the operation at each return. Requires a named object at the top of the operation: a
/// nameless one completes immediately (in the published code it does so by mistake).
template <domain::persistence_domain D = domain::native>
class [[nodiscard]] operation_guard {
 public:
  explicit operation_guard(domain::site where = domain::site::current()) : where_(where) {}
  operation_guard(const operation_guard&) = delete;
  operation_guard& operator=(const operation_guard&) = delete;
  ~operation_guard() noexcept(false) { operation_completion<D>(where_); }

 private:
  domain::site where_;
};
using completion = operation_guard<>;

}  // namespace outlast::durable
