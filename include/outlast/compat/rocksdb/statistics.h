// rocksdb::Statistics: the numbers of a store's operations.
#pragma once

#include "rocksdb_namespace.h"
#include "status.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ROCKSDB_NAMESPACE {

/// The counters. Tickers of RocksDB that would have no true number here are not declared.
enum Tickers : std::uint32_t {
  // Counters of operations.
  NUMBER_KEYS_WRITTEN,  ///< changes that were written
  NUMBER_KEYS_READ,     ///< calls of Get()
  BYTES_WRITTEN,        ///< of keys and values
  BYTES_READ,           ///< of values that Get() found
  NUMBER_MULTIGET_CALLS,
  NUMBER_MULTIGET_KEYS_READ,
  NUMBER_MULTIGET_KEYS_FOUND,
  NUMBER_MULTIGET_BYTES_READ,
  NUMBER_DB_SEEK,
  NUMBER_DB_NEXT,
  NUMBER_DB_PREV,
  NUMBER_DB_SEEK_FOUND,
  NUMBER_DB_NEXT_FOUND,
  NUMBER_DB_PREV_FOUND,
  NO_ITERATOR_CREATED,
  NO_ITERATOR_DELETED,
  // Always 0, because the store has no such part.
  BLOCK_CACHE_MISS,
  BLOCK_CACHE_HIT,
  BLOCK_CACHE_ADD,
  BLOCK_CACHE_ADD_FAILURES,
  BLOCK_CACHE_INDEX_MISS,
  BLOCK_CACHE_INDEX_HIT,
  BLOCK_CACHE_FILTER_MISS,
  BLOCK_CACHE_FILTER_HIT,
  BLOCK_CACHE_DATA_MISS,
  BLOCK_CACHE_DATA_HIT,
  BLOCK_CACHE_BYTES_READ,
  BLOCK_CACHE_BYTES_WRITE,
  BLOOM_FILTER_USEFUL,
  MEMTABLE_HIT,
  MEMTABLE_MISS,
  GET_HIT_L0,
  GET_HIT_L1,
  GET_HIT_L2_AND_UP,
  COMPACT_READ_BYTES,
  COMPACT_WRITE_BYTES,
  FLUSH_WRITE_BYTES,
  STALL_MICROS,
  ROW_CACHE_HIT,
  ROW_CACHE_MISS,
  TICKER_ENUM_MAX
};

/// Histograms. The store measures none of them, so they are empty.
enum Histograms : std::uint32_t {
  DB_GET,
  DB_WRITE,
  DB_MULTIGET,
  DB_SEEK,
  COMPACTION_TIME,
  WAL_FILE_SYNC_MICROS,
  HISTOGRAM_ENUM_MAX
};

/// All tickers, with RocksDB's names.
inline const std::vector<std::pair<Tickers, std::string>> TickersNameMap = {
    {NUMBER_KEYS_WRITTEN, "rocksdb.number.keys.written"},
    {NUMBER_KEYS_READ, "rocksdb.number.keys.read"},
    {BYTES_WRITTEN, "rocksdb.bytes.written"},
    {BYTES_READ, "rocksdb.bytes.read"},
    {NUMBER_MULTIGET_CALLS, "rocksdb.number.multiget.get"},
    {NUMBER_MULTIGET_KEYS_READ, "rocksdb.number.multiget.keys.read"},
    {NUMBER_MULTIGET_KEYS_FOUND, "rocksdb.number.multiget.keys.found"},
    {NUMBER_MULTIGET_BYTES_READ, "rocksdb.number.multiget.bytes.read"},
    {NUMBER_DB_SEEK, "rocksdb.number.db.seek"},
    {NUMBER_DB_NEXT, "rocksdb.number.db.next"},
    {NUMBER_DB_PREV, "rocksdb.number.db.prev"},
    {NUMBER_DB_SEEK_FOUND, "rocksdb.number.db.seek.found"},
    {NUMBER_DB_NEXT_FOUND, "rocksdb.number.db.next.found"},
    {NUMBER_DB_PREV_FOUND, "rocksdb.number.db.prev.found"},
    {NO_ITERATOR_CREATED, "rocksdb.num.iterator.created"},
    {NO_ITERATOR_DELETED, "rocksdb.num.iterator.deleted"},
    {BLOCK_CACHE_MISS, "rocksdb.block.cache.miss"},
    {BLOCK_CACHE_HIT, "rocksdb.block.cache.hit"},
    {BLOCK_CACHE_ADD, "rocksdb.block.cache.add"},
    {BLOCK_CACHE_ADD_FAILURES, "rocksdb.block.cache.add.failures"},
    {BLOCK_CACHE_INDEX_MISS, "rocksdb.block.cache.index.miss"},
    {BLOCK_CACHE_INDEX_HIT, "rocksdb.block.cache.index.hit"},
    {BLOCK_CACHE_FILTER_MISS, "rocksdb.block.cache.filter.miss"},
    {BLOCK_CACHE_FILTER_HIT, "rocksdb.block.cache.filter.hit"},
    {BLOCK_CACHE_DATA_MISS, "rocksdb.block.cache.data.miss"},
    {BLOCK_CACHE_DATA_HIT, "rocksdb.block.cache.data.hit"},
    {BLOCK_CACHE_BYTES_READ, "rocksdb.block.cache.bytes.read"},
    {BLOCK_CACHE_BYTES_WRITE, "rocksdb.block.cache.bytes.write"},
    {BLOOM_FILTER_USEFUL, "rocksdb.bloom.filter.useful"},
    {MEMTABLE_HIT, "rocksdb.memtable.hit"},
    {MEMTABLE_MISS, "rocksdb.memtable.miss"},
    {GET_HIT_L0, "rocksdb.l0.hit"},
    {GET_HIT_L1, "rocksdb.l1.hit"},
    {GET_HIT_L2_AND_UP, "rocksdb.l2andup.hit"},
    {COMPACT_READ_BYTES, "rocksdb.compact.read.bytes"},
    {COMPACT_WRITE_BYTES, "rocksdb.compact.write.bytes"},
    {FLUSH_WRITE_BYTES, "rocksdb.flush.write.bytes"},
    {STALL_MICROS, "rocksdb.stall.micros"},
    {ROW_CACHE_HIT, "rocksdb.row.cache.hit"},
    {ROW_CACHE_MISS, "rocksdb.row.cache.miss"},
};

struct HistogramData {
  double median = 0;
  double percentile95 = 0;
  double percentile99 = 0;
  double average = 0;
  double standard_deviation = 0;
  double max = 0;
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  double min = 0;
};

/// Accepted without effect.
enum StatsLevel : std::uint8_t {
  kDisableAll,
  kExceptTickers = kDisableAll,
  kExceptHistogramOrTimers,
  kExceptTimers,
  kExceptDetailedTimers,
  kExceptTimeForMutex,
  kAll
};

/// The counters of all stores whose options refer to this object. Thread-safety: all members may be
/// called concurrently.
class Statistics {
 public:
  Statistics() = default;
  Statistics(const Statistics&) = delete;
  Statistics& operator=(const Statistics&) = delete;
  virtual ~Statistics() = default;

  virtual std::uint64_t getTickerCount(std::uint32_t ticker) const {
    return ticker < TICKER_ENUM_MAX ? counts_[ticker].load(std::memory_order_relaxed) : 0;
  }
  virtual void recordTick(std::uint32_t ticker, std::uint64_t count = 1) {
    if (ticker < TICKER_ENUM_MAX) counts_[ticker].fetch_add(count, std::memory_order_relaxed);
  }
  virtual void setTickerCount(std::uint32_t ticker, std::uint64_t count) {
    if (ticker < TICKER_ENUM_MAX) counts_[ticker].store(count, std::memory_order_relaxed);
  }
  virtual std::uint64_t getAndResetTickerCount(std::uint32_t ticker) {
    return ticker < TICKER_ENUM_MAX ? counts_[ticker].exchange(0, std::memory_order_relaxed) : 0;
  }
  virtual bool getTickerMap(std::map<std::string, std::uint64_t>* all) const {
    for (const auto& [ticker, name] : TickersNameMap) (*all)[name] = getTickerCount(ticker);
    return true;
  }
  /// Sets all counters to 0.
  virtual Status Reset() {
    for (auto& each : counts_) each.store(0, std::memory_order_relaxed);
    return {};
  }
  virtual std::string ToString() const {
    std::string text;
    for (const auto& [ticker, name] : TickersNameMap) {
      text += name + " COUNT : " + std::to_string(getTickerCount(ticker)) + "\n";
    }
    return text;
  }
  virtual void histogramData(std::uint32_t /*type*/, HistogramData* data) const { *data = {}; }
  virtual bool HistEnabledForType(std::uint32_t /*type*/) const { return false; }
  virtual void set_stats_level(StatsLevel level) { level_.store(level); }
  virtual StatsLevel get_stats_level() const { return level_.load(); }

 private:
  std::atomic<std::uint64_t> counts_[TICKER_ENUM_MAX] = {};
  std::atomic<StatsLevel> level_{kExceptDetailedTimers};
};

inline std::shared_ptr<Statistics> CreateDBStatistics() { return std::make_shared<Statistics>(); }

}  // namespace ROCKSDB_NAMESPACE
