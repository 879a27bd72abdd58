// Type names of RocksDB's interface.
#pragma once

#include "rocksdb_namespace.h"

#include <cstdint>

namespace ROCKSDB_NAMESPACE {

using ColumnFamilyId = std::uint32_t;
/// The number of a change. See DB::GetLatestSequenceNumber().
using SequenceNumber = std::uint64_t;

}  // namespace ROCKSDB_NAMESPACE
