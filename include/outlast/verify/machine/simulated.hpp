// The domain of all verified code.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/domain/watched_blocks.hpp>
#include <outlast/verify/machine/machine.hpp>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace outlast::domain {

/// The memory of the `verify::machine` that the calling operating-system thread has constructed. At
/// each access another of the machine's threads can continue, and at each fence the machine can
/// lose power. Without a machine, accesses are ordinary ones and flushes do nothing. If the machine
/// has store buffers, stores outside of its memory also wait in them, except stores of bodies that
/// run alone.
///
/// On a machine with persistent caches this domain is equivalent to domain::cache_persistent: it
/// does not flush, a pfence orders, and a psync empties the store buffer.
struct simulated {
  static constexpr bool rmw_fences = false;
  static constexpr bool watches_blocks = true;

  static constexpr std::string_view name() noexcept { return "simulated"; }
  static kind current_kind() noexcept {
    return flushes() ? kind::simulated : kind::cache_persistent;
  }
  static bool flushes() noexcept {
    const auto* const m = verify::machine::current();
    return m == nullptr || !m->caches_persist();
  }

  static void pwb(const void* address, site where = site::current()) {
    if (auto* const m = verify::machine::current()) m->write_back(address, where);
  }
  static void pfence(site where = site::current()) {
    if (auto* const m = verify::machine::current()) m->fence(where);
  }
  static void psync(site where = site::current()) {
    if (auto* const m = verify::machine::current()) m->sync(where);
  }

  template <class T>
  static T load(const std::atomic<T>& word, std::memory_order order, site where) {
    return load(word, order, code_line::of(where));
  }
  template <class T>
  static T load(const std::atomic<T>& word, std::memory_order,
                code_line where = code_line::here()) {
    if (auto* const m = verify::machine::current()) m->access(&word, false, where);
    return seen(peek(word));
  }
  template <class T>
  static void store(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                    site where = site::current()) {
    if (auto* const m = verify::machine::current()) m->access(&word, true, code_line::of(where));
    if (order == std::memory_order_seq_cst) return store_visibly(word, value, where);
    put(word, value, order, where);
  }
  template <class T>
  static T exchange(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                    site where = site::current()) {
    return modify(word, order, where, [&](T) { return value; });
  }
  template <class T>
  static bool compare_exchange(std::atomic<T>& word, T& expected, std::type_identity_t<T> desired,
                               std::memory_order order, site where = site::current()) {
    begin_locked(&word, where);
    const T now = seen(peek(word));
    if (std::memcmp(&now, &expected, sizeof(T)) != 0) {
      expected = now;
      return false;
    }
    put_unbuffered(word, desired, order, where);
    return true;
  }
  static bool compare_exchange_pair(base::word_pair& pair, base::pair_value& expected,
                                    base::pair_value desired, site where = site::current()) {
    begin_locked(&pair, where);
    base::pair_value now;
    std::memcpy(&now, static_cast<const void*>(&pair), sizeof now);
    static_cast<void>(seen(now.first));
    static_cast<void>(seen(now.second));
    if (now != expected) {
      expected = now;
      return false;
    }
    if (auto* const m = verify::machine::current()) {
      // No thread sees one word without the other, but a crash can leave that on the media.
      m->store_unbuffered(&pair.first, &desired.first, 8, verify::store_kind::release, where);
      m->store_unbuffered(&pair.second, &desired.second, 8, verify::store_kind::release, where);
    } else {
      std::memcpy(static_cast<void*>(&pair), &desired, sizeof desired);
    }
    return true;
  }
  template <class T>
  static T fetch_add(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                     site where = site::current()) {
    return modify(word, order, where, [&](T old) { return static_cast<T>(old + value); });
  }
  template <class T>
  static T fetch_sub(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                     site where = site::current()) {
    return modify(word, order, where, [&](T old) { return static_cast<T>(old - value); });
  }
  template <class T>
  static T fetch_and(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                     site where = site::current()) {
    return modify(word, order, where, [&](T old) { return static_cast<T>(old & value); });
  }
  template <class T>
  static T fetch_or(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                    site where = site::current()) {
    return modify(word, order, where, [&](T old) { return static_cast<T>(old | value); });
  }
  template <class T>
  static T fetch_xor(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                     site where = site::current()) {
    return modify(word, order, where, [&](T old) { return static_cast<T>(old ^ value); });
  }

  /// Implements domain::count().
  static void count(std::atomic<std::uint64_t>& counter, std::uint64_t change, std::memory_order,
                    site where = site::current()) {
    begin_locked(&counter, where);
    const std::uint64_t value = peek(counter) + change;
    if (auto* const m = verify::machine::current()) {
      m->store_unbuffered(&counter, &value, sizeof(value), verify::store_kind::cleared, where);
    } else {
      std::memcpy(static_cast<void*>(&counter), &value, sizeof(value));
    }
  }

  static void write(void* destination, const void* source, std::size_t size,
                    site where = site::current()) {
    bytes(destination, source, size, verify::store_kind::plain, where);
  }
  static void zero(void* destination, std::size_t size, site where = site::current()) {
    static constexpr std::byte zeros[256] = {};
    auto* to = static_cast<std::byte*>(destination);
    while (size > 0) {
      const std::size_t part = size < sizeof(zeros) ? size : sizeof(zeros);
      bytes(to, zeros, part, verify::store_kind::plain, where);
      to += part;
      size -= part;
    }
  }
  static void stream(void* destination, const void* source, std::size_t size,
                     site where = site::current()) {
    bytes(destination, source, size, verify::store_kind::streamed, where);
  }
  template <class T>
  static void announce(std::atomic<T>& place, std::type_identity_t<T> value,
                       site where = site::none()) {
    if (auto* const m = verify::machine::current()) m->access(nullptr, true);
    store_visibly(place, static_cast<T>(value), where);
  }
  /// Stores relaxed, because the locked instruction after it empties the buffer.
  template <class T>
  static void announce_before_exchange(std::atomic<T>& place, std::type_identity_t<T> value,
                                       site where = site::none()) {
    store(place, static_cast<T>(value), std::memory_order_relaxed, where);
  }
  /// Assumes a write, because the caller does not specify whether it reads or writes.
  static void schedule_point(const void* address = nullptr, code_line where = code_line::here()) {
    if (auto* const m = verify::machine::current()) m->touch(address, where);
  }
  static void relax() {
    if (auto* const m = verify::machine::current()) m->relax();
  }
  /// Implements domain::watches_blocks.
  static void block_given(const void* begin, std::size_t bytes) {
    if (auto* const m = verify::machine::current()) m->block_given(begin, bytes);
  }
  static void block_freed(const void* block, std::size_t bytes, code_line where) {
    if (auto* const m = verify::machine::current()) m->block_freed(block, bytes, where);
  }
  static void block_retired(const void* block, code_line where) {
    if (auto* const m = verify::machine::current()) m->block_retired(block, where);
  }
  static void flushes_block(const void* address, std::size_t bytes, code_line where) {
    auto* const m = verify::machine::current();
    if (m == nullptr) return;
    // One byte stands for its line.
    if (bytes == 1) return m->require_line_in_use(address, where);
    m->require_in_use(address, bytes, "flushed", where);
  }
  static void reads_block(const void* address, std::size_t bytes, code_line where) {
    if (auto* const m = verify::machine::current())
      m->require_in_use(address, bytes, "read", where);
  }
  static void tolerate_freed(bool wanted) noexcept {
    if (auto* const m = verify::machine::current()) m->tolerate_freed(wanted);
  }
  /// See outlast::keeps_twins.
  static std::uintptr_t shadow_distance() noexcept { return shadows().distance(); }
  static void open_shadow(std::uintptr_t base, std::size_t bytes) { shadows().open(base, bytes); }
  static void close_shadow(std::size_t used_bytes) { shadows().close(used_bytes); }
  /// Returns true if the machine has run since the last process ended, so that its caches contain
  /// stores that were not flushed. A pool in a file derives this from the number of the boot.
  static bool machine_went_on() noexcept {
    auto* const m = verify::machine::current();
    return m != nullptr && m->memory().was_killed();
  }
  /// Returns the identity of the kernel that runs, which a crash of the machine changes.
  static std::uint64_t boot_number() noexcept {
    auto* const m = verify::machine::current();
    return m != nullptr ? m->memory().boot() : 1;
  }

 private:
  static verify::shadows& shadows() noexcept {
    static verify::shadows of_pools_without_a_machine;
    auto* const m = verify::machine::current();
    return m != nullptr ? m->shadows() : of_pools_without_a_machine;
  }
  /// Reads plain bytes. These suffice because one thread of the machine runs at a time, on one
  /// operating-system thread, and 16-byte words then need no library.
  template <class T>
  static T peek(const std::atomic<T>& word) {
    T value;
    std::memcpy(static_cast<void*>(&value), static_cast<const void*>(&word), sizeof(T));
    return value;
  }
  /// Records a value that the thread has read, because its next steps depend on it.
  template <class T>
  static T seen(T value) {
    if (auto* const m = verify::machine::current()) m->saw(&value, sizeof(T));
    return value;
  }
  static verify::store_kind kind_of(std::memory_order order) noexcept {
    const bool release = order == std::memory_order_release || order == std::memory_order_acq_rel ||
                         order == std::memory_order_seq_cst;
    return release ? verify::store_kind::release : verify::store_kind::plain;
  }
  template <class T>
  static void put(std::atomic<T>& word, const T& value, std::memory_order order, site where) {
    if (auto* const m = verify::machine::current()) {
      m->store(&word, &value, sizeof(T), kind_of(order), where, true);
    } else {
      std::memcpy(static_cast<void*>(&word), static_cast<const void*>(&value), sizeof(T));
    }
  }
  /// Stores as a locked instruction, whose beginning has emptied the buffer.
  template <class T>
  static void put_unbuffered(std::atomic<T>& word, const T& value, std::memory_order order,
                             site where) {
    if (auto* const m = verify::machine::current()) {
      m->store_unbuffered(&word, &value, sizeof(T), kind_of(order), where);
    } else {
      std::memcpy(static_cast<void*>(&word), static_cast<const void*>(&value), sizeof(T));
    }
  }
  /// Stores with a full barrier for loads and stores, which guarantees nothing about write-backs.
  template <class T>
  static void store_visibly(std::atomic<T>& word, const T& value, site where) {
    if (auto* const m = verify::machine::current()) m->drain();
    put_unbuffered(word, value, std::memory_order_seq_cst, where);
  }
  template <class T, class Next>
  static T modify(std::atomic<T>& word, std::memory_order order, site where, Next&& next) {
    begin_locked(&word, where);
    const T old = seen(peek(word));
    put_unbuffered(word, static_cast<T>(next(old)), order, where);
    return old;
  }
  static void begin_locked(const void* word, site where) {
    if (auto* const m = verify::machine::current()) m->locked_access(word, code_line::of(where));
  }
  static void bytes(void* destination, const void* source, std::size_t size,
                    verify::store_kind kind, site where) {
    if (auto* const m = verify::machine::current()) {
      m->store(destination, source, size, kind, where, false);
    } else {
      std::memcpy(destination, source, size);
    }
  }
};

static_assert(persistence_domain<simulated>);

}  // namespace outlast::domain
