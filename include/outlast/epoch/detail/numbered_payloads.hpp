// Payloads that bear numbers, as stacks and queues have them.
#pragma once

#include <outlast/epoch/detail/stored_pair.hpp>
#include <outlast/epoch/payload.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace outlast::epoch::detail {

/// What was recovered, by number; `first` becomes the least one. `report(what)` throws if they are
/// not numbered without a gap, or one is longer than `room_of` its block.
template <class Numbered, class RoomOf, class Report>
[[nodiscard]] std::vector<typename Numbered::payload_type*> in_order(
    const std::vector<std::vector<payload_header*>>& found, std::uint64_t& first, RoomOf&& room_of,
    Report&& report) {
  using payload_type = typename Numbered::payload_type;
  std::vector<payload_type*> items;
  for (const auto& part : found) {
    for (payload_header* const each : part) {
      auto* const item = reinterpret_cast<payload_type*>(each);
      if (!Numbered::is_whole(*item, room_of(each))) {
        report("has a payload that is longer than its block");
      }
      items.push_back(item);
    }
  }
  std::sort(items.begin(), items.end(), [](const payload_type* a, const payload_type* b) {
    return Numbered::key_of(*a) < Numbered::key_of(*b);
  });
  first = items.empty() ? 0 : Numbered::key_of(*items.front());
  for (std::uint64_t i = 0; i < items.size(); ++i) {
    if (Numbered::key_of(*items[i]) != first + i) report("has a gap, or a number twice");
  }
  return items;
}

}  // namespace outlast::epoch::detail
