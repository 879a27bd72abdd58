// What a store is opened, read and written with.
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

/// Accepted without effect: values are kept as they are.
enum CompressionType { kNoCompression = 0x0, kSnappyCompression = 0x1 };

/// How a store is opened. What tunes LevelDB's files and caches is accepted without effect: the
/// store has neither. docs/guides/leveldb.md names each member.
///
/// Layout, names and defaults are those of LevelDB 1.23.
struct Options {
  /// BytewiseComparator() and Env::Default(); the rest as below.
  Options();

  /// The order of keys. Has to be the same, by its name, each time; lives as long as the store is
  /// open.
  const Comparator* comparator;
  /// Create the store if there is none. Otherwise that is an InvalidArgument.
  bool create_if_missing = false;
  /// A store that exists is an InvalidArgument.
  bool error_if_exists = false;
  /// Check the whole store when it is opened, and each value that is read.
  bool paranoid_checks = false;
  /// For the directory, the lock, the log of messages and their paths. Data goes past it, into a
  /// file that is mapped; with NewMemEnv() into ordinary memory.
  Env* env;
  /// Gets messages about the store; null: a file LOG in its directory does.
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

/// How data is read. Layout, names and defaults are those of LevelDB 1.23.
struct ReadOptions {
  /// Compare each value that is read with its checksum; a difference is a Corruption.
  bool verify_checksums = false;
  bool fill_cache = true;  // without effect
  /// What to read from; null: what is there at the call.
  const Snapshot* snapshot = nullptr;
};

/// How data is written. Layout, names and defaults are those of LevelDB 1.23.
struct WriteOptions {
  /// Durable at return, as far as the medium of the store reaches. Without it, too, where that
  /// costs nothing more: on persistent memory and on tmpfs. On a disk a write without it survives
  /// the death of the process at return, and is durable StoreOptions::window later: a crash of the
  /// machine takes away at most what was written in that time, all from some moment on.
  bool sync = false;
};

// ---- Ours ----

/// What LevelDB's options have no place for.
struct StoreOptions {
  /// How long a write without `sync` may wait for the disk.
  std::chrono::microseconds window{10'000};
  /// How many bytes of data, with what the store adds to them, it can ever hold; decided when it is
  /// created: a store that has less does not open. Its file is sparse and takes space
  /// as it fills. 0: what it has, or, when it is created, what the file system has room for then,
  /// but 1 GiB at least and 64 GiB at most.
  size_t capacity_bytes = 0;
  /// How many copies of the data there may be, from 2 to 64; on a disk decided at each opening,
  /// elsewhere when it is created: a store that has another number does not open then, unless this
  /// is 4, which asks for nothing. With twice as many as threads that write, no writer waits for
  /// another one, wherever that stops; with one more than these only for one that stops at a few
  /// places (tx/redo_opt.hpp). Those that are needed take space: two, where one thread writes; on
  /// persistent memory and tmpfs of the file, on a disk of memory, besides the one in the file.
  unsigned replicas = 4;
};

}  // namespace OUTLAST_DB_NAMESPACE
