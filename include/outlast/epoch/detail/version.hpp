// The connection of a node of a non-blocking buffered structure to its payload.
#pragma once

#include <outlast/domain/volatile_word.hpp>
#include <outlast/epoch/payload.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace outlast::epoch::detail {

/// The payload of a node, and the payload that it has replaced. It is in volatile memory, as long
/// as a thread may read the node.
///
/// Thread-safety: all members may be called concurrently. replaces(version&) requires that only the
/// caller can reach the node.
template <domain::persistence_domain D>
class version {
 public:
  version(payload_header& stored, std::size_t bytes) noexcept : stored_(stored), bytes_(bytes) {}

  [[nodiscard]] payload_header& stored() const noexcept { return stored_; }
  /// Returns the bytes of the whole payload.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// Makes `old` retire in the epoch in which this version is labelled.
  void replaces(version& old) { replaced_.store(&old, std::memory_order_relaxed); }
  /// Returns the payload that must still be retired, or nullptr.
  [[nodiscard]] version* replaced() const { return replaced_.load(std::memory_order_seq_cst); }
  void has_replaced() { replaced_.store(nullptr, std::memory_order_seq_cst); }

  /// True if the payload is labelled. Lookups read this, and do not touch the pool.
  [[nodiscard]] bool is_labelled() const { return said(labelled); }
  [[nodiscard]] bool is_retired() const { return said(retired); }
  void set_labelled() { say(labelled); }
  void set_retired() { say(retired); }

 private:
  static constexpr std::uint32_t labelled = 1;
  static constexpr std::uint32_t retired = 2;

  // (2) acquire; synchronizes-with (1).
  [[nodiscard]] bool said(std::uint32_t what) const {
    return (said_.load(std::memory_order_acquire) & what) != 0;
  }
  // (1) release; synchronizes-with (2).
  void say(std::uint32_t what) { (void)said_.fetch_or(what, std::memory_order_release); }

  payload_header& stored_;
  domain::volatile_word<D, version*> replaced_{nullptr};
  domain::volatile_word<D, std::uint32_t> said_{0};
  const std::size_t bytes_;
};

}  // namespace outlast::epoch::detail
