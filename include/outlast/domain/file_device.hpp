// The replacement of a storage device by the verifier and by tests. Not for programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace outlast::domain {

/// Syncs `size` bytes at `offset` of the open pool in the file `path`. Returns 0 or an errno.
using file_device =
    std::function<int(const std::string& path, std::uint64_t offset, std::size_t size)>;

/// Sends every later page sync of `domain::file` to `replacement`, or to the real device if it is
/// empty. Durability is that of the replacement. Requires: no pool of that domain is in use.
void replace_file_device(file_device replacement);

}  // namespace outlast::domain
