// MULTI, EXEC, DISCARD, WATCH, and the commands that wait until changes are durable.
#include <src/server/resp/commands.hpp>
#include <src/server/resp/error_texts.hpp>
#include <src/server/resp/session.hpp>
#include <src/server/resp/words.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::server::resp {
namespace {

/// Returns the number and the time of the item of `key`, as WATCH compares them. A new time of
/// expiry gives an item no new number.
watched_key state_of(session& to, std::string_view key) {
  watched_key now{std::string(key), 0, 0};
  to.look(key, use::does_not_count, [&](const item& found) {
    now.unique = found.unique;
    now.expires_ms = found.expires_ms;
  });
  return now;
}

bool has_changed(session& to, const watched_key& then) {
  const watched_key now = state_of(to, then.key);
  return now.unique != then.unique || now.expires_ms != then.expires_ms;
}

void execute_queue(session& to, const transaction_state& queued) {
  for (const watched_key& each : queued.watched) {
    if (has_changed(to, each)) return to.out.null_array();
  }
  to.out.array(queued.queue.size());
  std::vector<std::string_view> words;
  for (const queued_command& each : queued.queue) {
    words.clear();
    std::string_view rest = each.bytes;
    for (const std::size_t size : each.sizes) {
      words.push_back(rest.substr(0, size));
      rest.remove_prefix(size);
    }
    to.call(*each.which, words);
    if (to.out.is_full()) return;
  }
}

}  // namespace

namespace commands {

void multi(session& to, arguments /*words*/) {
  if (to.transaction.is_open) return to.out.error("ERR MULTI calls can not be nested");
  to.transaction.is_open = true;
  to.out.ok();
}

void discard(session& to, arguments /*words*/) {
  if (!to.transaction.is_open) return to.out.error("ERR DISCARD without MULTI");
  to.end_transaction();
  to.out.ok();
}

void exec(session& to, arguments /*words*/) {
  if (!to.transaction.is_open) return to.out.error("ERR EXEC without MULTI");
  const transaction_state queued = std::move(to.transaction);
  to.end_transaction();
  if (queued.is_broken) {
    return to.out.error(error_texts::aborted);
  }
  to.together([&] { execute_queue(to, queued); });
}

void watch(session& to, arguments words) {
  if (to.transaction.is_open) return to.out.error("ERR WATCH inside MULTI is not allowed");
  for (const std::string_view key : words.subspan(1)) {
    if (!to.reserve_queue(sizeof(watched_key) + key.size())) {
      return to.out.error("ERR watched keys are longer than " +
                          std::to_string(to.options().limits.queued_bytes) + " bytes; use UNWATCH");
    }
    to.transaction.watched.push_back(state_of(to, key));
  }
  to.out.ok();
}

void unwatch(session& to, arguments /*words*/) {
  // Inside a transaction it is queued, and EXEC has forgotten the keys already.
  if (!to.transaction.is_open) to.end_transaction();
  to.out.ok();
}

void wait(session& to, arguments words) {
  const std::optional<std::int64_t> replicas = integer_of(words[1]);
  const std::optional<std::int64_t> timeout_ms = integer_of(words[2]);
  if (!replicas) return to.refuse_integer();
  if (!timeout_ms) return to.out.error("ERR timeout is not an integer or out of range");
  if (*timeout_ms < 0) return to.out.error("ERR timeout is negative");
  to.wait_for_changes();
  to.out.integer(0);  // There are no replicas.
}

void waitaof(session& to, arguments words) {
  const std::optional<std::int64_t> local = integer_of(words[1]);
  const std::optional<std::int64_t> replicas = integer_of(words[2]);
  const std::optional<std::int64_t> timeout_ms = integer_of(words[3]);
  if (!local || !replicas) return to.refuse_integer();
  if (*local < 0 || *local > 1) {
    return to.out.error("ERR value is out of range, value must between 0 and 1");
  }
  if (*replicas < 0) return to.out.error("ERR value is out of range, must be positive");
  if (!timeout_ms) return to.out.error("ERR timeout is not an integer or out of range");
  if (*timeout_ms < 0) return to.out.error("ERR timeout is negative");
  bool is_durable = to.last_change() <= to.space().durable_token();
  if (*local == 1 && to.wait_for_changes()) is_durable = true;
  to.out.array(2);
  to.out.integer(is_durable ? 1 : 0);
  to.out.integer(0);
}

}  // namespace commands

}  // namespace outlast::server::resp
