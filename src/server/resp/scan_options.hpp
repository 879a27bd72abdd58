// The cursor and the options of SCAN, HSCAN, SSCAN and ZSCAN.
#pragma once

#include <src/server/resp/request_parser.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace outlast::server::resp {

class session;

struct scan_options {
  std::string_view pattern = "*";
  std::size_t count = 10;
  std::string_view type;  ///< the wanted type; empty: all
};

/// Returns the number, or nothing if `text` is not decimal digits of a cursor. An empty text is 0,
/// as for Redis.
[[nodiscard]] std::optional<std::uint64_t> cursor_of(std::string_view text) noexcept;
/// Reads the options. Adds an error and returns nothing if they are wrong. Only SCAN has types.
[[nodiscard]] std::optional<scan_options> scan_options_of(session& to, arguments words,
                                                          bool has_types);

}  // namespace outlast::server::resp
