// SET with its options, and the commands that store or read a value with a time of expiry.
#include <src/server/resp/changes.hpp>
#include <src/server/resp/commands.hpp>
#include <src/server/resp/expiry.hpp>
#include <src/server/resp/refusal.hpp>
#include <src/server/resp/session.hpp>
#include <src/server/resp/words.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace outlast::server::resp {
namespace {

/// The options of SET and GETEX.
struct value_options {
  bool if_absent = false;
  bool if_present = false;
  bool returns_old = false;
  bool keeps_time = false;  ///< KEEPTTL
  bool persists = false;    ///< PERSIST
  std::optional<time_form> form;
  std::string_view time;

  /// Takes the option at `words[at]` and its argument. Returns false if it is none of SET's.
  bool take_for_set(arguments words, std::size_t& at) {
    const std::string_view word = words[at];
    if (is_word(word, "nx") && !if_present) {
      if_absent = true;
    } else if (is_word(word, "xx") && !if_absent) {
      if_present = true;
    } else if (is_word(word, "get")) {
      returns_old = true;
    } else if (is_word(word, "keepttl") && !form) {
      keeps_time = true;
    } else {
      return take_time(words, at);
    }
    return true;
  }
  bool take_time(arguments words, std::size_t& at) {
    const std::optional<time_form> found = expiry_option(words[at]);
    if (!found || form || keeps_time || persists || at + 1 == words.size()) return false;
    form = found;
    time = words[++at];
    return true;
  }
};

void set_with_time(session& to, arguments words, time_form form) {
  const std::optional<std::int64_t> expires_ms = expiry_of(to, words[2], form, to.running);
  if (!expires_ms) return;
  to.change(words[1], [&](const item*) { return stored(words[3], *expires_ms, to.now_ms()); });
  to.out.ok();
}

}  // namespace

namespace commands {

void set(session& to, arguments words) {
  value_options chosen;
  for (std::size_t at = 3; at < words.size(); ++at) {
    if (!chosen.take_for_set(words, at)) return to.refuse_syntax();
  }
  std::optional<std::int64_t> expires_ms = 0;
  if (chosen.form) expires_ms = expiry_of(to, chosen.time, *chosen.form, "set");
  if (!expires_ms) return;
  bool is_stored = false;
  to.change(words[1], [&](const item* old) {
    if (chosen.returns_old) {
      if (old != nullptr) require_type(*old, item_type::string);
      if (old != nullptr) {
        to.out.bulk(old->value);
      } else {
        to.out.null();
      }
    }
    is_stored = old != nullptr ? !chosen.if_absent : !chosen.if_present;
    if (!is_stored) return nothing();
    const bool keeps_time = chosen.keeps_time && old != nullptr;
    return stored(words[2], keeps_time ? old->expires_ms : *expires_ms, to.now_ms());
  });
  if (chosen.returns_old) return;
  if (is_stored) {
    to.out.ok();
  } else {
    to.out.null();
  }
}

void setex(session& to, arguments words) { set_with_time(to, words, {true, false}); }
void psetex(session& to, arguments words) { set_with_time(to, words, {false, false}); }

void getex(session& to, arguments words) {
  value_options chosen;
  for (std::size_t at = 2; at < words.size(); ++at) {
    const bool is_persist = is_word(words[at], "persist") && !chosen.form;
    if (is_persist) chosen.persists = true;
    if (!is_persist && !chosen.take_time(words, at)) return to.refuse_syntax();
  }
  if (!chosen.form && !chosen.persists) return get(to, words);
  // An absent key is answered before the time is checked, as in Redis.
  if (!to.look_string(words[1], [](const item&) {})) return to.out.null();
  std::optional<std::int64_t> expires_ms = 0;
  if (chosen.form) expires_ms = expiry_of(to, chosen.time, *chosen.form, "getex");
  if (!expires_ms) return;
  to.change_string(words[1], [&](const item* old) {
    if (old == nullptr) {
      to.out.null();
      return nothing();
    }
    to.out.bulk(old->value);
    if (old->expires_ms == *expires_ms) return nothing();
    return retimed(*old, *expires_ms, to.now_ms());
  });
}

}  // namespace commands

}  // namespace outlast::server::resp
