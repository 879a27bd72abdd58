// Commands about the server.
#include <src/server/resp/commands.hpp>
#include <src/server/resp/error_texts.hpp>
#include <src/server/resp/parameters.hpp>
#include <src/server/resp/session.hpp>
#include <src/server/resp/words.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::server::resp {
namespace {

/// Returns whether the words of FLUSHALL or a similar command are none, ASYNC, or SYNC.
bool is_flush(arguments words) noexcept {
  return words.empty() ||
         (words.size() == 1 && (is_word(words[0], "async") || is_word(words[0], "sync")));
}

/// Adds the error of a subcommand with too many words.
void refuse_words(session& to, arguments words) {
  std::string text("ERR unknown subcommand or wrong number of arguments for '");
  text.append(until_zero(words[1])).append("'. Try ");
  for (const char letter : words[0]) text.push_back(upper(letter));
  to.out.error(text.append(error_texts::see_help));
}

const parameter* find_parameter(const std::vector<parameter>& all, std::string_view name) {
  const auto found =
      std::ranges::find_if(all, [&](const parameter& each) { return is_word(name, each.name); });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

std::vector<parameter> parameters_of(const session& of) {
  const resp_limits& limits = of.options().limits;
  return {{"appendfsync", "everysec"},
          {"appendonly", "yes"},
          {"databases", "1"},
          {"hz", "10"},
          {"maxclients", "10000"},
          {"maxmemory", std::to_string(of.space().limit_bytes())},
          {"maxmemory-policy", std::string(eviction_policy_of(of))},
          {"port", std::to_string(of.options().port)},
          {"proto-max-bulk-len", std::to_string(limits.bulk_bytes)},
          {"save", ""},
          {"slowlog-log-slower-than", "-1"},
          {"slowlog-max-len", "0"},
          {"timeout", "0"}};
}

std::string_view eviction_policy_of(const session& of) {
  return of.space().limit_bytes() != 0 ? "allkeys-lru" : "noeviction";
}

namespace commands {

void help(session& to, arguments words) {
  const resp::command* const container = find_command(words[0]);
  std::vector<std::string> lines;
  for (const resp::command& each : all_commands()) {
    const std::size_t bar = each.name.find('|');
    if (bar == std::string_view::npos || each.name.substr(0, bar) != container->name) continue;
    std::string line;
    for (const char letter : each.name.substr(bar + 1)) line.push_back(upper(letter));
    lines.push_back(line + ": " + std::string(each.summary));
  }
  to.out.array(lines.size());
  for (const std::string& line : lines) to.out.simple(line);
}

void flushall(session& to, arguments words) {
  if (!is_flush(words.subspan(1))) return to.refuse_syntax();
  to.erase_all();
  to.out.ok();
}

void time(session& to, arguments /*words*/) {
  to.out.array(2);
  to.out.bulk(std::to_string(to.now_ms() / 1000));
  to.out.bulk(std::to_string(to.now_ms() % 1000 * 1000));
}

void lastsave(session& to, arguments /*words*/) {
  const backup_control* const backups = to.options().backups;
  to.out.integer((backups == nullptr ? to.now_ms() : backups->present().last_ms) / 1000);
}

void save(session& to, arguments /*words*/) {
  to.wait_for_changes();
  to.out.ok();
}

void bgsave(session& to, arguments words) {
  if (words.size() > 2 || (words.size() == 2 && !is_word(words[1], "schedule"))) {
    return to.refuse_syntax();
  }
  backup_control* const backups = to.options().backups;
  const std::string refusal = backups == nullptr ? std::string() : backups->begin();
  if (!refusal.empty()) return to.out.error("ERR " + refusal);
  to.out.simple("Background saving started");
}

void bgrewriteaof(session& to, arguments /*words*/) {
  to.out.simple("Background append only file rewriting started");
}

void config_get(session& to, arguments words) {
  std::vector<parameter> found = parameters_of(to);
  std::erase_if(found, [&](const parameter& each) {
    return std::ranges::none_of(words.subspan(2), [&](std::string_view pattern) {
      return matches(pattern, each.name, true);
    });
  });
  to.out.map(found.size());
  for (const parameter& each : found) {
    to.out.bulk(each.name);
    to.out.bulk(each.value);
  }
}

void config_set(session& to, arguments words) {
  if (words.size() % 2 != 0) return to.refuse_arity("config|set");
  const std::vector<parameter> all = parameters_of(to);
  for (std::size_t at = 2; at < words.size(); at += 2) {
    const parameter* const found = find_parameter(all, words[at]);
    if (found == nullptr) {
      return to.out.error(std::string("ERR Unknown option or number of arguments for CONFIG SET "
                                      "- '")
                              .append(until_zero(words[at]))
                              .append("'"));
    }
    if (!is_word(words[at + 1], found->value)) {
      return to.out.error(std::string("ERR CONFIG SET failed (possibly related to argument '")
                              .append(found->name)
                              .append("') - can't set immutable config"));
    }
  }
  to.out.ok();
}

void config_resetstat(session& to, arguments /*words*/) {
  resp_counters& all = to.counters();
  for (std::atomic<std::uint64_t>* each :
       {&all.commands, &all.errors, &all.hits, &all.misses, &all.input_bytes, &all.output_bytes}) {
    each->store(0, std::memory_order_relaxed);
  }
  to.out.ok();
}

void role(session& to, arguments /*words*/) {
  to.out.array(3);
  to.out.bulk("master");
  to.out.integer(0);
  to.out.array(0);
}

void lolwut(session& to, arguments /*words*/) {
  to.out.verbatim("Outlast " + to.options().version + ", Redis ver. " + to.options().redis_version +
                  "\n");
}

void debug(session& to, arguments /*words*/) { to.out.error(error_texts::debug_command); }

void memory_doctor(session& to, arguments /*words*/) {
  to.out.verbatim("This server keeps its items in a pool; see INFO memory.\n");
}

void memory_purge(session& to, arguments /*words*/) { to.out.ok(); }

void slowlog_get(session& to, arguments words) {
  if (words.size() > 3) return refuse_words(to, words);
  if (words.size() == 3) {
    const std::optional<std::int64_t> count = integer_of(words[2]);
    if (!count || *count < -1) {
      return to.out.error("ERR count should be greater than or equal to -1");
    }
  }
  to.out.array(0);
}

void slowlog_len(session& to, arguments /*words*/) { to.out.integer(0); }
void slowlog_reset(session& to, arguments /*words*/) { to.out.ok(); }

void latency_doctor(session& to, arguments /*words*/) {
  to.out.verbatim("This server records no events of latency.\n");
}
void latency_histogram(session& to, arguments /*words*/) { to.out.map(0); }
void latency_history(session& to, arguments /*words*/) { to.out.array(0); }
void latency_latest(session& to, arguments /*words*/) { to.out.array(0); }
void latency_reset(session& to, arguments /*words*/) { to.out.integer(0); }

void function_flush(session& to, arguments words) {
  if (words.size() > 3) return refuse_words(to, words);
  if (!is_flush(words.subspan(2))) {
    return to.out.error("ERR FUNCTION FLUSH only supports SYNC|ASYNC option");
  }
  to.out.ok();
}

void function_list(session& to, arguments /*words*/) { to.out.array(0); }

void script_flush(session& to, arguments words) {
  if (!is_flush(words.subspan(2))) {
    return to.out.error("ERR SCRIPT FLUSH only support SYNC|ASYNC option");
  }
  to.out.ok();
}

void script_exists(session& to, arguments words) {
  to.out.array(words.size() - 2);
  for (std::size_t at = 2; at < words.size(); ++at) to.out.integer(0);
}

}  // namespace commands

}  // namespace outlast::server::resp
