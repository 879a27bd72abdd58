// The release of RocksDB whose interface this is.
#pragma once

#include "rocksdb_namespace.h"

#include <string>

#define ROCKSDB_MAJOR 7
#define ROCKSDB_MINOR 8
#define ROCKSDB_PATCH 3

namespace ROCKSDB_NAMESPACE {

/// Returns the version as a text, with or without ROCKSDB_PATCH.
inline std::string GetRocksVersionAsString(bool with_patch = true) {
  const std::string version = std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR);
  return with_patch ? version + "." + std::to_string(ROCKSDB_PATCH) : version;
}

}  // namespace ROCKSDB_NAMESPACE
