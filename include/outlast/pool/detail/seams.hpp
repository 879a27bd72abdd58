// What tests may put in the place of the machine. Not for programs.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/pool/format.hpp>

#include <functional>
#include <optional>

namespace outlast::pool_detail {

struct seams {
  std::optional<pool_format::boot_id> boot;  ///< instead of the kernel's boot id
  bool no_fallocate = false;                 ///< as on a file system that cannot allocate space
  bool no_unnamed_files = false;             ///< as on a file system without O_TMPFILE
  std::optional<domain::kind> mapping;       ///< as if the mapping were MAP_SYNC, on this kind
  std::function<void()> on_sync;             ///< called when an open pool's file is synced
};

/// Change it only while no pool is being opened.
[[nodiscard]] seams& test_seams() noexcept;

}  // namespace outlast::pool_detail
