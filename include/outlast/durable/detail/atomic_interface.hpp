// The interface of `std::atomic`, with roles, over a word that persists itself.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/durable/detail/word.hpp>
#include <outlast/durable/roles.hpp>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace outlast::durable::detail {

/// Whole numbers without truth values: the types for which std::atomic has bit operations.
template <class T>
concept whole_number = std::integral<T> && !std::same_as<T, bool>;

/// The types for which std::atomic has addition.
template <class T>
concept addable = whole_number<T> || std::floating_point<T> ||
                  (std::is_pointer_v<T> && std::is_object_v<std::remove_pointer_t<T>>);

template <class T>
concept steppable = addable<T> && !std::floating_point<T>;

/// The type of the second operand of an addition to a T.
template <class T>
using difference_of = std::conditional_t<std::is_pointer_v<T>, std::ptrdiff_t, T>;

/// The members of `std::atomic<T>`, for the T of `Word`. A memory order has an effect if it is
/// stronger than the one that the word needs. Without one, loads acquire and stores release.
template <class Word>
class atomic_interface : public Word {
  using T = typename Word::value_type;
  using D = typename Word::domain_type;
  using site = domain::site;
  using order = std::memory_order;

 public:
  using value_type = T;
  using difference_type = difference_of<T>;
  static constexpr bool is_always_lock_free = true;

  atomic_interface(T value, site where) : Word(value, where) {}

  [[nodiscard]] bool is_lock_free() const noexcept { return true; }

  [[nodiscard]] T load(role r = role::decide, site where = site::current()) const {
    return this->load_as(order::acquire, r, where);
  }
  [[nodiscard]] T load(order asked, role r = role::decide, site where = site::current()) const {
    return this->load_as(at_least(order::acquire, asked), r, where);
  }

  void store(T value, role r = role::link, site where = site::current()) {
    this->store_as(value, order::release, r, where);
  }
  void store(T value, order asked, role r = role::link, site where = site::current()) {
    this->store_as(value, at_least(order::release, asked), r, where);
  }

  T exchange(T value, role r = role::link, site where = site::current()) {
    return this->exchange_as(value, order::acq_rel, r, where);
  }
  T exchange(T value, order asked, role r = role::link, site where = site::current()) {
    return this->exchange_as(value, at_least(order::acq_rel, asked), r, where);
  }

  /// Compares strongly: fails only if the cell has another value. `expected` receives that value,
  /// which is treated as p-loaded or v-loaded after `r`.
  [[nodiscard]] bool compare_exchange(T& expected, T desired, role r = role::link,
                                      site where = site::current()) {
    return this->compare_exchange_as(expected, desired, order::acq_rel, r, where);
  }
  [[nodiscard]] bool compare_exchange_strong(T& expected, T desired, order asked = order::seq_cst,
                                             role r = role::link, site where = site::current()) {
    return this->compare_exchange_as(expected, desired, at_least(order::acq_rel, asked), r, where);
  }
  [[nodiscard]] bool compare_exchange_strong(T& expected, T desired, order success, order failure,
                                             role r = role::link, site where = site::current()) {
    return compare_exchange_strong(expected, desired, stronger(success, failure), r, where);
  }
  /// As the strong one: it never fails spuriously.
  [[nodiscard]] bool compare_exchange_weak(T& expected, T desired, order asked = order::seq_cst,
                                           role r = role::link, site where = site::current()) {
    return compare_exchange_strong(expected, desired, asked, r, where);
  }
  [[nodiscard]] bool compare_exchange_weak(T& expected, T desired, order success, order failure,
                                           role r = role::link, site where = site::current()) {
    return compare_exchange_strong(expected, desired, stronger(success, failure), r, where);
  }

  /// Adds, wrapping around. Floating-point numbers are added by compare-and-swap.
  T fetch_add(difference_type operand, role r = role::update, site where = site::current())
    requires addable<T>
  {
    return add(operand, order::acq_rel, r, where);
  }
  T fetch_add(difference_type operand, order asked, role r = role::update,
              site where = site::current())
    requires addable<T>
  {
    return add(operand, at_least(order::acq_rel, asked), r, where);
  }
  T fetch_sub(difference_type operand, role r = role::update, site where = site::current())
    requires addable<T>
  {
    return add(negative(operand), order::acq_rel, r, where);
  }
  T fetch_sub(difference_type operand, order asked, role r = role::update,
              site where = site::current())
    requires addable<T>
  {
    return add(negative(operand), at_least(order::acq_rel, asked), r, where);
  }
  T fetch_and(T operand, role r = role::update, site where = site::current())
    requires whole_number<T>
  {
    return this->fetch_as(arithmetic::bit_and, to_word(operand), order::acq_rel, r, where);
  }
  T fetch_and(T operand, order asked, role r = role::update, site where = site::current())
    requires whole_number<T>
  {
    return this->fetch_as(arithmetic::bit_and, to_word(operand), at_least(order::acq_rel, asked), r,
                          where);
  }
  T fetch_or(T operand, role r = role::update, site where = site::current())
    requires whole_number<T>
  {
    return this->fetch_as(arithmetic::bit_or, to_word(operand), order::acq_rel, r, where);
  }
  T fetch_or(T operand, order asked, role r = role::update, site where = site::current())
    requires whole_number<T>
  {
    return this->fetch_as(arithmetic::bit_or, to_word(operand), at_least(order::acq_rel, asked), r,
                          where);
  }
  T fetch_xor(T operand, role r = role::update, site where = site::current())
    requires whole_number<T>
  {
    return this->fetch_as(arithmetic::bit_xor, to_word(operand), order::acq_rel, r, where);
  }
  T fetch_xor(T operand, order asked, role r = role::update, site where = site::current())
    requires whole_number<T>
  {
    return this->fetch_as(arithmetic::bit_xor, to_word(operand), at_least(order::acq_rel, asked), r,
                          where);
  }
  T operator++(int)
    requires(addable<T> && !std::floating_point<T>)
  {
    return fetch_add(1);
  }
  T operator--(int)
    requires(addable<T> && !std::floating_point<T>)
  {
    return fetch_sub(1);
  }
  T operator++()
    requires(addable<T> && !std::floating_point<T>)
  {
    return sum(fetch_add(1), 1);
  }
  T operator--()
    requires(addable<T> && !std::floating_point<T>)
  {
    return sum(fetch_sub(1), negative(difference_type{1}));
  }
  T operator+=(difference_type operand)
    requires addable<T>
  {
    return sum(fetch_add(operand), operand);
  }
  T operator-=(difference_type operand)
    requires addable<T>
  {
    return sum(fetch_sub(operand), negative(operand));
  }
  T operator&=(T operand)
    requires whole_number<T>
  {
    return static_cast<T>(fetch_and(operand) & operand);
  }
  T operator|=(T operand)
    requires whole_number<T>
  {
    return static_cast<T>(fetch_or(operand) | operand);
  }
  T operator^=(T operand)
    requires whole_number<T>
  {
    return static_cast<T>(fetch_xor(operand) ^ operand);
  }

  operator T() const { return load(); }
  T operator=(T value) {
    store(value, order::seq_cst);
    return value;
  }

  /// Blocks while the cell has the value `old`. The value that ends the wait is p-loaded or
  /// v-loaded after `r`. A thread of the same process that changes the cell must call notify_one or
  /// notify_all.
  void wait(T old, role r = role::decide, site where = site::current()) const {
    while (to_word(load(r, where)) == to_word(old)) await_change(old);
  }
  void wait(T old, order, role r = role::decide, site where = site::current()) const {
    wait(old, r, where);
  }
  void notify_one() noexcept { this->raw().notify_one(); }
  void notify_all() noexcept { this->raw().notify_all(); }

 private:
  static constexpr order at_least(order least, order asked) noexcept {
    return asked == order::seq_cst ? asked : least;
  }
  static constexpr order stronger(order success, order failure) noexcept {
    return failure == order::seq_cst ? failure : success;
  }

  static difference_type negative(difference_type operand) noexcept {
    if constexpr (std::floating_point<T>) {
      return -operand;
    } else {
      using bits = std::make_unsigned_t<difference_type>;
      return static_cast<difference_type>(bits{0} - static_cast<bits>(operand));
    }
  }

  /// As std::atomic adds: signed numbers wrap around.
  static T sum(T value, difference_type operand) noexcept {
    if constexpr (whole_number<T>) {
      return static_cast<T>(to_word(value) + to_word(static_cast<T>(operand)));
    } else {
      return value + operand;
    }
  }

  T add(difference_type operand, order asked, role r, site where) {
    if constexpr (std::floating_point<T>) {
      T seen = this->load_as(order::acquire, role::expect, where);
      while (!this->compare_exchange_as(seen, seen + operand, asked, r, where)) {
      }
      return seen;
    } else {
      return this->fetch_as(arithmetic::add, distance(operand), asked, r, where);
    }
  }

  static auto distance(difference_type operand) noexcept {
    if constexpr (std::is_pointer_v<T>) {
      constexpr auto step = static_cast<std::ptrdiff_t>(sizeof(std::remove_pointer_t<T>));
      return static_cast<std::uint64_t>(operand * step);
    } else {
      return to_word(static_cast<T>(operand));
    }
  }

  /// Returns when the word may have changed.
  void await_change(T old) const {
    if constexpr (requires { D::wait(this->raw(), this->raw_word(old)); }) {
      D::wait(this->raw(), this->raw_word(old));
    } else {
      D::relax();
    }
  }
};

}  // namespace outlast::durable::detail
