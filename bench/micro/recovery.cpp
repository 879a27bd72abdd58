// How long a pool takes to come back: after a kill, when each root is recovered by tracing, and
// after a clean close, when nothing needs to be.
#include <bench/adapters/temporary_pool.hpp>
#include <bench/engine/machine.hpp>
#include <bench/engine/random.hpp>
#include <bench/micro/micro.hpp>
#include <outlast/domain/adr.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/durable.hpp>
#include <outlast/lockfree/hash_table.hpp>

#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <vector>

namespace outlast::bench {
namespace {

using clock = std::chrono::steady_clock;
using flit = durable::flit<durable::tag::adjacent, durable::automatic, domain::process>;
using mirror = durable::mirror<domain::adr>;

constexpr std::size_t gibibyte = std::size_t{1} << 30;

double milliseconds_since(clock::time_point start) {
  return std::chrono::duration<double, std::milli>(clock::now() - start).count();
}

/// A pool file that is removed with its object, for a table under `Policy`.
template <class Policy>
class pool_file {
  using measured_pool = basic_pool<typename Policy::domain_type>;
  using table = lockfree::hash_table<std::uint64_t, std::uint64_t, Policy>;

 public:
  explicit pool_file(const std::filesystem::path& directory) : path_(unused_path(directory)) {}
  /// Left as a kill leaves it.
  pool_file(const std::filesystem::path& directory, std::size_t size_bytes, std::uint64_t keys)
      : pool_file(directory) {
    fill(size_bytes, keys, false);
  }
  pool_file(const pool_file&) = delete;
  pool_file& operator=(const pool_file&) = delete;
  ~pool_file() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  /// Creates the pool with a table of `keys` keys in random order.
  void fill(std::size_t size_bytes, std::uint64_t keys, bool close) const {
    measured_pool pool = measured_pool::create(path_.string(), {.size_bytes = size_bytes});
    {
      table filled(pool, "table", {.buckets = keys});
      xoshiro256 random(1);
      for (std::uint64_t held = 0; held < keys;) held += filled.insert(random(), held) ? 1 : 0;
    }
    if (close) pool.close();  // otherwise it is left as a kill leaves it
  }

  /// Milliseconds until the pool is open and the table can be used.
  [[nodiscard]] double attach_ms() const {
    const clock::time_point start = clock::now();
    measured_pool pool = measured_pool::open(path_.string());
    table attached(pool, "table");
    return milliseconds_since(start);
  }

  /// Milliseconds until a cleanly closed pool is open and its table can be used; closes it again.
  [[nodiscard]] double attach_and_close_ms() const {
    const clock::time_point start = clock::now();
    measured_pool pool = measured_pool::open(path_.string());
    double elapsed = 0;
    {
      table attached(pool, "table");
      elapsed = milliseconds_since(start);
    }
    pool.close();
    return elapsed;
  }

 private:
  std::filesystem::path path_;
};

void open_clean(const micro_settings& settings, const micro_sink& sink, std::size_t size_bytes,
                std::uint64_t keys) {
  const pool_file<flit> file(settings.pool_directory);
  file.fill(size_bytes, keys, true);
  const std::string subject = "open of a clean pool of " + std::to_string(size_bytes / gibibyte) +
                              " GiB with " + std::to_string(keys) + " keys";
  report_median(sink, {.benchmark = "open", .subject = subject, .unit = "ms"},
                settings.quick ? 3 : 11, [&] { return file.attach_and_close_ms(); });
}

/// `body` on one CPU: threads that it starts stay there too.
template <class Body>
void on_one_cpu(Body&& body) {
  std::async(std::launch::async, [&] {
    pin_this_thread(usable_cpus().front());
    body();
  }).get();
}

/// Milliseconds and nodes per second of the attachment of one table, again and again.
class recoveries {
 public:
  recoveries(const micro_settings& settings, const micro_sink& sink)
      : settings_(settings), sink_(sink), keys_(settings.quick ? 100'000 : 1'000'000) {}

  void measure() {
    report(filled<flit>(), "flit over process");
    const pool_file<mirror> mirrored = filled<mirror>();
    on_one_cpu([&] { report(mirrored, "mirror over adr, 1 CPU"); });
    const std::size_t cpus = usable_cpus().size();
    if (cpus > 1) report(mirrored, "mirror over adr, " + std::to_string(cpus) + " CPUs");
  }

 private:
  template <class Policy>
  [[nodiscard]] pool_file<Policy> filled() const {
    return pool_file<Policy>(settings_.pool_directory, pool_bytes_for(keys_), keys_);
  }

  /// The pool is abandoned dirty each time, so each repetition recovers anew.
  template <class Policy>
  void report(const pool_file<Policy>& file, const std::string& how) const {
    const std::string subject =
        "hash table of " + std::to_string(keys_) + " keys after a kill, " + how;
    const unsigned repetitions = settings_.quick ? 3 : 7;
    std::vector<double> times;
    report_median(sink_, {.benchmark = "recovery", .subject = subject, .unit = "ms"}, repetitions,
                  [&] {
                    times.push_back(file.attach_ms());
                    return times.back();
                  });
    std::size_t next = 0;
    report_median(sink_, {.benchmark = "recovery", .subject = subject, .unit = "M nodes/s"},
                  repetitions, [&] { return static_cast<double>(keys_) / 1e3 / times[next++]; });
  }

  const micro_settings& settings_;
  const micro_sink& sink_;
  std::uint64_t keys_;
};

}  // namespace

void measure_recovery(const micro_settings& settings, const micro_sink& sink) {
  recoveries(settings, sink).measure();
}

void measure_open(const micro_settings& settings, const micro_sink& sink) {
  open_clean(settings, sink, gibibyte, settings.quick ? 10'000 : 1'000'000);
  open_clean(settings, sink, 64 * gibibyte, settings.quick ? 10'000 : 1'000'000);
}

}  // namespace outlast::bench
