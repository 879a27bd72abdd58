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

/// Reads `files`, in order, up to `max_bytes` altogether. Throws std::runtime_error that names the
/// file that is missing, cannot be read or is no regular file, and if there is no word in any.
[[nodiscard]] corpus read_corpus(const std::vector<std::filesystem::path>& files,
                                 std::size_t max_bytes);

/// What a Debian system has to read: its dictionary, package descriptions, licences and copyright
/// notes. Throws std::runtime_error if there is nothing.
[[nodiscard]] corpus read_default_corpus(std::size_t max_bytes);

}  // namespace outlast::apps::demo
