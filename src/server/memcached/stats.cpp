// The numbers of the `stats` command of memcached.
//
// The numbers that describe memcached's slabs have no counterpart here: all items are shown as one
// class of slabs, because tools read the number and the size of items there.
#include <src/server/memcached/item_commands.hpp>
#include <src/server/memcached/text.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace outlast::server::memcached {

namespace {

using event = memcached_event;

constexpr std::array<std::pair<std::string_view, event>, memcached_counters::events> names = {{
    {"cmd_get", event::cmd_get},
    {"cmd_set", event::cmd_set},
    {"cmd_flush", event::cmd_flush},
    {"cmd_touch", event::cmd_touch},
    {"cmd_meta", event::cmd_meta},
    {"get_hits", event::get_hits},
    {"get_misses", event::get_misses},
    {"delete_misses", event::delete_misses},
    {"delete_hits", event::delete_hits},
    {"incr_misses", event::incr_misses},
    {"incr_hits", event::incr_hits},
    {"decr_misses", event::decr_misses},
    {"decr_hits", event::decr_hits},
    {"cas_misses", event::cas_misses},
    {"cas_hits", event::cas_hits},
    {"cas_badval", event::cas_badval},
    {"touch_hits", event::touch_hits},
    {"touch_misses", event::touch_misses},
    {"store_too_large", event::store_too_large},
    {"store_no_memory", event::store_no_memory},
    {"total_items", event::total_items},
    {"bytes_read", event::bytes_read},
    {"bytes_written", event::bytes_written},
}};

/// Returns seconds with six decimals.
std::string seconds_of(const timeval& time) {
  std::string micros = std::to_string(time.tv_usec);
  micros.insert(0, 6 - std::min<std::size_t>(6, micros.size()), '0');
  return std::to_string(time.tv_sec) + "." + micros;
}

}  // namespace

void item_commands::general_stats(stat_adder add) {
  const std::int64_t up_ms = std::max<std::int64_t>(0, now_ms_ - options_.started_ms);
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  add("pid", decimal(static_cast<std::uint64_t>(getpid())).text());
  add("uptime", decimal(static_cast<std::uint64_t>(up_ms / 1000)).text());
  add("time",
      decimal(static_cast<std::uint64_t>(std::max<std::int64_t>(0, now_ms_) / 1000)).text());
  add("version", options_.version);
  add("pointer_size", decimal(std::uint64_t{8 * sizeof(void*)}).text());
  add("rusage_user", seconds_of(used.ru_utime));
  add("rusage_system", seconds_of(used.ru_stime));
  add("curr_connections", decimal(counters_.connections()).text());
  add("total_connections", decimal(counters_.all_connections()).text());
  for (const auto& [name, what] : names) add(name, decimal(counters_.value(what)).text());
  add("curr_items", decimal(space_.items()).text());
  add("bytes", decimal(space_.bytes()).text());
  add("limit_maxbytes", decimal(space_.limit_bytes()).text());
  add("evictions", decimal(space_.evictions()).text());
  add("outlast_durable_token", decimal(space_.durable_token()).text());
  add("outlast_guarantee", space_.guarantee());
}

void item_commands::settings_stats(std::string_view protocol, stat_adder add) {
  add("maxbytes", decimal(space_.limit_bytes()).text());
  add("verbosity", "0");
  add("shutdown_command", options_.shut_down ? "yes" : "no");
  add("detail_enabled", "no");
  add("cas_enabled", "yes");
  const std::string_view has_password = options_.password.empty() ? "no" : "yes";
  add("auth_enabled_sasl", has_password);
  add("auth_enabled_ascii", has_password);
  add("binding_protocol", protocol);
  add("item_size_max", decimal(options_.max_item_bytes).text());
  add("flush_enabled", "yes");
  add("dump_enabled", "no");
}

void item_commands::item_stats(stat_adder add) {
  if (space_.items() == 0) return;
  add("items:1:number", decimal(space_.items()).text());
  add("items:1:mem_requested", decimal(space_.bytes()).text());
  add("items:1:evicted", decimal(space_.evictions()).text());
  add("items:1:outofmemory", decimal(counters_.value(event::store_no_memory)).text());
}

void item_commands::slab_stats(stat_adder add) {
  constexpr std::array<event, 8> shown_events = {
      event::get_hits,  event::cmd_set,  event::delete_hits, event::incr_hits,
      event::decr_hits, event::cas_hits, event::cas_badval,  event::touch_hits};
  if (space_.items() != 0) {
    add("1:used_chunks", decimal(space_.items()).text());
    add("1:mem_requested", decimal(space_.bytes()).text());
    for (const auto& [name, what] : names) {
      const bool is_shown =
          std::find(shown_events.begin(), shown_events.end(), what) != shown_events.end();
      if (is_shown) add("1:" + std::string(name), decimal(counters_.value(what)).text());
    }
  }
  add("active_slabs", decimal(std::uint64_t{space_.items() != 0}).text());
  add("total_malloced", decimal(space_.bytes()).text());
}

}  // namespace outlast::server::memcached
