// Costs that explain the figures. Each function measures one subject and hands over its figures.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::bench {

struct micro_settings {
  std::filesystem::path pool_directory;
  std::filesystem::path disk_directory;  ///< on a disk, for what is about disks
  bool quick = false;
  // For those that run threads for a time:
  double seconds = 0;             ///< of one timed run; 0: as the benchmark says
  unsigned repetitions = 0;       ///< 0: as the benchmark says
  std::vector<unsigned> threads;  ///< empty: as the benchmark says
};

/// What a number should be; whether it is, is said and no more.
struct micro_goal {
  double bound = 0;
  bool at_least = true;  ///< else at most

  [[nodiscard]] bool reached_by(double value) const noexcept {
    return at_least ? value >= bound : value <= bound;
  }
};

/// One number with its unit: the median of `repetitions` runs.
struct micro_figure {
  std::string benchmark;  ///< `flush`, `recovery`, ...
  std::string subject;    ///< what was measured, in words
  double value = 0;
  std::string unit;
  double spread = 0;
  unsigned repetitions = 0;
  std::optional<micro_goal> goal = std::nullopt;
};

using micro_sink = std::function<void(const micro_figure&)>;

/// A micro benchmark by name.
struct micro_benchmark {
  std::string_view name;
  std::string_view what;
  void (*run)(const micro_settings&, const micro_sink&);
};

/// Write-backs, fences, streaming stores on this machine's memory.
void measure_flush_costs(const micro_settings& settings, const micro_sink& sink);
/// What each key occupies in the structures of this program, in whole pages of all replicas.
void measure_memory(const micro_settings& settings, const micro_sink& sink);
/// Reopening a hash table after a kill: nodes per second, milliseconds.
void measure_recovery(const micro_settings& settings, const micro_sink& sink);
/// Opening cleanly closed pools of several sizes.
void measure_open(const micro_settings& settings, const micro_sink& sink);
/// Pools of format version 2: all of the following five.
void measure_pools(const micro_settings& settings, const micro_sink& sink);
/// The durations of operations while their pool grows, in memory.
void measure_growth(const micro_settings& settings, const micro_sink& sink);
/// The same on a disk, with LMDB and RocksDB.
void measure_growth_on_disk(const micro_settings& settings, const micro_sink& sink);
/// The length of a file after rounds of filling and erasing.
void measure_refill(const micro_settings& settings, const micro_sink& sink);
/// Opening cleanly closed pools of 1 TiB.
void measure_large_open(const micro_settings& settings, const micro_sink& sink);
/// Backups of pools while threads write to them.
void measure_backup(const micro_settings& settings, const micro_sink& sink);
/// Updates, growth and recovery of sets without durable links.
void measure_sets(const micro_settings& settings, const micro_sink& sink);
/// All that follows about buffered structures, beside transient and strict ones. [Wen21, 5.2, 6]
void measure_epochs(const micro_settings& settings, const micro_sink& sink);
void measure_epoch_maps(const micro_settings& settings, const micro_sink& sink);
void measure_epoch_queues(const micro_settings& settings, const micro_sink& sink);
/// By the size of payloads.
void measure_epoch_sizes(const micro_settings& settings, const micro_sink& sink);
/// By the frequency of syncs.
void measure_epoch_syncs(const micro_settings& settings, const micro_sink& sink);
/// By the design points of the clock.
void measure_epoch_design(const micro_settings& settings, const micro_sink& sink);
/// Opening a map after a kill.
void measure_epoch_recovery(const micro_settings& settings, const micro_sink& sink);
/// Flushes and fences of each operation and of ticks.
void measure_epoch_counts(const micro_settings& settings, const micro_sink& sink);
/// An in-process cache under YCSB-A, a graph that changes, a graph that is loaded and recovered.
void measure_epoch_cache(const micro_settings& settings, const micro_sink& sink);
void measure_epoch_graph(const micro_settings& settings, const micro_sink& sink);
void measure_epoch_graph_recovery(const micro_settings& settings, const micro_sink& sink);
/// On a file in the working directory, whatever disk that is on.
void measure_epoch_file(const micro_settings& settings, const micro_sink& sink);
/// Transactions of all engines, beside a mutex and an undo log. [Cor20, 6]
void measure_tx_exchanges(const micro_settings& settings, const micro_sink& sink);
void measure_tx_queues(const micro_settings& settings, const micro_sink& sink);
void measure_tx_sets(const micro_settings& settings, const micro_sink& sink);
/// What an operation takes, its engine, its flushes. [Cor20, Table 1]
void measure_tx_costs(const micro_settings& settings, const micro_sink& sink);
/// Flushes and fences of each operation.
void measure_tx_counts(const micro_settings& settings, const micro_sink& sink);
/// Opening a large region after a kill, the first read and the first update.
void measure_tx_reopening(const micro_settings& settings, const micro_sink& sink);
/// Volatile memory at start, what of a file can be filled, and what data take of it.
void measure_tx_memory(const micro_settings& settings, const micro_sink& sink);
/// What is asked of the store, beside LevelDB, RocksDB and LMDB: all that follows but the
/// large one, YCSB and counts. [Cor20, Figures 7 to 9]
void measure_store(const micro_settings& settings, const micro_sink& sink);
/// In memory, and on a disk: a million keys.
void measure_store_in_memory(const micro_settings& settings, const micro_sink& sink);
void measure_store_on_disk(const micro_settings& settings, const micro_sink& sink);
/// Ten million keys: opened after kills; filled, read and overwritten.
void measure_store_recovery(const micro_settings& settings, const micro_sink& sink);
void measure_large_store(const micro_settings& settings, const micro_sink& sink);
/// Beside libpmemobj and hash maps that keep nothing, too; in memory.
void measure_store_beside(const micro_settings& settings, const micro_sink& sink);
/// Workloads A to F.
void measure_store_ycsb(const micro_settings& settings, const micro_sink& sink);
/// Flushes and fences of puts.
void measure_store_counts(const micro_settings& settings, const micro_sink& sink);
/// Lookups of a reader in another process, beside those of a thread of the writer.
void measure_readers(const micro_settings& settings, const micro_sink& sink);
/// The pool's allocator beside malloc's rivals that are installed.
void measure_allocator(const micro_settings& settings, const micro_sink& sink);

/// Calls `once()` `repetitions` times and hands over the median of what it returns.
template <class Once>
void report_median(const micro_sink& sink, micro_figure figure, unsigned repetitions, Once&& once);

[[nodiscard]] const std::vector<micro_benchmark>& micro_benchmarks();

}  // namespace outlast::bench

#include <bench/engine/statistics.hpp>

namespace outlast::bench {

template <class Once>
void report_median(const micro_sink& sink, micro_figure figure, unsigned repetitions, Once&& once) {
  std::vector<double> values;
  for (unsigned i = 0; i < repetitions; ++i) values.push_back(once());
  figure.value = median(values);
  figure.spread = spread(values);
  figure.repetitions = repetitions;
  sink(figure);
}

}  // namespace outlast::bench
