// The files of stores, read and corrupted without the library.
#pragma once

#include <outlast/pool/file/file_identity.hpp>
#include <outlast/pool/file/mapped_file.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace outlast::test {

/// The names in a directory, sorted.
inline std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> all;
  for (const auto& each : std::filesystem::directory_iterator(directory)) {
    all.push_back(each.path().filename());
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// The process that had a pool's file open is gone: the copy `file` is as whole as its original.
inline void adopt(const std::string& file) {
  const pool_detail::unique_fd copy(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  pool_detail::adopt_copy(file, copy.get());
}

/// Do both files hold the same? What neither has stored is not looked at.
inline bool are_equal(const std::string& a, const std::string& b) {
  constexpr std::size_t at_once = std::size_t{1} << 16;
  const int one = ::open(a.c_str(), O_RDONLY | O_CLOEXEC);
  const int other = ::open(b.c_str(), O_RDONLY | O_CLOEXEC);
  std::vector<char> here(at_once);
  std::vector<char> there(at_once);
  bool same = one >= 0 && other >= 0 && ::lseek(one, 0, SEEK_END) == ::lseek(other, 0, SEEK_END);
  for (off_t at = 0; same;) {
    const off_t first = ::lseek(one, at, SEEK_DATA);
    const off_t second = ::lseek(other, at, SEEK_DATA);
    if (first < 0 && second < 0) break;
    at = first < 0 ? second : second < 0 ? first : std::min(first, second);
    const ssize_t got = ::pread(one, here.data(), at_once, at);
    same = got == ::pread(other, there.data(), at_once, at) && got > 0 && here == there;
    at += got;
  }
  ::close(one);
  ::close(other);
  return same;
}

/// Changes one byte at `of`, `offset` bytes behind its begin, everywhere in the file: each replica.
/// Returns how often.
inline int corrupt_bytes(const std::string& path, std::string_view of, std::size_t offset) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_GE(file, 0);
  int found = 0;
  for (off_t begin = 0; (begin = ::lseek(file, begin, SEEK_DATA)) >= 0;) {
    const off_t end = ::lseek(file, begin, SEEK_HOLE);
    std::string bytes(static_cast<std::size_t>(end - begin), '\0');
    EXPECT_EQ(::pread(file, bytes.data(), bytes.size(), begin), end - begin);
    for (std::size_t at = 0; (at = bytes.find(of, at)) != std::string::npos; at += of.size()) {
      const char other = static_cast<char>(bytes[at + offset] ^ 0x10);
      EXPECT_EQ(::pwrite(file, &other, 1, begin + static_cast<off_t>(at + offset)), 1);
      ++found;
    }
    begin = end;
  }
  ::close(file);
  return found;
}

}  // namespace outlast::test
