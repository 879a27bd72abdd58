// LevelDB's class that builds sorted tables, which the store does not have.
#pragma once

#include "namespace.hpp"
#include "options.hpp"
#include "slice.hpp"
#include "status.hpp"

#include <cstdint>

namespace OUTLAST_DB_NAMESPACE {

class WritableFile;

/// A builder of LevelDB's sorted tables. Not supported: it writes nothing, and status() returns
/// NotSupported from the beginning. Layout and names are those of LevelDB 1.23.
///
/// Thread-safety: const members may be called concurrently, others by one thread at a time.
class TableBuilder {
 public:
  TableBuilder(const Options& options, WritableFile* file);
  TableBuilder(const TableBuilder&) = delete;
  TableBuilder& operator=(const TableBuilder&) = delete;
  ~TableBuilder();

  /// Returns NotSupported.
  Status ChangeOptions(const Options& options);
  // Add() and Flush() do nothing.
  void Add(const Slice& key, const Slice& value);
  void Flush();
  /// Returns NotSupported.
  Status status() const;
  /// Returns NotSupported.
  Status Finish();
  /// Does nothing.
  void Abandon();
  // Both return 0.
  uint64_t NumEntries() const;
  uint64_t FileSize() const;

 private:
  [[maybe_unused]] void* layout_ = nullptr;  // LevelDB's has a member here
};

}  // namespace OUTLAST_DB_NAMESPACE
