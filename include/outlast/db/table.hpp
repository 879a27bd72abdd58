// LevelDB's class for sorted tables, which the store does not have.
#pragma once

#include "iterator.hpp"
#include "namespace.hpp"
#include "options.hpp"

#include <cstdint>

namespace OUTLAST_DB_NAMESPACE {

class RandomAccessFile;

/// A sorted table of LevelDB. Not supported: the store has no such files. Layout and names are
/// those of LevelDB 1.23.
class Table {
 public:
  /// Sets *table to nullptr and returns NotSupported.
  static Status Open(const Options& options, RandomAccessFile* file, uint64_t file_size,
                     Table** table);
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  ~Table();

  /// Returns an iterator over an empty sequence whose status is NotSupported.
  Iterator* NewIterator(const ReadOptions& options) const;
  /// Returns 0.
  uint64_t ApproximateOffsetOf(const Slice& key) const;

 private:
  Table() = default;

  [[maybe_unused]] void* layout_ = nullptr;  // LevelDB's has a member here
};

}  // namespace OUTLAST_DB_NAMESPACE
