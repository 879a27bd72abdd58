// Hazard pointers: a thread announces the objects that it dereferences, and no other thread frees
// these. [M. Michael, Hazard Pointers: Safe Memory Reclamation for Lock-Free Objects, TPDS 2004]
#pragma once

#include <outlast/base/per_thread.hpp>
#include <outlast/domain/concept.hpp>

#include <array>
#include <atomic>
#include <cstddef>

namespace outlast::reclaim {

/// The hazard pointers of one thread. A thread that has announced an object must read again the
/// place where it found the object; only if the place is unchanged is the object protected.
///
/// Thread-safety: announce() and withdraw() are called by the thread that owns the object,
/// protects() by any thread. Progress: all members are wait-free.
template <domain::persistence_domain D, std::size_t count>
class hazards {
 public:
  /// Protects `object` in place of the object that hazard pointer `index` protected before. A full
  /// barrier.
  void announce(std::size_t index, const void* object) { D::announce(announced_[index], object); }

  /// Protects nothing any more. A release.
  void withdraw() {
    for (auto& each : announced_) {
      D::store(each, nullptr, std::memory_order_release, domain::site::none());
    }
  }

  /// Returns true if the thread protects `object`.
  [[nodiscard]] bool protects(const void* object) const {
    bool found = false;
    for (const auto& each : announced_) {
      found = found || D::load(each, std::memory_order_seq_cst) == object;
    }
    return found;
  }

 private:
  std::array<std::atomic<const void*>, count> announced_{};
};

/// Returns true if a thread in `all` protects `object` by its member `hazards`. No place may lead
/// to `object` any more: a thread that has not announced it yet cannot find it.
template <class Participant>
[[nodiscard]] bool is_protected(const base::per_thread<Participant>& all, const void* object) {
  bool found = false;
  all.for_each([&](Participant& each) { found = found || each.hazards.protects(object); });
  return found;
}

}  // namespace outlast::reclaim
