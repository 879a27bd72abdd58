// Names of types.
#pragma once

#include "rocksdb_namespace.h"

#include <cstdint>

namespace ROCKSDB_NAMESPACE {

using ColumnFamilyId = std::uint32_t;
/// A number of changes: DB::GetLatestSequenceNumber().
using SequenceNumber = std::uint64_t;

}  // namespace ROCKSDB_NAMESPACE
