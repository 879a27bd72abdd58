// Commands that change and show times of expiry.
#include <src/server/resp/changes.hpp>
#include <src/server/resp/commands.hpp>
#include <src/server/resp/expiry.hpp>
#include <src/server/resp/session.hpp>
#include <src/server/resp/words.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace outlast::server::resp {
namespace {

constexpr std::int64_t max_time = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t min_time = std::numeric_limits<std::int64_t>::min();

/// The conditions of EXPIRE.
struct expiry_conditions {
  bool is_absent = false;   ///< NX: only if the key has no time
  bool is_present = false;  ///< XX: only if it has one
  bool is_later = false;    ///< GT: only if the new time is later; no time is the latest
  bool is_sooner = false;   ///< LT

  [[nodiscard]] bool permits(std::int64_t old_ms, std::int64_t new_ms) const noexcept {
    if (is_absent && old_ms != 0) return false;
    if (is_present && old_ms == 0) return false;
    if (is_later && (old_ms == 0 || new_ms <= old_ms)) return false;
    return !is_sooner || old_ms == 0 || new_ms < old_ms;
  }
};

/// Reads the conditions. Adds an error and returns nothing if there is another word, or if some
/// exclude each other.
std::optional<expiry_conditions> conditions_of(session& to, arguments words) {
  expiry_conditions found;
  for (const std::string_view word : words) {
    if (is_word(word, "nx")) {
      found.is_absent = true;
    } else if (is_word(word, "xx")) {
      found.is_present = true;
    } else if (is_word(word, "gt")) {
      found.is_later = true;
    } else if (is_word(word, "lt")) {
      found.is_sooner = true;
    } else {
      to.out.error(std::string("ERR Unsupported option ").append(until_zero(word)));
      return std::nullopt;
    }
  }
  if (found.is_absent && (found.is_present || found.is_later || found.is_sooner)) {
    to.out.error("ERR NX and XX, GT or LT options at the same time are not compatible");
    return std::nullopt;
  }
  if (found.is_later && found.is_sooner) {
    to.out.error("ERR GT and LT options at the same time are not compatible");
    return std::nullopt;
  }
  return found;
}

void refuse_time(session& to, std::string_view command_name) {
  to.out.error(
      std::string("ERR invalid expire time in '").append(command_name).append("' command"));
}

/// Executes EXPIRE and its relatives. A time in the past removes the key.
void change_expiry(session& to, arguments words, time_form form) {
  const std::optional<expiry_conditions> conditions = conditions_of(to, words.subspan(3));
  if (!conditions) return;
  const std::optional<std::int64_t> number = integer_of(words[2]);
  if (!number) return to.refuse_integer();
  std::int64_t time_ms = *number;
  if (form.is_seconds) {
    if (time_ms > max_time / 1000 || time_ms < min_time / 1000) {
      return refuse_time(to, to.running);
    }
    time_ms *= 1000;
  }
  const std::int64_t origin = form.is_absolute ? 0 : to.now_ms();
  if (time_ms > max_time - origin) return refuse_time(to, to.running);
  time_ms += origin;
  // Each time before 1970 is in the past, and 0 means that a key never expires.
  const std::int64_t kept_ms = time_ms <= 0 ? -1 : time_ms;
  const change_result done = to.change(words[1], [&](const item* old) {
    if (old == nullptr || !conditions->permits(old->expires_ms, time_ms)) return nothing();
    return retimed(*old, kept_ms, to.now_ms());
  });
  to.out.integer(done.changed ? 1 : 0);
}

/// Shows the time at which a key expires, or the time until then.
void show_expiry(session& to, arguments words, time_form form) {
  std::int64_t shown = -2;
  to.look(words[1], use::does_not_count, [&](const item& found) {
    if (found.expires_ms == 0) {
      shown = -1;
      return;
    }
    shown = found.expires_ms - (form.is_absolute ? 0 : to.now_ms());
    if (shown < 0) shown = 0;
    if (form.is_seconds) shown = shown / 1000 + (shown % 1000 >= 500 ? 1 : 0);
  });
  to.out.integer(shown);
}

}  // namespace

std::optional<std::int64_t> expiry_of(session& to, std::string_view text, time_form form,
                                      std::string_view command_name) {
  const std::optional<std::int64_t> number = integer_of(text);
  if (!number) {
    to.refuse_integer();
    return std::nullopt;
  }
  const std::int64_t unit = form.is_seconds ? 1000 : 1;
  const std::int64_t origin = form.is_absolute ? 0 : to.now_ms();
  if (*number <= 0 || *number > max_time / unit || *number * unit > max_time - origin) {
    refuse_time(to, command_name);
    return std::nullopt;
  }
  return *number * unit + origin;
}

std::optional<time_form> expiry_option(std::string_view word) noexcept {
  if (is_word(word, "ex")) return time_form{true, false};
  if (is_word(word, "px")) return time_form{false, false};
  if (is_word(word, "exat")) return time_form{true, true};
  if (is_word(word, "pxat")) return time_form{false, true};
  return std::nullopt;
}

namespace commands {

void expire(session& to, arguments words) { change_expiry(to, words, {true, false}); }
void pexpire(session& to, arguments words) { change_expiry(to, words, {false, false}); }
void expireat(session& to, arguments words) { change_expiry(to, words, {true, true}); }
void pexpireat(session& to, arguments words) { change_expiry(to, words, {false, true}); }

void ttl(session& to, arguments words) { show_expiry(to, words, {true, false}); }
void pttl(session& to, arguments words) { show_expiry(to, words, {false, false}); }
void expiretime(session& to, arguments words) { show_expiry(to, words, {true, true}); }
void pexpiretime(session& to, arguments words) { show_expiry(to, words, {false, true}); }

void persist(session& to, arguments words) {
  const change_result done = to.change(words[1], [&](const item* old) {
    if (old == nullptr || old->expires_ms == 0) return nothing();
    return retimed(*old, 0, to.now_ms());
  });
  to.out.integer(done.changed ? 1 : 0);
}

}  // namespace commands

}  // namespace outlast::server::resp
