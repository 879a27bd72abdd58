// Key-value stores on a disk that others have written, where their libraries are installed.
#pragma once

#include <bench/micro/epoch_subjects.hpp>

#include <memory>
#include <string>
#include <vector>

namespace outlast::bench {

/// A store that can be measured.
struct store_peer {
  std::string name;
  /// With half of the keys in it, in a folder of its own in `setup.directory` that goes with it.
  /// Each write is synced with the device, or none is. Insertions and removals are blind: put and
  /// delete, as such stores have them. Throws std::runtime_error.
  std::unique_ptr<epoch_subject> (*make)(const map_setup& setup, bool synced);
};

/// Those that were found when this was built.
[[nodiscard]] std::vector<store_peer> store_peers();

}  // namespace outlast::bench
