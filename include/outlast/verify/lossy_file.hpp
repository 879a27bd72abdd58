// The domain under which pool files lose power: `file`, whose every fence may be the last.
//
// Notes, fences and device syncs are those of domain::file itself, which is what is tested; the
// device below it is a verify::lossy_disk. What the domain adds are the moments: power may be cut
// before and after each fence, and at each access another thread may go on.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/domain/file.hpp>

#include <atomic>
#include <type_traits>

namespace outlast::verify {

/// Is told what happens under domain::lossy_file. See `domain::lossy_file::watched_by`.
class file_observer {
 public:
  virtual ~file_observer() = default;
  /// A fence is about to begin or has ended: power may be cut here, and another thread may go on.
  virtual void at_fence() = 0;
  /// Persistent memory is about to be accessed: another thread may go on here.
  virtual void at_access() = 0;
  /// The caller waits for another thread.
  virtual void at_wait() = 0;
};

}  // namespace outlast::verify

namespace outlast::domain {

/// An ordinary file on a disk that may lose power at any moment. What `file` promises to keep it
/// keeps; of everything else, what the disk likes.
///
/// Thread-safety: as `file` while nobody observes it. An observer decides which thread may call; a
/// power cut means what it should only if all threads are fibers of one operating-system thread.
struct lossy_file : file {
  /// An observer is told by one operating-system thread at a time, also while a pool is opened.
  static constexpr bool plays_threads = true;

  static constexpr std::string_view name() noexcept { return "lossy_file"; }

  static void pfence(site where = site::current()) { psync(where); }
  /// Syncs the pages that the caller noted. Durable at return. Throws error{io_failure}.
  static void psync(site where = site::current()) {
    at_fence();
    file::psync(where);
    at_fence();
  }

  template <class T>
  static T load(const std::atomic<T>& word, std::memory_order order, site = site::current()) {
    schedule_point();
    return file::load(word, order);
  }
  template <class T>
  static void store(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                    site = site::current()) {
    schedule_point();
    file::store(word, value, order);
  }
  template <class T>
  static T exchange(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                    site = site::current()) {
    schedule_point();
    return file::exchange(word, value, order);
  }
  template <class T>
  static bool compare_exchange(std::atomic<T>& word, T& expected, std::type_identity_t<T> desired,
                               std::memory_order order, site = site::current()) {
    schedule_point();
    return file::compare_exchange(word, expected, desired, order);
  }
  template <class T>
  static T fetch_add(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                     site = site::current()) {
    schedule_point();
    return file::fetch_add(word, value, order);
  }
  template <class T>
  static T fetch_sub(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                     site = site::current()) {
    schedule_point();
    return file::fetch_sub(word, value, order);
  }
  template <class T>
  static T fetch_and(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                     site = site::current()) {
    schedule_point();
    return file::fetch_and(word, value, order);
  }
  template <class T>
  static T fetch_or(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                    site = site::current()) {
    schedule_point();
    return file::fetch_or(word, value, order);
  }
  template <class T>
  static T fetch_xor(std::atomic<T>& word, std::type_identity_t<T> value, std::memory_order order,
                     site = site::current()) {
    schedule_point();
    return file::fetch_xor(word, value, order);
  }

  static void schedule_point(const void* = nullptr) {
    if (observer_ != nullptr) observer_->at_access();
  }
  static void relax() {
    if (observer_ != nullptr) observer_->at_wait();
  }

  /// From now on `observer` is told; nobody if it is null. Returns who was told before. Change it
  /// while no thread is in an operation.
  static verify::file_observer* watched_by(verify::file_observer* observer) noexcept;

 private:
  static void at_fence() {
    if (observer_ != nullptr) observer_->at_fence();
  }

  static verify::file_observer* observer_;
};
static_assert(persistence_domain<lossy_file>);

}  // namespace outlast::domain
