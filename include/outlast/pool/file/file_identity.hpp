// The identity of the file in which a pool was opened: a copy is another file.
#pragma once

#include <outlast/pool/format.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace outlast::pool_detail {

/// Returns the identity of the file `fd`, sealed for a state of that generation. Returns nothing
/// for a device, and for a file system that gives inodes new numbers.
[[nodiscard]] std::optional<pool_format::file_identity> identity_of(int fd,
                                                                    std::uint64_t generation);

/// Reads bytes of a pool: (offset, destination, size).
using pool_reader = std::function<void(std::uint64_t, void*, std::size_t)>;

/// Returns the recorded identity of a pool's file, if it is valid. It is valid if the pool has been
/// dirty since then, or if the pool is clean and the record is newer than its state.
[[nodiscard]] std::optional<pool_format::file_identity> recorded_identity(
    const pool_format::parsed_header& header, const pool_reader& read);

/// Returns whether the pool is a copy of another file than `fd`, made while it was open or not
/// closed.
[[nodiscard]] bool torn_by_copying(const pool_format::parsed_header& header,
                                   const pool_reader& read, int fd);

/// Returns an explanation and a remedy, for users.
[[nodiscard]] std::string sentence_of_copy();

/// Records the file `fd`, open for reading and writing, in the copy of a pool that it holds. Other
/// files stay unchanged. Throws error{io_failure, no_space}. Requires: the copy was made while no
/// process could change the pool; it is as whole as the original.
void adopt_copy(const std::string& path, int fd);

}  // namespace outlast::pool_detail
