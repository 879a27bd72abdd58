// Payloads that bear numbers, as stacks and queues have them.
#pragma once

#include <outlast/base/parallel.hpp>
#include <outlast/epoch/detail/stored_pair.hpp>
#include <outlast/epoch/payload.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace outlast::epoch::detail {

/// Returns the recovered payloads by number; `first` becomes the least one. Processes all parts in
/// parallel. `report(what)` must throw. It is called if the numbers have a gap, or if a payload is
/// longer than the `room_of` its block.
template <class Numbered, class RoomOf, class Report>
[[nodiscard]] std::vector<typename Numbered::payload_type*> in_order(
    const std::vector<std::vector<payload_header*>>& found, std::uint64_t& first, RoomOf&& room_of,
    Report&& report) {
  using payload_type = typename Numbered::payload_type;
  const auto in_parallel = [&](auto&& work) {
    base::in_parallel(static_cast<unsigned>(found.size()), [&](unsigned part) {
      for (payload_header* const each : found[part]) {
        work(reinterpret_cast<payload_type*>(each), part);
      }
    });
  };
  std::vector<std::uint64_t> least(found.size(), std::numeric_limits<std::uint64_t>::max());
  in_parallel([&](payload_type* item, unsigned part) {
    if (!Numbered::is_whole(*item, room_of(&item->header()))) {
      report("has a payload that is longer than its block");
    }
    least[part] = std::min<std::uint64_t>(least[part], Numbered::key_of(*item));
  });
  std::size_t total = 0;
  for (const auto& part : found) total += part.size();
  first = total == 0 ? 0 : *std::min_element(least.begin(), least.end());
  // So many numbers, each less than that and none twice: there is no gap.
  std::vector<payload_type*> items(total);
  in_parallel([&](payload_type* item, unsigned) {
    const std::uint64_t place = Numbered::key_of(*item) - first;
    if (place >= total || std::atomic_ref(items[place]).exchange(item) != nullptr) {
      report("has a gap, or a number twice");
    }
  });
  return items;
}

}  // namespace outlast::epoch::detail
