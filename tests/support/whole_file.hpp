// Reads a file as a whole: unoptimized, a character at a time is a tenth of a second a mebibyte.
#pragma once

#include <cstddef>
#include <fstream>
#include <string>

namespace outlast::test {

/// "" if there is no such file.
[[nodiscard]] inline std::string whole_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return {};
  std::string all(static_cast<std::size_t>(in.tellg()), '\0');
  in.seekg(0);
  in.read(all.data(), static_cast<std::streamsize>(all.size()));
  return all;
}

}  // namespace outlast::test
