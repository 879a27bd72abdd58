// Any bytes as text on one line, and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace outlast::apps::db {

/// Printable ASCII as it is, a backslash twice, every other byte as \xNN.
[[nodiscard]] std::string escaped(std::string_view bytes);
/// The bytes of such text; bytes that need no escape may have one, and others may have none. None
/// if a backslash is followed by something else.
[[nodiscard]] std::optional<std::string> unescaped(std::string_view text);

/// What --help says about keys and values.
inline constexpr const char* escapes =
    "Keys and values are any bytes. In arguments and in what is printed, \\xNN is the byte of that "
    "hexadecimal number and \\\\ a backslash; a key that begins with '-' stands behind '--'.";

}  // namespace outlast::apps::db
