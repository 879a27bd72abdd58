// The domains for power cuts of pool files: `file` and `logged_file`, each of whose fences can be
// the last.
//
// Notes, fences and device syncs are those of the domains under test. The device is a
// verify::lossy_disk. These domains only add the points at which an observer can act: power can be
// cut before and after each fence, and another thread can continue at each access.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/domain/file.hpp>
#include <outlast/domain/logged_file.hpp>
#include <outlast/domain/persist.hpp>

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace outlast::verify {

/// Receives the events of domain::lossy_file and domain::lossy_logged_file.
class file_observer {
 public:
  virtual ~file_observer() = default;
  /// Returns the present observer, or nullptr if there is none.
  [[nodiscard]] static file_observer* present() noexcept { return present_; }
  /// Makes `observer` the observer, or removes it if `observer` is nullptr. Returns the previous
  /// one. Requires: no thread is in an operation.
  static file_observer* replace(file_observer* observer) noexcept;
  /// Called before and after each fence. Power can be cut here, and another thread can continue.
  virtual void at_fence() = 0;
  /// Called before each access of persistent memory. Another thread can continue here.
  virtual void at_access() = 0;
  /// Called while the calling thread waits for another thread.
  virtual void at_wait() = 0;

 private:
  static file_observer* present_;
};

}  // namespace outlast::verify

namespace outlast::domain {

/// The domain `Disk` on a disk that can lose power at any moment. The disk keeps all data that the
/// domain guarantees, and a random part of other data.
///
/// Thread-safety: that of `Disk` without an observer. An observer decides which thread may call. A
/// power cut is consistent only if all threads are fibers of one operating-system thread.
template <class Disk>
struct lossy : Disk {
  /// One operating-system thread at a time calls the observer, also while a pool is opened.
  static constexpr bool plays_threads = true;

  static void pfence(site where = site::current()) { psync(where); }
  /// Makes the data durable before it returns. Throws error{io_failure}.
  static void psync(site where = site::current()) {
    at_fence();
    Disk::psync(where);
    at_fence();
  }

  template <class T>
  static T load(const std::atomic<T>& word, std::memory_order order, site = site::current()) {
    schedule_point();
    return Disk::load(word, order);
  }
  template <class T>
  static void store(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                    site = site::current()) {
    schedule_point();
    Disk::store(word, value, order);
  }
  template <class T>
  static T exchange(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                    site = site::current()) {
    schedule_point();
    return Disk::exchange(word, value, order);
  }
  template <class T>
  static bool compare_exchange(std::atomic<T>& word, T& expected, std::type_identity_t<T> desired,
                               std::memory_order order, site = site::current()) {
    schedule_point();
    return Disk::compare_exchange(word, expected, desired, order);
  }
  template <class T>
  static T fetch_add(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                     site = site::current()) {
    schedule_point();
    return Disk::fetch_add(word, value, order);
  }
  template <class T>
  static T fetch_sub(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                     site = site::current()) {
    schedule_point();
    return Disk::fetch_sub(word, value, order);
  }
  template <class T>
  static T fetch_and(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                     site = site::current()) {
    schedule_point();
    return Disk::fetch_and(word, value, order);
  }
  template <class T>
  static T fetch_or(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                    site = site::current()) {
    schedule_point();
    return Disk::fetch_or(word, value, order);
  }
  template <class T>
  static T fetch_xor(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                     site = site::current()) {
    schedule_point();
    return Disk::fetch_xor(word, value, order);
  }

  static void schedule_point(const void* = nullptr) {
    if (auto* const observer = verify::file_observer::present()) observer->at_access();
  }
  static void relax() {
    if (auto* const observer = verify::file_observer::present()) observer->at_wait();
  }

 protected:
  static void at_fence() {
    if (auto* const observer = verify::file_observer::present()) observer->at_fence();
  }
};

/// The domain `file` on a disk that can lose power and keeps synced data.
struct lossy_file : lossy<file> {
  static constexpr std::string_view name() noexcept { return "lossy_file"; }
};
static_assert(persistence_domain<lossy_file>);

/// The domain `logged_file` on such a disk.
struct lossy_logged_file : lossy<logged_file> {
  static constexpr std::string_view name() noexcept { return "lossy_logged_file"; }
  static void stage(site where = site::current()) {
    schedule_point();
    logged_file::stage(where);
  }
  static void write_through(std::byte* to, const void* from, std::size_t bytes) {
    schedule_point();
    logged_file::write_through(to, from, bytes);
  }
  /// Makes the data durable before it returns. Throws error{io_failure}.
  static void sync_through(const void* address, site where = site::current()) {
    at_fence();
    logged_file::sync_through(address, where);
    at_fence();
  }
  /// Makes the data durable before it returns. Throws error{io_failure}.
  static void publish(std::atomic<std::uint64_t>& word, std::uint64_t value,
                      site where = site::current()) {
    publish(word, value, {}, where);
  }
  static void publish(std::atomic<std::uint64_t>& word, std::uint64_t value,
                      std::span<const line_store> lines, site where = site::current()) {
    at_fence();
    logged_file::publish(word, value, lines, where);
    at_fence();
  }
};
static_assert(persistence_domain<lossy_logged_file> && logs_lines<lossy_logged_file>);

}  // namespace outlast::domain
