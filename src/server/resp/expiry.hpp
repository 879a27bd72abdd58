// Times of expiry as commands give them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace outlast::server::resp {

class session;

/// The unit and the origin of a time.
struct time_form {
  bool is_seconds = false;
  bool is_absolute = false;
};

/// Returns the time in milliseconds since 1970, which is not 0. Adds an error and returns nothing
/// if `text` is no integer, or the time is out of range. `command_name` is for the error.
[[nodiscard]] std::optional<std::int64_t> expiry_of(session& to, std::string_view text,
                                                    time_form form, std::string_view command_name);

/// Returns the form of the options EX, PX, EXAT and PXAT.
[[nodiscard]] std::optional<time_form> expiry_option(std::string_view word) noexcept;

}  // namespace outlast::server::resp
