// The store beside LevelDB, RocksDB and LMDB, each with its default options, in runs of db_bench.
// [Cor20, Figures 7 to 9]
//
// Writes of a table are equally durable. In memory (tmpfs) all of them survive the death of the
// process, whether they are synced or not; rows say which, since others pay for it. On a disk those
// with sync survive a power cut, and without it ours lie there within its window, others' when the
// kernel likes.
#include <bench/micro/interleaved.hpp>
#include <bench/micro/store_runs.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace outlast::bench {
namespace {

constexpr const char* ours = "outlast";
constexpr double entry_bytes = 116;  // key and value
constexpr double ms = 1e3;
constexpr double mib_of_kib = 1.0 / 1024;

/// A store, and what is particular about it in db_bench's flags.
struct store_series {
  std::string name;
  std::string engine;
  std::vector<std::string> flags;
  bool is_volatile = false;  ///< keeps nothing
};

/// Those of `wanted` that this build's db_bench has.
std::vector<store_series> present(const std::vector<store_series>& wanted) {
  const std::vector<std::string> known = known_engines();
  std::vector<store_series> found;
  for (const store_series& one : wanted) {
    if (std::find(known.begin(), known.end(), one.engine) != known.end()) found.push_back(one);
  }
  return found;
}

std::vector<store_series> all_with(const std::string& flag) {
  return present({{ours, "outlast", {flag}},
                  {"outlast, records", "outlast_records", {flag}},
                  {"LevelDB", "leveldb", {flag}},
                  {"RocksDB", "rocksdb", {flag}},
                  {"LMDB", "lmdb", {flag}}});
}

/// Where, how much and how often; the figures as they come.
class store_measuring {
 public:
  store_measuring(const micro_settings& settings, std::filesystem::path directory,
                  std::uint64_t keys)
      : directory_(std::move(directory)),
        medium_(medium_name(directory_)),
        keys_(settings.quick ? 2'000 : keys),
        seconds_(settings.seconds > 0 ? settings.seconds
                 : settings.quick     ? 0.02
                                      : 3),
        repetitions_(settings.repetitions != 0 ? settings.repetitions
                     : settings.quick          ? 1
                                               : 3),
        is_quick_(settings.quick) {}

  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }
  [[nodiscard]] unsigned repetitions() const { return repetitions_; }
  [[nodiscard]] double raw_bytes() const { return static_cast<double>(keys_) * entry_bytes; }

  /// Runs benchmarks in a directory, with flags that count more than those of the series.
  [[nodiscard]] store_results run(const store_series& one, const store_directory& in,
                                  unsigned threads, const std::string& benchmarks,
                                  const std::vector<std::string>& more = {}) const {
    std::vector<std::string> flags{"--engine=" + one.engine,
                                   "--db=" + in.name(),
                                   "--num=" + std::to_string(keys_),
                                   "--reads=4294967295",  // until the time is up
                                   "--duration=" + std::to_string(seconds_),
                                   "--threads=" + std::to_string(threads),
                                   "--benchmarks=" + benchmarks};
    if (is_quick_) flags.emplace_back("--capacity=256MiB");
    flags.insert(flags.end(), one.flags.begin(), one.flags.end());
    flags.insert(flags.end(), more.begin(), more.end());
    return run_db_bench(flags);
  }

  [[nodiscard]] std::string row(const std::string& what) const { return medium_ + ", " + what; }
  [[nodiscard]] std::string row(const std::string& what, unsigned threads) const {
    return on_threads(row(what), threads);
  }

  void add(const std::string& row, const std::string& unit, const store_series& of, double value) {
    table_.add(row, unit, of.name, value);
  }
  void add_rate(const std::string& what, unsigned threads, const store_series& of,
                const store_result& result) {
    add(row(what, threads), rate_unit, of, result.operations_per_second / 1e3);
  }
  /// Sizes when a benchmark had ended, and after the store was closed.
  void add_sizes(const store_series& of, const store_result& running, const store_result& closed) {
    add(row("files, open / raw data"), "times", of, running.file_bytes / raw_bytes());
    add(row("files, closed / raw data"), "times", of, closed.file_bytes / raw_bytes());
    add(row("memory, mapped files included"), "MiB", of, running.vm_hwm_kib * mib_of_kib);
    add(row("memory without files"), "MiB", of, running.rss_anon_kib * mib_of_kib);
  }

  /// once(series) of each in turn, each repetition beginning with another one.
  template <class Once>
  void interleave(const std::vector<store_series>& all, Once&& once) {
    for (unsigned r = 0; r < repetitions_; ++r) {
      for (std::size_t i = 0; i < all.size(); ++i) once(all[(i + r) % all.size()]);
    }
  }

  void want(const std::string& row, const std::string& series, const std::string& against,
            double bound, bool at_least = true) {
    goals_.push_back({row, series, against, {bound, at_least}});
  }
  void want_of_both(const std::string& row, double bound) {
    for (const char* other : {"LevelDB", "RocksDB"}) want(row, ours, other, bound);
  }
  void report(const micro_sink& sink, const std::string& benchmark) const {
    table_.report(sink, benchmark, ours, is_quick_ ? std::vector<store_goal>() : goals_);
  }

 private:
  std::filesystem::path directory_;
  std::string medium_;
  std::uint64_t keys_;
  double seconds_;
  unsigned repetitions_;
  bool is_quick_;
  store_table table_;
  std::vector<store_goal> goals_;
};

// ---- In memory ----

constexpr const char* read_and_written[] = {"overwrite", "readrandom", "readwhilewriting"};

/// Reads and writes of one store: filled by as many threads as come first, used by each number.
void measure_in_memory(store_measuring& all, const store_series& one,
                       const std::vector<unsigned>& threads) {
  const store_directory in(all.directory());
  const unsigned first = threads.front();
  const store_results filled =
      all.run(one, in, first,
              "fillrandom,filluniquerandom,overwrite,readrandom,readwhilewriting,readseq,close");
  all.add_rate("fillrandom", first, one, filled.at("fillrandom"));
  std::vector<store_results> used{filled};
  for (std::size_t i = 1; i < threads.size(); ++i) {
    used.push_back(all.run(one, in, threads[i], "overwrite,readrandom,readwhilewriting",
                           {"--use_existing_db"}));
  }
  for (const std::string what : read_and_written) {
    for (std::size_t i = 0; i < used.size(); ++i) {
      all.add_rate(what, threads[i], one, used[i].at(what));
      if (i == 0) continue;
      all.add(all.row(what, threads[i]) + " / " + std::to_string(first), "times", one,
              used[i].at(what).operations_per_second / filled.at(what).operations_per_second);
    }
  }
  all.add_rate("readseq", first, one, filled.at("readseq"));
  all.add_sizes(one, filled.at("readseq"), filled.at("close"));
  const store_results timed = all.run(one, in, first, "overwrite,readrandom,readwhilewriting",
                                      {"--use_existing_db", "--histogram"});
  for (const std::string what : read_and_written) {
    all.add(all.row("99.9 % of " + what + " within", first), "us", one, timed.at(what).p99_9_us);
  }
}

void want_in_memory(store_measuring& all, const std::vector<unsigned>& threads) {
  for (const unsigned count : threads) {
    all.want_of_both(all.row("overwrite", count), 3);
    all.want_of_both(all.row("readrandom", count), 5);
    all.want(all.row("readrandom", count), ours, "", 1500.0 * count);
    all.want_of_both(all.row("readwhilewriting", count), 10);
    for (const std::string what : read_and_written) {
      all.want(all.row(what, count) + " / " + std::to_string(threads.front()), ours, "", 1);
    }
  }
  all.want_of_both(all.row("fillrandom", threads.front()), 2);
  all.want(all.row("readseq", threads.front()), ours, "LevelDB", 1);
  all.want(all.row("files, open / raw data"), "outlast, 2 replicas", "", 3.5, false);
}

// ---- On a disk ----

constexpr unsigned many_threads = 8;

void measure_on_disk(store_measuring& all, const store_series& one) {
  const store_directory in(all.directory());
  const store_results buffered = all.run(
      one, in, 1, "fillrandom,filluniquerandom,overwrite,readrandom,readseq,close", {"--sync=0"});
  for (const char* what : {"fillrandom", "overwrite", "readrandom", "readseq"}) {
    const bool writes = what != std::string("readrandom") && what != std::string("readseq");
    all.add_rate(what + std::string(writes ? ", sync = false" : ""), 1, one, buffered.at(what));
  }
  all.add_sizes(one, buffered.at("readseq"), buffered.at("close"));
  for (const unsigned threads : {1U, many_threads}) {
    const std::vector<std::string> flags{"--use_existing_db", "--sync=1", "--histogram"};
    const store_result synced = all.run(one, in, threads, "overwrite", flags).at("overwrite");
    all.add_rate("overwrite, sync = true", threads, one, synced);
    all.add(all.row("99.9 % of overwrite, sync = true, within", threads), "us", one,
            synced.p99_9_us);
  }
}

void want_on_disk(store_measuring& all) {
  all.want_of_both(all.row("overwrite, sync = true", 1), 1);
  all.want_of_both(all.row("overwrite, sync = true", many_threads), 2);
  all.want_of_both(all.row("overwrite, sync = false", 1), 3);
  all.want_of_both(all.row("fillrandom, sync = false", 1), 3);
  all.want(all.row("readseq", 1), ours, "LevelDB", 1);
  all.want(all.row("files, closed / raw data"), ours, "", 1.6, false);
}

// ---- After a kill ----

/// Filled once, and opened after several kills; ends killed.
void measure_recovery_of(store_measuring& all, const store_series& one) {
  const store_directory in(all.directory());
  (void)all.run(one, in, 1, "filluniquerandom,kill");
  for (unsigned r = 0; r < all.repetitions(); ++r) {
    const store_results came_back =
        all.run(one, in, 1, "open,readone,writeone,kill", {"--use_existing_db"});
    const store_result& open = came_back.at("open");
    const double read_s = came_back.at("readone").seconds;
    const double write_s = came_back.at("writeone").seconds;
    all.add(all.row("open after a kill"), "ms", one, open.seconds * ms);
    all.add(all.row("open and first read"), "ms", one, (open.seconds + read_s) * ms);
    all.add(all.row("open and first write"), "ms", one, (open.seconds + write_s) * ms);
    all.add(all.row("data opened"), "GB/s", one, all.raw_bytes() / open.seconds / 1e9);
  }
}

void measure_recovery_in(const micro_settings& settings, const micro_sink& sink,
                         const std::filesystem::path& directory, const std::string& flag) {
  store_measuring all(settings, directory, 10'000'000);
  for (const store_series& one : all_with(flag)) measure_recovery_of(all, one);
  if (directory == settings.pool_directory) {
    all.want(all.row("open and first read"), ours, "", 5, false);
  }
  all.report(sink, "store-recovery");
}

// ---- Side by side ----

/// What reads and writes a store of `threads` threads, timed one by one. Volatile ones begin empty
/// in each process.
std::string used_by(const store_series& one, unsigned threads) {
  const std::string used = "overwrite,readrandom,readwhilewriting";
  return threads == 1 || one.is_volatile ? "filluniquerandom," + used : used;
}

/// One store: used by one thread, killed, opened, and used by each other number of threads.
void measure_beside(store_measuring& all, const store_series& one,
                    const std::vector<unsigned>& threads) {
  const store_directory in(all.directory());
  const std::vector<std::string> kept{"--use_existing_db"};
  const store_results first = all.run(one, in, 1, used_by(one, 1) + ",kill", {"--histogram"});
  const std::vector<std::string> existing =
      one.is_volatile ? std::vector<std::string>() : std::vector<std::string>{"--use_existing_db"};
  const store_results back = all.run(one, in, 1, "open,readone,readrandom", kept);
  for (const unsigned count : threads) {
    std::vector<std::string> flags = existing;
    flags.emplace_back("--histogram");
    const store_results used =
        count == 1 ? first : all.run(one, in, count, used_by(one, count), flags);
    for (const std::string what : read_and_written) {
      all.add_rate(what, count, one, used.at(what));
      all.add(all.row("99.9 % of " + what + " within", count), "us", one, used.at(what).p99_9_us);
    }
  }
  const store_result& running = first.at("readwhilewriting");
  all.add(all.row("files / raw data"), "times", one, running.file_bytes / all.raw_bytes());
  all.add(all.row("memory, mapped files included"), "MiB", one, running.vm_hwm_kib * mib_of_kib);
  all.add(all.row("memory without files"), "MiB", one, running.rss_anon_kib * mib_of_kib);
  all.add(all.row("open and first read after a kill"), "ms", one,
          (back.at("open").seconds + back.at("readone").seconds) * ms);
  all.add(all.row("keys found after a kill"), "%", one,
          100 * back.at("readrandom").found / std::max(1.0, back.at("readrandom").sought));
}

}  // namespace

void measure_store(const micro_settings& settings, const micro_sink& sink) {
  measure_store_in_memory(settings, sink);
  measure_store_on_disk(settings, sink);
  measure_store_recovery(settings, sink);
}

void measure_store_in_memory(const micro_settings& settings, const micro_sink& sink) {
  store_measuring all(settings, settings.pool_directory, 1'000'000);
  const std::vector<store_series> stores =
      present({{ours, "outlast", {"--sync"}},
               {"outlast, records", "outlast_records", {"--sync"}},
               {"LevelDB", "leveldb", {"--sync"}},
               {"RocksDB", "rocksdb", {"--sync"}},
               {"LMDB", "lmdb", {"--sync"}},
               {"LevelDB, no sync", "leveldb", {}},
               {"RocksDB, no sync", "rocksdb", {}},
               {"LMDB, no sync", "lmdb", {}},
               {"outlast, 2 replicas", "outlast", {"--sync", "--replicas=2"}}});
  const std::vector<unsigned> threads = threads_of(settings);
  all.interleave(stores, [&](const store_series& one) { measure_in_memory(all, one, threads); });
  want_in_memory(all, threads);
  all.report(sink, "store-memory");
}

void measure_store_on_disk(const micro_settings& settings, const micro_sink& sink) {
  store_measuring all(settings, settings.disk_directory, 1'000'000);
  all.interleave(all_with("--sync=0"), [&](const store_series& one) { measure_on_disk(all, one); });
  want_on_disk(all);
  all.report(sink, "store-disk");
}

void measure_store_recovery(const micro_settings& settings, const micro_sink& sink) {
  measure_recovery_in(settings, sink, settings.pool_directory, "--sync=1");
  measure_recovery_in(settings, sink, settings.disk_directory, "--sync=0");
}

void measure_large_store(const micro_settings& settings, const micro_sink& sink) {
  micro_settings once = settings;
  if (once.repetitions == 0) once.repetitions = 1;  // to fill takes minutes
  store_measuring all(once, settings.pool_directory, 10'000'000);
  const std::vector<unsigned> threads = threads_of(settings);
  all.interleave(all_with("--sync=1"),
                 [&](const store_series& one) { measure_in_memory(all, one, threads); });
  all.report(sink, "store-large");
}

void measure_store_ycsb(const micro_settings& settings, const micro_sink& sink) {
  store_measuring all(settings, settings.pool_directory, 1'000'000);
  all.interleave(all_with("--sync=1"), [&](const store_series& one) {
    for (const unsigned threads : threads_of(settings)) {
      const store_directory in(all.directory());
      // D and E insert: they come last.
      const store_results used =
          all.run(one, in, threads, "ycsbload,ycsba,ycsbb,ycsbc,ycsbf,ycsbd,ycsbe");
      for (const char* what : {"ycsbload", "ycsba", "ycsbb", "ycsbc", "ycsbd", "ycsbe", "ycsbf"}) {
        all.add_rate(what, threads, one, used.at(what));
      }
    }
  });
  all.report(sink, "store-ycsb");
}

void measure_store_beside(const micro_settings& settings, const micro_sink& sink) {
  store_measuring all(settings, settings.pool_directory, 1'000'000);
  const std::vector<store_series> stores =
      present({{ours, "outlast", {"--sync"}},
               {"outlast, records", "outlast_records", {"--sync"}},
               {"libpmemobj", "libpmemobj", {}},
               {"LevelDB", "leveldb", {"--sync"}},
               {"RocksDB", "rocksdb", {"--sync"}},
               {"LMDB", "lmdb", {"--sync"}},
               {"LMDB, no sync", "lmdb", {}},
               {"tbb::concurrent_hash_map", "tbb", {}, true},
               {"std::unordered_map", "unordered_map", {}, true}});
  const std::vector<unsigned> threads = threads_of(settings);
  all.interleave(stores, [&](const store_series& one) { measure_beside(all, one, threads); });
  all.report(sink, "store-beside");
}

}  // namespace outlast::bench
