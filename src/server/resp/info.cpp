// INFO: the sections that clients and monitors read.
#include <src/server/resp/commands.hpp>
#include <src/server/resp/parameters.hpp>
#include <src/server/resp/session.hpp>
#include <src/server/resp/words.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace outlast::server::resp {
namespace {

/// The text of INFO.
class info_text {
 public:
  void section(std::string_view name) {
    if (!text_.empty()) text_.append("\r\n");
    text_.append("# ").append(name).append("\r\n");
  }
  void field(std::string_view name, std::string_view value) {
    text_.append(name).append(":");
    for (const char letter : value)
      text_.push_back(letter == '\n' || letter == '\r' ? ' ' : letter);
    text_.append("\r\n");
  }
  void field(std::string_view name, std::uint64_t value) { field(name, std::to_string(value)); }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

std::uint64_t value_of(const std::atomic<std::uint64_t>& counter) noexcept {
  return counter.load(std::memory_order_relaxed);
}

void add_server(info_text& to, const session& of) {
  const resp_options& options = of.options();
  const std::int64_t up_ms = options.started_ms == 0 ? 0 : of.now_ms() - options.started_ms;
  const auto up_s = static_cast<std::uint64_t>(std::max<std::int64_t>(up_ms, 0) / 1000);
  to.section("Server");
  to.field("redis_version", options.redis_version);
  to.field("server_name", "outlast");
  to.field("outlast_version", options.version);
  to.field("redis_mode", "standalone");
  to.field("arch_bits", sizeof(void*) * 8);
  to.field("tcp_port", options.port);
  to.field("server_time_usec", static_cast<std::uint64_t>(of.now_ms()) * 1000);
  to.field("uptime_in_seconds", up_s);
  to.field("uptime_in_days", up_s / 86400);
}

void add_clients(info_text& to, const session& of) {
  to.section("Clients");
  to.field("connected_clients", value_of(of.counters().open_connections));
  to.field("blocked_clients", "0");
}

void add_memory(info_text& to, const session& of) {
  to.section("Memory");
  to.field("used_memory", of.space().bytes());
  to.field("used_memory_dataset", of.space().bytes());
  to.field("maxmemory", of.space().limit_bytes());
  to.field("maxmemory_policy", eviction_policy_of(of));
}

void add_backups(info_text& to, const session& of) {
  const backup_control* const backups = of.options().backups;
  backup_control::state now{.last_ms = of.now_ms()};
  if (backups != nullptr) now = backups->present();
  const auto seconds = [](std::int64_t time_ms) { return std::to_string(time_ms / 1000); };
  to.field("rdb_bgsave_in_progress", now.runs ? "1" : "0");
  to.field("rdb_last_save_time", seconds(now.last_ms));
  to.field("rdb_last_bgsave_status", now.has_failed ? "err" : "ok");
  to.field("rdb_last_bgsave_time_sec", now.took_ms < 0 ? "-1" : seconds(now.took_ms));
  to.field("rdb_current_bgsave_time_sec",
           now.runs ? seconds(std::max<std::int64_t>(of.now_ms() - now.began_ms, 0)) : "-1");
  to.field("rdb_saves", now.made);
  if (backups == nullptr) return;
  to.field("outlast_last_backup", now.last);
  to.field("outlast_backup_error", now.failure);
}

void add_persistence(info_text& to, const session& of) {
  const std::string& given = of.options().guarantee;
  to.section("Persistence");
  to.field("loading", "0");
  add_backups(to, of);
  to.field("aof_enabled", "1");
  to.field("aof_rewrite_in_progress", "0");
  to.field("aof_last_write_status", "ok");
  to.field("outlast_guarantee", given.empty() ? of.space().guarantee() : given);
  to.field("outlast_durable_token", of.space().durable_token());
  to.field("outlast_last_change_token", of.last_change());
}

void add_stats(info_text& to, const session& of) {
  const resp_counters& all = of.counters();
  to.section("Stats");
  to.field("total_connections_received", value_of(all.connections));
  to.field("total_commands_processed", value_of(all.commands));
  to.field("total_net_input_bytes", value_of(all.input_bytes));
  to.field("total_net_output_bytes", value_of(all.output_bytes));
  to.field("evicted_keys", of.space().evictions());
  to.field("keyspace_hits", value_of(all.hits));
  to.field("keyspace_misses", value_of(all.misses));
  to.field("total_error_replies", value_of(all.errors));
}

void add_replication(info_text& to, const session& /*of*/) {
  to.section("Replication");
  to.field("role", "master");
  to.field("connected_slaves", "0");
}

void add_cluster(info_text& to, const session& /*of*/) {
  to.section("Cluster");
  to.field("cluster_enabled", "0");
}

void add_keyspace(info_text& to, const session& of) {
  to.section("Keyspace");
  const std::uint64_t items = of.space().items();
  if (items == 0) return;
  to.field("db0", "keys=" + std::to_string(items) + ",expires=0,avg_ttl=0");
}

struct info_section {
  std::string_view name;
  void (*add)(info_text&, const session&);
};

constexpr std::array sections = std::to_array<info_section>({
    {"server", add_server},
    {"clients", add_clients},
    {"memory", add_memory},
    {"persistence", add_persistence},
    {"stats", add_stats},
    {"replication", add_replication},
    {"cluster", add_cluster},
    {"keyspace", add_keyspace},
});

bool is_wanted(arguments names, std::string_view section) noexcept {
  if (names.empty()) return true;
  return std::ranges::any_of(names, [&](std::string_view name) {
    return is_word(name, "default") || is_word(name, "all") || is_word(name, "everything") ||
           is_word(name, section);
  });
}

}  // namespace

namespace commands {

void info(session& to, arguments words) {
  info_text made;
  for (const info_section& each : sections) {
    if (is_wanted(words.subspan(1), each.name)) each.add(made, to);
  }
  to.out.verbatim(made.text());
}

}  // namespace commands

}  // namespace outlast::server::resp
