// Roots: objects of a pool that are found by a name.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace outlast {

/// What attach_root() found.
enum class root_state {
  fresh,           ///< created just now: build the object, then publish_root()
  clean,           ///< closed properly: the saved occupancy of its blocks is valid
  needs_recovery,  ///< not closed properly: find its blocks by tracing or scanning
};

/// A root that was attached.
struct attached_root {
  std::uint16_t index;
  root_state state;
  std::uint64_t object_offset;  ///< from the pool's base; 0 if fresh
  /// The base address that absolute pointers stored in this root's blocks are relative to. If it is
  /// not base(), rewrite them and call root_relocated().
  std::uintptr_t pointers_base;
  /// After a relocation that a crash interrupted: further bases that pointers may be relative to,
  /// base() perhaps among them; 0 = none. The ranges at different bases are disjoint, so a
  /// pointer tells by its value which one it belongs to.
  std::array<std::uintptr_t, 2> other_bases;
};

/// A root as the directory describes it.
struct root_info {
  std::string name;
  std::string type_name;
  std::uint64_t fingerprint;
  std::uint16_t index;
  bool live;
  bool attached;
  bool relocatable;
  bool closed_cleanly;
  std::uint64_t object_offset;
};

}  // namespace outlast
