// Which file a pool was opened in: a copy is another one.
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

/// What was recorded of a pool's file, if it counts: the pool is dirty, and has been since then; or
/// it is clean, and what was recorded is newer than its state.
[[nodiscard]] std::optional<pool_format::file_identity> recorded_identity(
    const pool_format::parsed_header& header, const pool_reader& read);

/// The pool is a copy, made while it was open or not closed: of another file than `fd`.
[[nodiscard]] bool torn_by_copying(const pool_format::parsed_header& header,
                                   const pool_reader& read, int fd);

/// What that means and what is to be done, for people.
[[nodiscard]] std::string sentence_of_copy();

/// Records the file `fd`, open for reading and writing, in the copy of a pool that it holds and
/// that was made while no process could change the pool: the copy is as whole as the original.
/// Leaves other files alone. Throws error{io_failure, no_space}.
void adopt_copy(const std::string& path, int fd);

}  // namespace outlast::pool_detail
