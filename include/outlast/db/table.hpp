// LevelDB's sorted tables: there are none here.
#pragma once

#include "iterator.hpp"
#include "namespace.hpp"
#include "options.hpp"

#include <cstdint>

namespace OUTLAST_DB_NAMESPACE {

class RandomAccessFile;

/// Refused: the store has no such files, and Open() opens none. Layout and names are those of
/// LevelDB 1.23.
class Table {
 public:
  /// NotSupported, and *table is null.
  static Status Open(const Options& options, RandomAccessFile* file, uint64_t file_size,
                     Table** table);
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  ~Table();

  /// Over nothing; NotSupported.
  Iterator* NewIterator(const ReadOptions& options) const;
  /// 0.
  uint64_t ApproximateOffsetOf(const Slice& key) const;

 private:
  Table() = default;

  [[maybe_unused]] void* layout_ = nullptr;  // LevelDB's has a member here
};

}  // namespace OUTLAST_DB_NAMESPACE
