// A payload: the part of a buffered structure in the pool.
//
// The payloads of a structure contain its abstract state. Everything else (links, indexes, locks)
// is in ordinary memory. The first 16 bytes of a payload record when it was made and when it was
// given up, in epochs of the pool's clock. Recovery needs nothing else to determine which payloads
// are the state at the end of an epoch. [Wen21, 3.1]
//
// Beyond the paper: giving up is a mark in the payload itself, not a second payload. The mark is
// the epoch, so that it can be cut off as a creation can. The ids of the paper's anti-payloads are
// not needed, and giving up writes one line. docs/papers/montage.md has the argument.
#pragma once

#include <outlast/base/raw_atomic.hpp>
#include <outlast/base/survives.hpp>
#include <outlast/domain/concept.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace outlast::epoch {

/// The first 16 bytes of a payload, in one line. On media: docs/formats/epoch.md.
///
/// Invariants, for a clock c in an image (its boundary b is the last epoch that is complete):
///   I1  the payload is live iff 0 < label <= b and (retired = 0 or retired > b).
///   I2  a payload of zero bytes is not live; neither is one that recovery or reuse has begun to
///       clear, at any point of it: label becomes 0 before retired does. [L4]
class payload_header {
 public:
  template <domain::persistence_domain D>
  [[nodiscard]] std::uint64_t label() const noexcept {
    return D::load(label_.value, std::memory_order_relaxed);
  }
  template <domain::persistence_domain D>
  [[nodiscard]] std::uint64_t retired() const noexcept {
    return D::load(retired_.value, std::memory_order_relaxed);
  }

  /// Clears the header before the block is reused. Requires: its payload is dead.
  template <domain::persistence_domain D>
  void blank(domain::site where = domain::site::current()) {
    // (P1) persisted-before (P2): a retirement that is gone means a label that is gone.
    D::store(label_.value, 0, std::memory_order_release, where);
    // (P2) the mark is gone.
    D::store(retired_.value, 0, std::memory_order_release, where.at(1));
  }
  /// Makes the payload, which is complete, a part of the state from `epoch` on.
  template <domain::persistence_domain D>
  void set_label(std::uint64_t epoch, domain::site where = domain::site::current()) {
    D::store(label_.value, epoch, std::memory_order_release, where);
  }
  template <domain::persistence_domain D>
  void set_retired(std::uint64_t epoch, domain::site where = domain::site::current()) {
    D::store(retired_.value, epoch, std::memory_order_release, where);
  }

  /// Labels as set_label(), if no other thread has done so. Returns false if one has.
  template <domain::persistence_domain D>
  bool try_label(std::uint64_t epoch, domain::site where = domain::site::current()) {
    std::uint64_t none = 0;
    return D::compare_exchange(label_.value, none, epoch, std::memory_order_acq_rel, where);
  }
  template <domain::persistence_domain D>
  bool try_retire(std::uint64_t epoch, domain::site where = domain::site::current()) {
    std::uint64_t none = 0;
    return D::compare_exchange(retired_.value, none, epoch, std::memory_order_acq_rel, where);
  }

  /// Returns true if the payload is a part of the state at the end of epoch `boundary`. I1
  template <domain::persistence_domain D>
  [[nodiscard]] bool is_live(std::uint64_t boundary) const noexcept {
    const std::uint64_t made = label<D>();
    const std::uint64_t given_up = retired<D>();
    return made != 0 && made <= boundary && (given_up == 0 || given_up > boundary);
  }

 private:
  base::raw_atomic<std::uint64_t> label_;
  base::raw_atomic<std::uint64_t> retired_;
};
static_assert(sizeof(payload_header) == 16 && alignof(payload_header) == 8);

/// Types of the content of a payload, which have the same meaning in every process.
template <class T>
concept payload_content = std::is_trivially_copyable_v<T> && alignof(T) <= 8;

/// A payload with content `T`, followed by any number of further bytes, the tail. An `operation`
/// makes, reads, changes and gives it up. Its address is a multiple of 16.
template <payload_content T>
class payload {
  static_assert(base::must_survive<T>);

 public:
  using content_type = T;

  [[nodiscard]] const payload_header& header() const noexcept { return header_; }
  [[nodiscard]] payload_header& header() noexcept { return header_; }

  /// Returns the content without a check of its epoch: for recovery, and for callers that hold the
  /// lock of every change. See operation::get().
  [[nodiscard]] const T& unsafe() const noexcept {
    return *std::launder(reinterpret_cast<const T*>(bytes_));
  }
  [[nodiscard]] std::byte* bytes() noexcept { return bytes_; }
  /// Returns the bytes after the content. The content determines their number.
  [[nodiscard]] const std::byte* tail() const noexcept { return bytes_ + sizeof(T); }

  /// Returns the bytes of a payload with a tail.
  [[nodiscard]] static constexpr std::size_t size_with(std::size_t tail_bytes) noexcept {
    return sizeof(payload_header) + sizeof(T) + tail_bytes;
  }

 private:
  payload_header header_;
  alignas(8) std::byte bytes_[sizeof(T)];
};

}  // namespace outlast::epoch
