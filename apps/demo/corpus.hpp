// The text that the demo ingests.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace outlast::apps::demo {

/// A text made of files.
struct corpus {
  std::string text;
  std::size_t files = 0;
};

/// Reads `files` in order, up to `max_bytes` in total. Throws std::runtime_error with the name of a
/// file that is missing, cannot be read or is not a regular file, and if no file contains a word.
[[nodiscard]] corpus read_corpus(const std::vector<std::filesystem::path>& files,
                                 std::size_t max_bytes);

/// Reads the texts of a Debian system: dictionary, package descriptions, licences and copyright
/// notes. Throws std::runtime_error if there are none.
[[nodiscard]] corpus read_default_corpus(std::size_t max_bytes);

}  // namespace outlast::apps::demo
