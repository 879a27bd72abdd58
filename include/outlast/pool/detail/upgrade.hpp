// The conversion of a pool from format version 1 to 2, in its place.
#pragma once

#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/format.hpp>

namespace outlast::pool_detail {

/// Converts a pool of version 1 to version 2, durably, and returns its new header. A crash leaves a
/// pool of one of the versions with all its contents. Throws error{refused} without effect if the
/// pool cannot be converted, and error{no_space, io_failure}. Requires: the file has a lock and is
/// not mapped, its header is valid, and the batches of its log were brought in.
[[nodiscard]] pool_format::parsed_header upgrade(const mapped_file& file,
                                                 const pool_format::parsed_header& header);

/// Converts the pool in a file that no pool object has opened. Throws without effect
/// error{truncated, torn_by_machine_crash, torn_by_copying, refused} if an opening would refuse the
/// pool, or if it has a log with batches, and the errors of upgrade() and of validate_header().
void upgrade_unopened(const mapped_file& file);

}  // namespace outlast::pool_detail
