// A backup of a pool to a stream, of which a file keeps the bytes.
#pragma once

#include <outlast/pool/backup_result.hpp>

#include <cstddef>
#include <fstream>
#include <ios>
#include <string>

namespace outlast::test {

/// Writes the backup of `pool` to the file `path`. Calls `at_first` when the first bytes arrive.
template <class Pool, class Action>
backup_result stream_to_file(const Pool& pool, const std::string& path, Action&& at_first) {
  std::ofstream out(path, std::ios::binary);
  bool first = true;
  return pool.backup([&](const std::byte* bytes, std::size_t size) {
    if (first) at_first();
    first = false;
    out.write(reinterpret_cast<const char*>(bytes), static_cast<std::streamsize>(size));
  });
}

}  // namespace outlast::test
