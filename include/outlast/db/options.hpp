// Options for opening, reading and writing a store.
#pragma once

#include "namespace.hpp"

#include <chrono>
#include <cstddef>

namespace OUTLAST_DB_NAMESPACE {

class Cache;
class Comparator;
class Env;
class FilterPolicy;
class Logger;
class Snapshot;

/// Compression of values. Accepted without effect: the store does not compress.
enum CompressionType { kNoCompression = 0x0, kSnappyCompression = 0x1 };

/// Options for DB::Open(). Options that tune LevelDB's files and caches are accepted without
/// effect, because the store has neither. docs/guides/leveldb.md describes each member.
///
/// Layout, names and defaults are those of LevelDB 1.23.
struct Options {
  /// Sets BytewiseComparator(), Env::Default() and the defaults below.
  Options();

  /// Comparator that defines the order of keys. Requires: a comparator of the same name at each
  /// opening, which outlives the open store.
  const Comparator* comparator;
  /// If true, Open() creates a missing store. If false, Open() returns InvalidArgument for it.
  bool create_if_missing = false;
  /// If true, Open() returns InvalidArgument if the store exists.
  bool error_if_exists = false;
  /// If true, Open() checks the whole store, and each read verifies the checksum of the value.
  bool paranoid_checks = false;
  /// The store uses `env` only for the directory, the lock, the info log and their paths. Data are
  /// stored in a memory-mapped file and bypass `env`. An Env of NewMemEnv() keeps them in memory.
  Env* env;
  /// Receives messages about the store. If nullptr, the file LOG in the store's directory does.
  Logger* info_log = nullptr;
  size_t write_buffer_size = 4 * 1024 * 1024;        // bytes; without effect
  int max_open_files = 1000;                         // without effect
  Cache* block_cache = nullptr;                      // without effect
  size_t block_size = 4 * 1024;                      // bytes; without effect
  int block_restart_interval = 16;                   // without effect
  size_t max_file_size = 2 * 1024 * 1024;            // bytes; without effect
  CompressionType compression = kSnappyCompression;  // without effect
  bool reuse_logs = false;                           // without effect
  const FilterPolicy* filter_policy = nullptr;       // without effect
};

/// Options for reads. Layout, names and defaults are those of LevelDB 1.23.
struct ReadOptions {
  /// If true, each read verifies the checksum of the value and returns Corruption if it differs.
  bool verify_checksums = false;
  bool fill_cache = true;  // without effect
  /// Snapshot to read from. If nullptr, reads return the contents at the time of the call.
  const Snapshot* snapshot = nullptr;
};

/// Options for writes. Layout, names and defaults are those of LevelDB 1.23.
struct WriteOptions {
  /// If true, the write is durable at return, to the extent that the store's medium is durable. On
  /// persistent memory and on tmpfs this also holds if `sync` is false, because it costs nothing.
  /// On a disk, a write without `sync` survives the death of the process as soon as it returns. It
  /// is durable after StoreOptions::max_unsynced_time. A crash of the machine loses at most the
  /// writes of that time, and if it loses a write it also loses all later writes.
  bool sync = false;
};

// ---- Not in LevelDB ----

/// The structure in which a store keeps its data. Fixed at creation.
enum class StoreEngine {
  /// The engine of an existing store. A new store gets kRecords.
  kAutomatic,
  /// A B+-tree in several copies. Writers take turns and are wait-free. Files take 3 to 5 times the
  /// data. For all media.
  kReplicas,
  /// A log of records, with an index in ordinary memory. Writers run in parallel and wait only for
  /// writers of the same key. Files take two to three times the data and follow its size. Opening
  /// reads all records. For all media.
  kRecords,
};

/// Options of Outlast that LevelDB does not have.
struct StoreOptions {
  /// Maximum time between the return of a write without `sync` and its durability on a disk.
  std::chrono::microseconds max_unsynced_time{10'000};
  /// With the engine kRecords: maximum size of the file in bytes, which can differ at each opening.
  /// 0 means that the file grows to the end of the file system.
  ///
  /// With the engine kReplicas: maximum size of the data in bytes, including the overhead of the
  /// store. Fixed at creation: Open() rejects an existing store with a smaller capacity. The file
  /// is sparse and occupies space as it fills. 0 accepts the capacity of an existing store. A new
  /// store then gets the free space of the file system, but at least 1 GiB and at most 64 GiB.
  size_t capacity_bytes = 0;
  /// With the engine kReplicas, maximum number of copies of the data, from 2 to 64. Most programs
  /// should keep the default. With at least 2 * N copies for N writing threads, writes are
  /// wait-free. With N + 1 copies, a writer can wait only for a thread that stops at one of a few
  /// places (tx/redo_opt.hpp).
  ///
  /// Only the copies in use occupy space; one writing thread uses two. On persistent memory and
  /// tmpfs the copies are in the file. On a disk they are in memory, in addition to the one in the
  /// file, and the number is chosen at each opening. Elsewhere it is fixed at creation: Open()
  /// rejects an existing store with another number, unless this option has its default, 4. Has no
  /// effect on a store with the engine kRecords.
  unsigned replicas = 4;
  /// Engine of a new store. Open() rejects an existing store with another engine, except with
  /// kAutomatic; `outlast db convert` moves a store to another engine.
  StoreEngine engine = StoreEngine::kAutomatic;
  /// With the engine kRecords: if true, the index of the keys is in a file in /dev/shm, or beside
  /// the data if there is not enough space. A kill or a close leaves the file, with about 30 bytes
  /// for each key, and the next Open() with this option takes milliseconds whatever the size of the
  /// store. Without the file, such as after a restart of the machine, Open() reads all records. An
  /// Open() without this option and DestroyDB() remove the file. Options::paranoid_checks makes a
  /// new one. Has no effect where such a file is impossible, and on a store with the engine
  /// kReplicas.
  bool keep_index = false;
};

}  // namespace OUTLAST_DB_NAMESPACE
