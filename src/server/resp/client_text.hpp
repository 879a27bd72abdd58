// Names of connections, and the line that describes one.
#pragma once

#include <string>
#include <string_view>

namespace outlast::server::resp {

class session;

/// Returns whether `text` may be a name: visible characters, and not too many.
[[nodiscard]] bool is_client_name(std::string_view text) noexcept;
/// Adds the error of a name that is none.
void refuse_client_name(session& to);
/// Returns the line of CLIENT INFO, without its end.
[[nodiscard]] std::string client_line(session& to);

}  // namespace outlast::server::resp
