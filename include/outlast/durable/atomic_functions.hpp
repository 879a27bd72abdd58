// The functions of <atomic> for cells. Argument-dependent lookup finds them in calls without
// `std::`.
//
// The effect, the progress and the durability of each are those of the member of its name, called
// without a role: `atomic_load(&here)` is `here.load()`. Callers must not pass the last parameter,
// a site.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/durable/detail/atomic_interface.hpp>
#include <outlast/durable/roles.hpp>

#include <atomic>

namespace outlast::durable {

namespace detail {

template <class Word>
using value_in_cell = typename atomic_interface<Word>::value_type;
template <class Word>
using difference_in_cell = typename atomic_interface<Word>::difference_type;

}  // namespace detail

template <class Word>
[[nodiscard]] bool atomic_is_lock_free(const detail::atomic_interface<Word>* object) noexcept {
  return object->is_lock_free();
}

/// Initializes a cell that no other thread can reach yet, as its init().
template <class Word>
void atomic_init(detail::atomic_interface<Word>* object, detail::value_in_cell<Word> value,
                 domain::site where = domain::site::current()) {
  object->init(value, where);
}

template <class Word>
[[nodiscard]] detail::value_in_cell<Word> atomic_load(
    const detail::atomic_interface<Word>* object, domain::site where = domain::site::current()) {
  return object->load(role::decide, where);
}
template <class Word>
[[nodiscard]] detail::value_in_cell<Word> atomic_load_explicit(
    const detail::atomic_interface<Word>* object, std::memory_order order,
    domain::site where = domain::site::current()) {
  return object->load(order, role::decide, where);
}

template <class Word>
void atomic_store(detail::atomic_interface<Word>* object, detail::value_in_cell<Word> value,
                  domain::site where = domain::site::current()) {
  object->store(value, role::link, where);
}
template <class Word>
void atomic_store_explicit(detail::atomic_interface<Word>* object,
                           detail::value_in_cell<Word> value, std::memory_order order,
                           domain::site where = domain::site::current()) {
  object->store(value, order, role::link, where);
}

template <class Word>
detail::value_in_cell<Word> atomic_exchange(detail::atomic_interface<Word>* object,
                                            detail::value_in_cell<Word> value,
                                            domain::site where = domain::site::current()) {
  return object->exchange(value, role::link, where);
}
template <class Word>
detail::value_in_cell<Word> atomic_exchange_explicit(detail::atomic_interface<Word>* object,
                                                     detail::value_in_cell<Word> value,
                                                     std::memory_order order,
                                                     domain::site where = domain::site::current()) {
  return object->exchange(value, order, role::link, where);
}

template <class Word>
bool atomic_compare_exchange_strong(detail::atomic_interface<Word>* object,
                                    detail::value_in_cell<Word>* expected,
                                    detail::value_in_cell<Word> desired,
                                    domain::site where = domain::site::current()) {
  return object->compare_exchange_strong(*expected, desired, std::memory_order_seq_cst, role::link,
                                         where);
}
template <class Word>
bool atomic_compare_exchange_strong_explicit(detail::atomic_interface<Word>* object,
                                             detail::value_in_cell<Word>* expected,
                                             detail::value_in_cell<Word> desired,
                                             std::memory_order success, std::memory_order failure,
                                             domain::site where = domain::site::current()) {
  return object->compare_exchange_strong(*expected, desired, success, failure, role::link, where);
}
template <class Word>
bool atomic_compare_exchange_weak(detail::atomic_interface<Word>* object,
                                  detail::value_in_cell<Word>* expected,
                                  detail::value_in_cell<Word> desired,
                                  domain::site where = domain::site::current()) {
  return object->compare_exchange_weak(*expected, desired, std::memory_order_seq_cst, role::link,
                                       where);
}
template <class Word>
bool atomic_compare_exchange_weak_explicit(detail::atomic_interface<Word>* object,
                                           detail::value_in_cell<Word>* expected,
                                           detail::value_in_cell<Word> desired,
                                           std::memory_order success, std::memory_order failure,
                                           domain::site where = domain::site::current()) {
  return object->compare_exchange_weak(*expected, desired, success, failure, role::link, where);
}

template <class Word>
  requires detail::addable<detail::value_in_cell<Word>>
detail::value_in_cell<Word> atomic_fetch_add(detail::atomic_interface<Word>* object,
                                             detail::difference_in_cell<Word> operand,
                                             domain::site where = domain::site::current()) {
  return object->fetch_add(operand, role::update, where);
}
template <class Word>
  requires detail::addable<detail::value_in_cell<Word>>
detail::value_in_cell<Word> atomic_fetch_add_explicit(
    detail::atomic_interface<Word>* object, detail::difference_in_cell<Word> operand,
    std::memory_order order, domain::site where = domain::site::current()) {
  return object->fetch_add(operand, order, role::update, where);
}
template <class Word>
  requires detail::addable<detail::value_in_cell<Word>>
detail::value_in_cell<Word> atomic_fetch_sub(detail::atomic_interface<Word>* object,
                                             detail::difference_in_cell<Word> operand,
                                             domain::site where = domain::site::current()) {
  return object->fetch_sub(operand, role::update, where);
}
template <class Word>
  requires detail::addable<detail::value_in_cell<Word>>
detail::value_in_cell<Word> atomic_fetch_sub_explicit(
    detail::atomic_interface<Word>* object, detail::difference_in_cell<Word> operand,
    std::memory_order order, domain::site where = domain::site::current()) {
  return object->fetch_sub(operand, order, role::update, where);
}

template <class Word>
  requires detail::whole_number<detail::value_in_cell<Word>>
detail::value_in_cell<Word> atomic_fetch_and(detail::atomic_interface<Word>* object,
                                             detail::value_in_cell<Word> operand,
                                             domain::site where = domain::site::current()) {
  return object->fetch_and(operand, role::update, where);
}
template <class Word>
  requires detail::whole_number<detail::value_in_cell<Word>>
detail::value_in_cell<Word> atomic_fetch_and_explicit(
    detail::atomic_interface<Word>* object, detail::value_in_cell<Word> operand,
    std::memory_order order, domain::site where = domain::site::current()) {
  return object->fetch_and(operand, order, role::update, where);
}
template <class Word>
  requires detail::whole_number<detail::value_in_cell<Word>>
detail::value_in_cell<Word> atomic_fetch_or(detail::atomic_interface<Word>* object,
                                            detail::value_in_cell<Word> operand,
                                            domain::site where = domain::site::current()) {
  return object->fetch_or(operand, role::update, where);
}
template <class Word>
  requires detail::whole_number<detail::value_in_cell<Word>>
detail::value_in_cell<Word> atomic_fetch_or_explicit(detail::atomic_interface<Word>* object,
                                                     detail::value_in_cell<Word> operand,
                                                     std::memory_order order,
                                                     domain::site where = domain::site::current()) {
  return object->fetch_or(operand, order, role::update, where);
}
template <class Word>
  requires detail::whole_number<detail::value_in_cell<Word>>
detail::value_in_cell<Word> atomic_fetch_xor(detail::atomic_interface<Word>* object,
                                             detail::value_in_cell<Word> operand,
                                             domain::site where = domain::site::current()) {
  return object->fetch_xor(operand, role::update, where);
}
template <class Word>
  requires detail::whole_number<detail::value_in_cell<Word>>
detail::value_in_cell<Word> atomic_fetch_xor_explicit(
    detail::atomic_interface<Word>* object, detail::value_in_cell<Word> operand,
    std::memory_order order, domain::site where = domain::site::current()) {
  return object->fetch_xor(operand, order, role::update, where);
}

template <class Word>
void atomic_wait(const detail::atomic_interface<Word>* object, detail::value_in_cell<Word> old,
                 domain::site where = domain::site::current()) {
  object->wait(old, role::decide, where);
}
template <class Word>
void atomic_wait_explicit(const detail::atomic_interface<Word>* object,
                          detail::value_in_cell<Word> old, std::memory_order order,
                          domain::site where = domain::site::current()) {
  object->wait(old, order, role::decide, where);
}
template <class Word>
void atomic_notify_one(detail::atomic_interface<Word>* object) noexcept {
  object->notify_one();
}
template <class Word>
void atomic_notify_all(detail::atomic_interface<Word>* object) noexcept {
  object->notify_all();
}

}  // namespace outlast::durable
