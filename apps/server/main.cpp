// outlastd: a cache on the network whose items survive a kill. It speaks the protocols of memcached
// and Redis.
#include <apps/build_info.hpp>
#include <apps/program.hpp>
#include <apps/server/backups.hpp>
#include <apps/server/daemon.hpp>
#include <apps/server/key_space.hpp>
#include <apps/server/log.hpp>
#include <apps/server/password_file.hpp>
#include <apps/server/settings.hpp>
#include <apps/server/sockets.hpp>
#include <outlast/base/error.hpp>

#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace outlast::apps {
namespace {

/// What the command line and the configuration file contain, in their units.
struct arguments {
  std::string file;
  std::string mode = "cache";
  std::vector<std::string> addresses;
  std::uint16_t port = 11211;
  int memcached_port = -1;
  int resp_port = -1;
  int durable_port = -1;
  int metrics_port = -1;
  int tls_port = -1;
  tls_settings tls;
  std::string tls_clients = "yes";
  std::uint64_t tls_handshake_s = 10;
  backup_settings backup;
  std::string path;
  std::string path_mode = "700";
  std::uint64_t memory_mb = 1024;
  bool never_evicts = false;
  double epoch_ms = 10;
  unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1U, 4U);
  std::size_t connections = 1024;
  std::uint64_t item_bytes = std::uint64_t{1} << 20;
  std::uint64_t pending_mb = 256;
  std::uint64_t pending_client_mb = 8;
  std::uint64_t idle_s = 0;
  std::uint64_t drain_s = 5;
  bool durable = false;
  bool allows_shutdown = false;
  std::string password_file;
  std::string log_file;
  std::string process_file;
};

void add_sockets(CLI::App& program, arguments& to) {
  program
      .add_option("-p,--port", to.port,
                  "TCP port for both protocols; 0: none. The first bytes of a connection decide")
      ->capture_default_str();
  program.add_option("-l,--listen,--bind", to.addresses, "Addresses of the TCP ports")
      ->default_str("127.0.0.1");
  program.add_option("--memcached-port", to.memcached_port, "TCP port for memcached's protocol")
      ->check(CLI::Range(0, 65'535));
  program.add_option("--resp-port", to.resp_port, "TCP port for the protocol of Redis")
      ->check(CLI::Range(0, 65'535));
  program
      .add_option("--durable-port", to.durable_port,
                  "TCP port for both protocols, whose replies wait until they are durable")
      ->check(CLI::Range(0, 65'535));
  program
      .add_option("--metrics-port", to.metrics_port,
                  "TCP port on 127.0.0.1 where Prometheus reads the numbers of the server")
      ->check(CLI::Range(0, 65'535));
  program.add_option("-s,--unix-socket,--unixsocket", to.path, "Unix socket for both protocols");
  program
      .add_option("-a,--unix-mask,--unixsocketperm", to.path_mode,
                  "Access mode of the Unix socket, octal")
      ->capture_default_str()
      ->check([](const std::string& text) {
        const bool is_octal =
            !text.empty() && text.size() <= 4 && text.find_first_not_of("01234567") == text.npos;
        return is_octal ? std::string() : "'" + text + "' is no octal mode, such as 700";
      });
}

void add_tls(CLI::App& program, arguments& to) {
  program.add_option("--tls-port", to.tls_port, "TCP port for both protocols over TLS")
      ->check(CLI::Range(0, 65'535));
  program.add_option("--tls-cert-file", to.tls.certificate_file,
                     "File with the certificate of the server and of its authorities, PEM");
  program.add_option("--tls-key-file", to.tls.key_file,
                     "File with the key of the certificate, PEM");
  program.add_option("--tls-ca-cert-file", to.tls.authority_file,
                     "File with the certificates of the authorities of clients, PEM");
  program
      .add_option(
          "--tls-auth-clients", to.tls_clients,
          "Clients must show a certificate (yes), may show one (optional), or show none (no)")
      ->capture_default_str()
      ->check(CLI::IsMember({"yes", "no", "optional"}));
  program
      .add_option("--tls-handshake-timeout", to.tls_handshake_s,
                  "Seconds that a handshake may take")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{3600}));
  program
      .add_option("--tls-max-handshakes", to.tls.max_handshakes,
                  "Maximum number of handshakes that are not complete")
      ->capture_default_str()
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 20));
}

void add_limits(CLI::App& program, arguments& to) {
  program.add_option("-t,--threads", to.threads, "Threads that serve connections")
      ->capture_default_str()
      ->check(CLI::Range(1U, 256U));
  program
      .add_option("-c,--conn-limit,--maxclients", to.connections, "Maximum number of connections")
      ->capture_default_str()
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 20));
  program.add_option("-I,--max-item-size", to.item_bytes, "Maximum size of an item, in bytes")
      ->capture_default_str()
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{1024}, std::uint64_t{1} << 29));
  program
      .add_option("--pending-mb", to.pending_mb,
                  "Megabytes of replies that are not sent at which requests are not read")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 20));
  program
      .add_option("--pending-client-mb", to.pending_client_mb,
                  "Megabytes of replies of one connection that are not sent at which its requests "
                  "are not read")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 20));
  program
      .add_option("--idle-timeout,--timeout", to.idle_s,
                  "Seconds after which an idle connection is closed; 0: never")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 24));
  program
      .add_option("--drain-timeout", to.drain_s,
                  "Seconds that pending replies have when the server ends")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{3600}));
}

void add_options(CLI::App& program, arguments& to) {
  program
      .add_option("pool", to.file,
                  "File of the pool, or directory of the store; created if it is missing")
      ->required();
  program
      .add_option("--mode", to.mode,
                  "cache: items are evicted, and a kill removes the last 20 ms of changes; store: "
                  "items stay, and a kill removes nothing")
      ->capture_default_str()
      ->check(CLI::IsMember({"cache", "store"}));
  add_sockets(program, to);
  add_tls(program, to);
  program
      .add_option("-m,--memory-limit,--maxmemory-mb", to.memory_mb,
                  "Megabytes of items beyond which the least used ones are evicted")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 23));
  program.add_flag("-M,--disable-evictions", to.never_evicts,
                   "Refuse items instead of evicting others");
  program
      .add_option("--epoch-ms", to.epoch_ms,
                  "Length of an epoch in milliseconds: a crash removes the last two")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 10'000.0));
  add_limits(program, to);
  program.add_flag("--durable", to.durable, "Each reply waits until what it reports is durable");
  program.add_flag("--enable-shutdown", to.allows_shutdown,
                   "Permit the command shutdown of memcached's protocol");
  program.add_option("--password-file", to.password_file,
                     "File whose first line is the password of all clients. In memcached's text "
                     "protocol the first request has it: set KEY 0 0 LENGTH, and as the value a "
                     "name, a blank and the password");
  program.add_option("--backup-dir", to.backup.directory,
                     "Directory where BGSAVE and SIGUSR1 make backups");
  program
      .add_option("--max-backups", to.backup.max_backups,
                  "Number of backups beyond which the oldest one is removed")
      ->capture_default_str()
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 20));
  program.add_option("--log", to.log_file, "File of the log instead of standard error");
  program.add_option("-P,--pidfile", to.process_file, "File for the number of the process");
}

listening tcp(const std::string& address, int port, spoken protocol) {
  listening made;
  made.address = address;
  made.port = static_cast<std::uint16_t>(port);
  made.protocol = protocol;
  return made;
}

/// Returns how an inherited socket is served: its name selects that.
listening served_as(const inherited_socket& given) {
  listening made;
  made.inherited = given.descriptor;
  made.protocol = given.name == "memcached" ? spoken::memcached
                  : given.name == "resp"    ? spoken::resp
                  : given.name == "metrics" ? spoken::metrics
                                            : spoken::either;
  made.durable = given.name == "durable";
  made.tls = given.name == "tls";
  return made;
}

/// Returns the sockets to listen on. Throws std::runtime_error.
std::vector<listening> sockets_of(const arguments& given) {
  std::vector<listening> all;
  for (const inherited_socket& each : inherited_sockets()) all.push_back(served_as(each));
  const bool has_inherited = !all.empty();
  std::vector<std::string> addresses = given.addresses;
  if (addresses.empty()) addresses.emplace_back("127.0.0.1");
  for (const std::string& address : addresses) {
    const auto add = [&](int port, spoken protocol, bool durable = false) {
      if (port < 0) return;
      all.push_back(tcp(address, port, protocol));
      all.back().durable = durable;
    };
    // With sockets of systemd the usual port is not opened, too.
    if (given.port != 0 && !has_inherited) add(given.port, spoken::either);
    add(given.memcached_port, spoken::memcached);
    add(given.resp_port, spoken::resp);
    add(given.durable_port, spoken::either, true);
    add(given.tls_port, spoken::either);
    if (given.tls_port >= 0) all.back().tls = true;
  }
  if (!given.path.empty()) {
    listening made;
    made.path = given.path;
    made.mode = static_cast<unsigned>(std::stoul(given.path_mode, nullptr, 8)) & 0777U;
    all.push_back(made);
  }
  if (given.metrics_port >= 0) all.push_back(tcp("127.0.0.1", given.metrics_port, spoken::metrics));
  if (all.empty()) throw std::runtime_error("there is no socket to listen on; name a port or path");
  return all;
}

/// Returns the settings of TLS. Throws std::runtime_error if an option is missing.
tls_settings tls_of(const arguments& given) {
  tls_settings made = given.tls;
  made.handshake_timeout = std::chrono::seconds(given.tls_handshake_s);
  made.clients = given.tls_clients == "yes"  ? client_certificates::required
                 : given.tls_clients == "no" ? client_certificates::unused
                                             : client_certificates::optional;
  if (made.certificate_file.empty() || made.key_file.empty()) {
    throw std::runtime_error("TLS requires --tls-cert-file and --tls-key-file");
  }
  if (made.authority_file.empty() && made.clients != client_certificates::unused) {
    throw std::runtime_error("--tls-auth-clients is " + given.tls_clients +
                             ", which requires --tls-ca-cert-file; or set it to no");
  }
  return made;
}

server_settings settings_of(const arguments& given) {
  server_settings made;
  if (given.mode == "store") made.store = given.file;
  made.cache.file = given.file;
  made.cache.limit_bytes = given.memory_mb << 20;
  made.cache.evicts = !given.never_evicts;
  made.cache.epoch_length =
      std::chrono::microseconds(static_cast<std::int64_t>(given.epoch_ms * 1000));
  if (!given.password_file.empty()) {
    made.password_file = given.password_file;
    made.resp.password = made.memcached.password = password_in(given.password_file);
  }
  made.listen = sockets_of(given);
  const bool has_tls = std::any_of(made.listen.begin(), made.listen.end(),
                                   [](const listening& how) { return how.tls; });
  if (has_tls) made.tls = tls_of(given);
  made.backup = given.backup;
  made.threads = given.threads;
  made.max_connections = given.connections;
  made.pending_bytes_of_all = given.pending_mb << 20;
  made.pending_bytes_of_one = given.pending_client_mb << 20;
  made.idle_timeout = std::chrono::seconds(given.idle_s);
  made.drain_timeout = std::chrono::seconds(given.drain_s);
  made.durable = given.durable;
  made.memcached.max_item_bytes = given.item_bytes;
  made.memcached.started_ms = made.resp.started_ms = now_ms();
  made.resp.version = std::string(build_info::version);
  made.resp.port = given.port;
  made.resp.limits.bulk_bytes = std::max<std::size_t>(given.item_bytes, 1 << 16);
  return made;
}

/// Raises the limit of descriptors for so many connections, if that is permitted.
void raise_limit(std::size_t connections, log& to) {
  constexpr rlim_t others = 64;
  rlimit now{};
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0) return;
  const rlim_t wanted = connections + others;
  if (now.rlim_cur >= wanted) return;
  rlimit raised = now;
  raised.rlim_cur = std::min(wanted, now.rlim_max);
  std::string cause;
  if (raised.rlim_cur > now.rlim_cur) {
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) {
      now = raised;
    } else {
      cause = " and cannot be raised: " + std::generic_category().message(errno);
    }
  }
  if (now.rlim_cur < wanted) {
    to.add("the limit of open files is " + std::to_string(now.rlim_cur) + ", less than " +
           std::to_string(connections) + " connections need" + cause +
           "; raise it before the start (LimitNOFILE=)");
  }
}

/// Removes the file with the number of the process at the end.
class process_file {
 public:
  explicit process_file(std::string path) : path_(std::move(path)) {
    if (path_.empty()) return;
    std::ofstream out(path_);
    out << ::getpid() << '\n';
    if (!out.flush()) throw std::runtime_error("the file " + path_ + " cannot be written");
  }
  ~process_file() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  process_file(const process_file&) = delete;
  process_file& operator=(const process_file&) = delete;

 private:
  std::string path_;
};

/// Opens the cache or store. A server that was killed keeps its file until the kernel has removed
/// it. So a restart can be too early, and waits.
std::unique_ptr<key_space> open_patiently(const server_settings& wanted) {
  constexpr std::chrono::milliseconds interval{20};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  for (;;) {
    try {
      return wanted.store.empty() ? open_cache(wanted.cache) : open_store(wanted.store);
    } catch (const error& refused) {
      const bool is_late = std::chrono::steady_clock::now() >= end;
      if (refused.reason() != errc::already_open || is_late) throw;
    }
    std::this_thread::sleep_for(interval);
  }
}

/// Takes signals that would otherwise end the process before the server handles them, or after it.
/// They have no effect then.
class ignored_signals {
 public:
  ignored_signals() : signals_(io_, SIGHUP, SIGUSR1) {}

 private:
  asio::io_context io_;  // does not run
  asio::signal_set signals_;
};

void serve(const arguments& given) {
  const ignored_signals ignored;
  server_settings settings = settings_of(given);
  log lines(given.log_file);
  raise_limit(settings.max_connections, lines);
  const auto began = std::chrono::steady_clock::now();
  const std::unique_ptr<key_space> space = open_patiently(settings);
  std::unique_ptr<backups> copies;
  if (!settings.backup.directory.empty()) {
    copies = std::make_unique<backups>(settings.backup, settings.cache.file, *space, lines);
    settings.resp.backups = copies.get();
  }
  {
    daemon* running = nullptr;
    if (given.allows_shutdown) {
      settings.memcached.shut_down = [&running](bool is_graceful) {
        running->shut_down(is_graceful);
      };
    }
    daemon made(settings, *space, lines);
    running = &made;
    made.listen();
    const process_file number(given.process_file);
    const std::chrono::duration<double> opening = std::chrono::steady_clock::now() - began;
    lines.add("outlastd " + std::string(build_info::version) + " serves " + settings.cache.file +
              " with " + std::to_string(space->items().items()) + " items on " + made.sockets() +
              "; opened in " + std::to_string(opening.count()) + " s. " +
              space->items().guarantee());
    notify_manager("READY=1");
    made.run();
  }
  copies.reset();  // a backup must not run when the file is closed
  space->close();
  lines.add("ended: all items are durable");
}

}  // namespace
}  // namespace outlast::apps

int main(int argc, char** argv) {
  CLI::App program{"A cache on the network that a kill does not empty", "outlastd"};
  outlast::apps::arguments given;
  outlast::apps::add_options(program, given);
  program.set_config("--config", "", "File with these options, one a line: name = value");
  program.set_version_flag("-V,--version", "outlastd " + std::string(outlast::build_info::version) +
                                               (OUTLAST_SERVER_TLS ? " (TLS)" : ""));
  program.callback([&] { outlast::apps::serve(given); });
  return outlast::apps::run_program(program, argc, argv);
}
