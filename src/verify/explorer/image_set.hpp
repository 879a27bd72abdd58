// The images that need not be examined again.
#pragma once

#include <outlast/base/hash.hpp>
#include <outlast/verify/explorer/explorer.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace outlast::verify {

/// The images of a scenario. Open addressing; single images are never removed.
class explorer::image_set {
 public:
  image_set() : slots_(1U << 12, 0) {}

  bool insert(std::uint64_t key) {
    key |= 1;
    if ((count_ + 1) * 2 > slots_.size()) grow();
    std::uint64_t& slot = slot_of(key);
    if (slot == key) return false;
    slot = key;
    ++count_;
    return true;
  }
  void clear() {
    if (count_ > 0) std::fill(slots_.begin(), slots_.end(), 0);
    count_ = 0;
  }

 private:
  std::uint64_t& slot_of(std::uint64_t key) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = base::mix64(key) & mask;
    while (slots_[at] != 0 && slots_[at] != key) at = (at + 1) & mask;
    return slots_[at];
  }
  void grow() {
    std::vector<std::uint64_t> old(slots_.size() * 2, 0);
    old.swap(slots_);
    for (const std::uint64_t key : old) {
      if (key != 0) slot_of(key) = key;
    }
  }

  std::vector<std::uint64_t> slots_;
  std::size_t count_ = 0;
};

}  // namespace outlast::verify
