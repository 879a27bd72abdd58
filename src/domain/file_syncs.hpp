// Syncs of a pool's open file that do not come from a fence.
#pragma once

#include <functional>

namespace outlast::domain {

/// Runs `sync`, which syncs the open file of the pool of domain::file that is mapped at `base`, and
/// returns its errno. An error poisons the pool, like one of a fence; an error of a concurrent
/// fence is returned. For other memory, returns `sync()`.
[[nodiscard]] int sync_of_open_file(const void* base, const std::function<int()>& sync);

}  // namespace outlast::domain
