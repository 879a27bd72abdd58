#include <apps/server/service.hpp>

#include <outlast/server/memcached.hpp>
#include <outlast/server/resp.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace outlast::apps {
namespace {

/// The commands that memcached's clients begin with. RESP's clients begin with '*', or with a line
/// of another command.
constexpr std::array<std::string_view, 32> memcached_commands = {
    "get",         "gets",      "gat",       "gats",
    "set",         "add",       "replace",   "append",
    "prepend",     "cas",       "incr",      "decr",
    "touch",       "delete",    "flush_all", "stats",
    "version",     "verbosity", "quit",      "shutdown",
    "durable",     "mg",        "ms",        "md",
    "ma",          "mn",        "me",        "lru",
    "lru_crawler", "slabs",     "watch",     "cache_memlimit"};

/// One request of HTTP, answered with the numbers of the server.
class metrics_conversation final : public server::conversation {
 public:
  explicit metrics_conversation(service& in) : in_(in) {}

  server::fed feed(std::string_view bytes, std::int64_t, std::string& replies) override {
    constexpr std::size_t most = 8192;
    request_.append(bytes);
    server::fed done{.taken = bytes.size()};
    const bool is_whole = request_.find("\r\n\r\n") != request_.npos;
    if (!is_whole && request_.size() <= most) return done;
    done.closes = true;
    const std::string_view asked(request_);
    std::string status = "200 OK";
    std::string body;
    if (!is_whole) {
      status = "431 Request Header Fields Too Large";
    } else if (asked.starts_with("GET /metrics ") || asked.starts_with("GET / ")) {
      body = metrics_of(in_);
    } else {
      status = "404 Not Found";
      body = "the numbers are at /metrics\n";
    }
    replies += "HTTP/1.1 " + status +
               "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
               "Connection: close\r\nContent-Length: " +
               std::to_string(body.size()) + "\r\n\r\n" + body;
    return done;
  }

 private:
  service& in_;
  std::string request_;
};

void add_metric(std::string& to, std::string_view name, std::string_view kind,
                std::string_view help, std::uint64_t value) {
  to.append("# HELP outlast_").append(name).append(" ").append(help).append("\n");
  to.append("# TYPE outlast_").append(name).append(" ").append(kind).append("\n");
  to.append("outlast_").append(name).append(" ").append(std::to_string(value)).append("\n");
}

}  // namespace

spoken protocol_of(std::string_view first) {
  constexpr std::size_t longest = 16;
  constexpr unsigned char binary = 0x80;
  if (first.empty()) return spoken::either;
  if (first.front() == '*') return spoken::resp;
  if (static_cast<unsigned char>(first.front()) == binary) return spoken::memcached;
  const std::size_t end = first.find_first_of(" \r\n");
  if (end == first.npos && first.size() < longest) return spoken::either;
  const std::string_view word = first.substr(0, end);
  const bool is_there = std::find(memcached_commands.begin(), memcached_commands.end(), word) !=
                        memcached_commands.end();
  return is_there ? spoken::memcached : spoken::resp;
}

std::unique_ptr<server::conversation> make_conversation(service& in,
                                                        const protocol_options& options,
                                                        spoken protocol,
                                                        const server::resp_ends& ends) {
  server::item_space& items = in.space.items();
  switch (protocol) {
    case spoken::memcached:
      return server::make_memcached_conversation(items, options.memcached, in.memcached);
    case spoken::metrics: return std::make_unique<metrics_conversation>(in);
    case spoken::resp:
    case spoken::either: break;
  }
  return server::make_resp_conversation(items, options.resp, in.resp, ends);
}

void report_failed_handshake(service& in, const std::string& peer, const std::string& cause) {
  constexpr std::int64_t interval_ms = 10'000;
  const std::uint64_t all = in.counts.failed_handshakes.fetch_add(1) + 1;
  const std::int64_t now = now_ms();
  std::int64_t before = in.handshake_reported_ms.load();
  if (now - before < interval_ms) return;
  if (!in.handshake_reported_ms.compare_exchange_strong(before, now)) return;
  in.lines->add("a handshake of TLS with " + peer + " failed: " + cause + " (" +
                std::to_string(all) + " have failed since the start)");
}

std::string metrics_of(service& in) {
  using event = server::memcached_event;
  std::string all;
  server::item_space& items = in.space.items();
  const auto gauge = [&](std::string_view name, std::string_view help, std::uint64_t value) {
    add_metric(all, name, "gauge", help, value);
  };
  const auto counter = [&](std::string_view name, std::string_view help, std::uint64_t value) {
    add_metric(all, name, "counter", help, value);
  };
  gauge("up_seconds", "Seconds since the start.",
        static_cast<std::uint64_t>(std::max<std::int64_t>(now_ms() - in.started_ms, 0)) / 1000);
  gauge("items", "Items in the cache.", items.items());
  gauge("item_bytes", "Bytes of items in the file.", items.bytes());
  gauge("item_bytes_limit", "Bytes of items beyond which items are evicted.", items.limit_bytes());
  counter("evictions_total", "Items that were evicted.", items.evictions());
  gauge("connections", "Open connections.", in.counts.connections);
  counter("connections_total", "Connections that were accepted.", in.counts.accepted);
  counter("connections_refused_total", "Connections beyond the maximum.", in.counts.refused);
  gauge("pending_reply_bytes", "Bytes of replies that are not sent.", in.counts.pending_bytes);
  counter("held_replies_total", "Replies that waited until they were durable.",
          in.counts.held_replies);
  counter("stalls_total", "Pauses of reading because replies were pending.", in.counts.stalls);
  if (const server::backup_control* const made = in.settings.resp.backups; made != nullptr) {
    const server::backup_control::state now = made->present();
    gauge("backup_running", "1 while a backup is made.", now.runs ? 1 : 0);
    gauge("backup_last_failed", "1 if the last backup that has ended failed.",
          now.has_failed ? 1 : 0);
    gauge("backup_last_seconds",
          "Beginning of the last complete backup, in seconds since 1970; 0: there is none.",
          static_cast<std::uint64_t>(now.last_ms / 1000));
    counter("backups_total", "Backups that were made.", now.made);
    counter("backups_failed_total", "Backups that failed.", now.failed);
  }
  gauge("tls_handshakes", "Handshakes of TLS that are not complete.", in.counts.handshakes);
  counter("tls_failed_handshakes_total", "Handshakes of TLS that failed.",
          in.counts.failed_handshakes);
  if (const std::int64_t expires = in.counts.certificate_expires_s.load(); expires != 0) {
    gauge("tls_certificate_expires_seconds", "End of the certificate, in seconds since 1970.",
          static_cast<std::uint64_t>(expires));
  }
  counter("hits_total", "Reads that found an item.",
          in.memcached.value(event::get_hits) + in.resp.hits);
  counter("misses_total", "Reads that found none.",
          in.memcached.value(event::get_misses) + in.resp.misses);
  counter("memcached_sets_total", "Storage commands of memcached's protocol.",
          in.memcached.value(event::cmd_set));
  counter("resp_commands_total", "Commands of RESP.", in.resp.commands);
  gauge("durable_epoch", "The last epoch that a crash does not remove.", items.durable_token());
  gauge("device_failed", "1 if the device has failed: changes are refused.",
        in.space.has_failed() ? 1 : 0);
  return all;
}

}  // namespace outlast::apps
