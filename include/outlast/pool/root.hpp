// Roots: named objects of a pool.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace outlast {

/// State in which attach_root() found a root.
enum class root_state {
  fresh,           ///< new: the caller builds the object and then calls publish_root()
  clean,           ///< closed properly: the saved occupancy of its blocks is valid
  needs_recovery,  ///< not closed properly: find its blocks by tracing or scanning
};

/// The result of attach_root().
struct attached_root {
  std::uint32_t index;
  root_state state;
  std::uint64_t object_offset;  ///< offset from the pool's base; 0 if fresh
  /// Base address of the absolute pointers in this root's blocks. If it is not base(), the caller
  /// must rewrite the pointers and call root_relocated().
  std::uintptr_t pointers_base;
  /// Other possible bases of pointers, after a relocation that a crash interrupted. They may
  /// include base(); 0 means none. The ranges at different bases are disjoint, so the value of a
  /// pointer determines its base.
  std::array<std::uintptr_t, 2> other_bases;
};

/// A root as the directory describes it.
struct root_info {
  std::string name;
  std::string type_name;
  std::uint64_t fingerprint;
  std::uint32_t index;
  bool live;
  bool attached;
  bool relocatable;
  bool closed_cleanly;
  std::uint64_t object_offset;
};

}  // namespace outlast
