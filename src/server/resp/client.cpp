// CLIENT and its subcommands, for the connection that sends them.
#include <src/server/resp/client_text.hpp>
#include <src/server/resp/commands.hpp>
#include <src/server/resp/error_texts.hpp>
#include <src/server/resp/session.hpp>
#include <src/server/resp/words.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace outlast::server::resp {
namespace {

constexpr std::size_t max_client_name_bytes = 65536;

/// Reads ON or OFF. Adds an error and returns nothing if the word is another.
std::optional<bool> switch_of(session& to, std::string_view word) {
  if (is_word(word, "on")) return true;
  if (is_word(word, "off")) return false;
  to.refuse_syntax();
  return std::nullopt;
}

/// A filter of CLIENT KILL. A connection is selected if every part of the filter matches it.
struct kill_filter {
  bool matches = true;
  bool skips_caller = true;
};

bool matches_kind(session& to, std::string_view word, bool& matches_filter) {
  if (is_word(word, "normal")) return true;
  if (is_word(word, "master") || is_word(word, "slave") || is_word(word, "replica") ||
      is_word(word, "pubsub")) {
    matches_filter = false;
    return true;
  }
  to.out.error(std::string("ERR Unknown client type '").append(until_zero(word)).append("'"));
  return false;
}

/// Adds a part to the filter. Adds an error and returns false if it is none.
bool take_kill_part(session& to, kill_filter& filter, std::string_view name,
                    std::string_view value) {
  if (is_word(name, "id")) {
    const std::optional<std::int64_t> number = integer_of(value);
    if (!number || *number < 1) {
      to.out.error("ERR client-id should be greater than 0");
      return false;
    }
    filter.matches = filter.matches && static_cast<std::uint64_t>(*number) == to.id();
  } else if (is_word(name, "type")) {
    return matches_kind(to, value, filter.matches);
  } else if (is_word(name, "addr")) {
    filter.matches = filter.matches && value == to.ends().peer;
  } else if (is_word(name, "laddr")) {
    filter.matches = filter.matches && value == to.ends().local;
  } else if (is_word(name, "user")) {
    if (value != "default") {
      to.out.error(std::string("ERR No such user '").append(until_zero(value)).append("'"));
      return false;
    }
  } else if (is_word(name, "skipme") && (is_word(value, "yes") || is_word(value, "no"))) {
    filter.skips_caller = is_word(value, "yes");
  } else {
    to.refuse_syntax();
    return false;
  }
  return true;
}

}  // namespace

bool is_client_name(std::string_view text) noexcept {
  return text.size() <= max_client_name_bytes &&
         std::ranges::all_of(text, [](char letter) { return letter >= '!' && letter <= '~'; });
}

void refuse_client_name(session& to) { to.out.error(error_texts::client_name); }

std::string client_line(session& to) {
  const std::int64_t age_s = (to.now_ms() - to.created_ms()) / 1000;
  const bool is_in_multi = to.transaction.is_open;
  const std::string commands = is_in_multi ? std::to_string(to.transaction.queue.size()) : "-1";
  std::string line = "id=" + std::to_string(to.id());
  line.append(" addr=").append(to.ends().peer);
  line.append(" laddr=").append(to.ends().local);
  line.append(" fd=-1 name=").append(to.client.name);
  line.append(" age=").append(std::to_string(std::max<std::int64_t>(age_s, 0)));
  line.append(" idle=0 flags=").append(is_in_multi ? "x" : "N");
  line.append(" db=0 sub=0 psub=0 ssub=0 multi=").append(commands);
  line.append(" watch=").append(std::to_string(to.transaction.watched.size()));
  line.append(" qbuf=").append(std::to_string(to.held_bytes()));
  line.append(" qbuf-free=0 argv-mem=0 multi-mem=");
  line.append(std::to_string(to.transaction.bytes));
  line.append(" obl=0 oll=0 omem=0 tot-mem=").append(std::to_string(to.held_bytes()));
  line.append(" events=r cmd=").append(to.running).append(" user=default redir=-1 resp=");
  line.append(std::to_string(to.out.protocol()));
  line.append(" lib-name=").append(to.client.library);
  line.append(" lib-ver=").append(to.client.library_version);
  return line.append(to.client.is_durable ? " durable=on" : " durable=off");
}

namespace commands {

void client_id(session& to, arguments /*words*/) {
  to.out.integer(static_cast<std::int64_t>(to.id()));
}

void client_getname(session& to, arguments /*words*/) {
  if (to.client.name.empty()) return to.out.null();
  to.out.bulk(to.client.name);
}

void client_setname(session& to, arguments words) {
  if (!is_client_name(words[2])) return refuse_client_name(to);
  to.client.name = words[2];
  to.out.ok();
}

void client_setinfo(session& to, arguments words) {
  const bool is_name = is_word(words[2], "lib-name");
  if (!is_name && !is_word(words[2], "lib-ver")) {
    return to.out.error(
        std::string("ERR Unrecognized option '").append(until_zero(words[2])).append("'"));
  }
  if (!is_client_name(words[3])) {
    return to.out.error(std::string("ERR ")
                            .append(is_name ? "lib-name" : "lib-ver")
                            .append(error_texts::library_end));
  }
  (is_name ? to.client.library : to.client.library_version) = words[3];
  to.out.ok();
}

void client_info(session& to, arguments /*words*/) { to.out.verbatim(client_line(to) + "\n"); }

void client_list(session& to, arguments words) {
  bool is_listed = true;
  if (words.size() == 4 && is_word(words[2], "type")) {
    if (!matches_kind(to, words[3], is_listed)) return;
  } else if (words.size() > 3 && is_word(words[2], "id")) {
    is_listed = false;
    for (const std::string_view word : words.subspan(3)) {
      const std::optional<std::int64_t> number = integer_of(word);
      if (!number) return to.out.error("ERR Invalid client ID");
      is_listed = is_listed || *number == static_cast<std::int64_t>(to.id());
    }
  } else if (words.size() > 2) {
    return to.refuse_syntax();
  }
  to.out.verbatim(is_listed ? client_line(to) + "\n" : "");
}

void client_no_evict(session& to, arguments words) {
  if (switch_of(to, words[2])) to.out.ok();
}

void client_no_touch(session& to, arguments words) {
  const std::optional<bool> is_on = switch_of(to, words[2]);
  if (!is_on) return;
  to.client.touches = !*is_on;
  to.out.ok();
}

void client_durable(session& to, arguments words) {
  const std::optional<bool> is_on = switch_of(to, words[2]);
  if (!is_on) return;
  to.set_durable(*is_on);
  to.out.ok();
}

void client_reply(session& to, arguments words) {
  if (is_word(words[2], "on")) {
    to.client.has_no_replies = false;
    to.client.skips_this_reply = false;
    to.out.ok();
  } else if (is_word(words[2], "off")) {
    to.client.has_no_replies = true;
  } else if (is_word(words[2], "skip")) {
    to.client.skips_next_reply = !to.client.has_no_replies;
  } else {
    to.refuse_syntax();
  }
}

void client_kill(session& to, arguments words) {
  kill_filter filter;
  const bool is_old_form = words.size() == 3;
  if (is_old_form) {
    filter.skips_caller = false;
    filter.matches = words[2] == to.ends().peer && !words[2].empty();
  } else {
    for (std::size_t at = 2; at < words.size(); at += 2) {
      if (at + 1 == words.size()) return to.refuse_syntax();
      if (!take_kill_part(to, filter, words[at], words[at + 1])) return;
    }
  }
  const bool is_killed = filter.matches && !filter.skips_caller;
  if (is_old_form) {
    if (!is_killed) return to.out.error("ERR No such client");
    to.out.ok();
  } else {
    to.out.integer(is_killed ? 1 : 0);
  }
  if (is_killed) to.close();
}

void client_tracking(session& to, arguments words) {
  const std::optional<bool> is_on = switch_of(to, words[2]);
  if (!is_on) return;
  if (*is_on) return to.out.error("ERR tracking is not supported by this server; use OFF");
  to.out.ok();
}

void client_getredir(session& to, arguments /*words*/) { to.out.integer(-1); }

void client_unpause(session& to, arguments /*words*/) { to.out.ok(); }

void client_unblock(session& to, arguments words) {
  const bool has_reason =
      words.size() == 4 && (is_word(words[3], "timeout") || is_word(words[3], "error"));
  if (words.size() > 3 && !has_reason) {
    return to.out.error("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
  }
  if (!integer_of(words[2])) return to.refuse_integer();
  to.out.integer(0);
}

}  // namespace commands

}  // namespace outlast::server::resp
