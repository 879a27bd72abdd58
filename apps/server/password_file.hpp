// The file with the password of clients.
#pragma once

#include <string>

namespace outlast::apps {

/// Returns the first line of a file. Throws std::runtime_error if it cannot be read or is empty.
[[nodiscard]] std::string password_in(const std::string& path);

}  // namespace outlast::apps
