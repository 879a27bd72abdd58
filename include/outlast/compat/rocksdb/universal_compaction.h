// Options of RocksDB's universal compaction. The store has no compactions.
#pragma once

#include "rocksdb_namespace.h"

#include <climits>

namespace ROCKSDB_NAMESPACE {

enum CompactionStopStyle { kCompactionStopStyleSimilarSize, kCompactionStopStyleTotalSize };

/// Accepted without effect.
struct CompactionOptionsUniversal {
  unsigned size_ratio = 1;
  unsigned min_merge_width = 2;
  unsigned max_merge_width = UINT_MAX;
  unsigned max_size_amplification_percent = 200;
  int compression_size_percent = -1;
  CompactionStopStyle stop_style = kCompactionStopStyleTotalSize;
  bool allow_trivial_move = false;
  bool incremental = false;
};

}  // namespace ROCKSDB_NAMESPACE
