// Escapes bytes as text on one line, and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace outlast::apps::db {

/// Returns printable ASCII unchanged, a backslash as two, and every other byte as \xNN.
[[nodiscard]] std::string escaped(std::string_view bytes);
/// Returns the bytes of an escaped text, or nothing if a backslash is followed by neither a
/// backslash nor xNN. Every byte may be escaped or not.
[[nodiscard]] std::optional<std::string> unescaped(std::string_view text);

/// The paragraph of --help about keys and values.
inline constexpr const char* escapes =
    "Keys and values are any bytes. In arguments and output, \\xNN is the byte with that "
    "hexadecimal "
    "number and \\\\ is a backslash. Write '--' before a key that begins with '-'.";

}  // namespace outlast::apps::db
