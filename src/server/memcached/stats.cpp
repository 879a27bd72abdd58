// The `stats` command of memcached.
//
// The numbers that describe memcached's slabs have no counterpart here: all items are shown as one
// class of slabs, because tools read the number and the size of items there.
#include <src/server/memcached/text_conversation.hpp>

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

void text_conversation::add_stat(std::string_view name, std::string_view value) {
  out_->append("STAT ").append(name);
  *out_ += ' ';
  out_->append(value).append("\r\n");
}

void text_conversation::run_stats(const arguments& of) {
  flush_counts();
  const std::string_view what = of.count > 1 ? of.of[1] : std::string_view();
  if (of.count == 1) {
    add_general_stats();
  } else if (what == "settings") {
    add_settings();
  } else if (what == "items") {
    add_item_stats();
  } else if (what == "slabs") {
    add_slab_stats();
  } else if (what == "sizes") {
    add_stat("sizes_status", "disabled");
  } else if (what == "reset") {
    counters_.reset();
    return answer("RESET");
  } else if (what == "detail") {
    return run_stats_detail(of);
  } else if (what == "cachedump" && of.count < 4) {
    return answer("CLIENT_ERROR bad command line");
  } else if (what != "conns" && what != "extstore" && what != "cachedump") {
    return answer("ERROR");
  }
  answer("END");
}

/// Accepts the commands for counts of key prefixes. No such counts exist, because clients choose
/// the number of prefixes.
void text_conversation::run_stats_detail(const arguments& of) {
  const std::string_view what = of.count > 2 ? of.of[2] : std::string_view();
  if (what == "dump") return answer("END");
  answer(what == "on" || what == "off" ? "OK" : "CLIENT_ERROR usage: stats detail on|off|dump");
}

void text_conversation::add_general_stats() {
  const std::int64_t up_ms = std::max<std::int64_t>(0, now_ms_ - options_.started_ms);
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  add_stat("pid", static_cast<std::uint64_t>(getpid()));
  add_stat("uptime", static_cast<std::uint64_t>(up_ms / 1000));
  add_stat("time", static_cast<std::uint64_t>(std::max<std::int64_t>(0, now_ms_) / 1000));
  add_stat("version", options_.version);
  add_stat("pointer_size", std::uint64_t{8 * sizeof(void*)});
  add_stat("rusage_user", seconds_of(used.ru_utime));
  add_stat("rusage_system", seconds_of(used.ru_stime));
  add_stat("curr_connections", counters_.connections());
  add_stat("total_connections", counters_.all_connections());
  for (const auto& [name, what] : names) add_stat(name, counters_.value(what));
  add_stat("curr_items", space_.items());
  add_stat("bytes", space_.bytes());
  add_stat("limit_maxbytes", space_.limit_bytes());
  add_stat("evictions", space_.evictions());
  add_stat("outlast_durable_token", space_.durable_token());
  add_stat("outlast_guarantee", space_.guarantee());
}

void text_conversation::add_settings() {
  add_stat("maxbytes", space_.limit_bytes());
  add_stat("verbosity", std::uint64_t{0});
  add_stat("shutdown_command", options_.shut_down ? "yes" : "no");
  add_stat("detail_enabled", "no");
  add_stat("cas_enabled", "yes");
  add_stat("auth_enabled_sasl", "no");
  add_stat("binding_protocol", "ascii");
  add_stat("item_size_max", options_.max_item_bytes);
  add_stat("flush_enabled", "yes");
  add_stat("dump_enabled", "no");
}

void text_conversation::add_item_stats() {
  if (space_.items() == 0) return;
  add_stat("items:1:number", space_.items());
  add_stat("items:1:mem_requested", space_.bytes());
  add_stat("items:1:evicted", space_.evictions());
  add_stat("items:1:outofmemory", counters_.value(event::store_no_memory));
}

void text_conversation::add_slab_stats() {
  constexpr std::array<event, 8> shown_events = {
      event::get_hits,  event::cmd_set,  event::delete_hits, event::incr_hits,
      event::decr_hits, event::cas_hits, event::cas_badval,  event::touch_hits};
  if (space_.items() != 0) {
    add_stat("1:used_chunks", space_.items());
    add_stat("1:mem_requested", space_.bytes());
    for (const auto& [name, what] : names) {
      const bool is_shown =
          std::find(shown_events.begin(), shown_events.end(), what) != shown_events.end();
      if (is_shown) add_stat("1:" + std::string(name), counters_.value(what));
    }
  }
  add_stat("active_slabs", std::uint64_t{space_.items() != 0});
  add_stat("total_malloced", space_.bytes());
}

}  // namespace outlast::server::memcached
