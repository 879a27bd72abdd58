// What the verifier and tests may put in the place of a storage device. Not for programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace outlast::domain {

/// Syncs `size` bytes at `offset` of the open pool in the file `path`. Returns 0 or an errno.
using file_device =
    std::function<int(const std::string& path, std::uint64_t offset, std::size_t size)>;

/// Every later page sync of `domain::file` goes to `stand_in`; to the real device if it is empty.
/// Thread-safety: change it only while no pool of that domain is in use. Durability: the
/// stand-in's.
void replace_file_device(file_device stand_in);

}  // namespace outlast::domain
