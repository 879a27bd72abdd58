// The cursor and the options of SCAN, HSCAN, SSCAN and ZSCAN.
#include <src/server/resp/scan_options.hpp>
#include <src/server/resp/session.hpp>
#include <src/server/resp/words.hpp>

#include <charconv>
#include <system_error>

namespace outlast::server::resp {

std::optional<std::uint64_t> cursor_of(std::string_view text) noexcept {
  std::uint64_t number = 0;
  if (text.empty()) return number;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc() || stop != end) return std::nullopt;
  return number;
}

std::optional<scan_options> scan_options_of(session& to, arguments words, bool has_types) {
  scan_options found;
  for (std::size_t at = 0; at < words.size(); at += 2) {
    const bool has_value = at + 1 < words.size();
    if (has_value && is_word(words[at], "match")) {
      found.pattern = words[at + 1];
    } else if (has_value && has_types && is_word(words[at], "type")) {
      found.type = words[at + 1].empty() ? "none" : words[at + 1];
    } else if (has_value && is_word(words[at], "count")) {
      const std::optional<std::int64_t> count = integer_of(words[at + 1]);
      if (!count) {
        to.refuse_integer();
        return std::nullopt;
      }
      if (*count < 1) {
        to.refuse_syntax();
        return std::nullopt;
      }
      found.count = static_cast<std::size_t>(*count);
    } else {
      to.refuse_syntax();
      return std::nullopt;
    }
  }
  return found;
}

}  // namespace outlast::server::resp
