// Makes LevelDB's sorted tables: there are none here.
#pragma once

#include "namespace.hpp"
#include "options.hpp"
#include "slice.hpp"
#include "status.hpp"

#include <cstdint>

namespace OUTLAST_DB_NAMESPACE {

class WritableFile;

/// Refused: writes nothing, and status() says so from the beginning. Layout and names are those of
/// LevelDB 1.23.
///
/// Thread-safety: const members may be called concurrently, others by one thread at a time.
class TableBuilder {
 public:
  TableBuilder(const Options& options, WritableFile* file);
  TableBuilder(const TableBuilder&) = delete;
  TableBuilder& operator=(const TableBuilder&) = delete;
  ~TableBuilder();

  /// NotSupported.
  Status ChangeOptions(const Options& options);
  // Nothing.
  void Add(const Slice& key, const Slice& value);
  void Flush();
  /// NotSupported.
  Status status() const;
  /// NotSupported.
  Status Finish();
  /// Nothing.
  void Abandon();
  // 0.
  uint64_t NumEntries() const;
  uint64_t FileSize() const;

 private:
  [[maybe_unused]] void* layout_ = nullptr;  // LevelDB's has a member here
};

}  // namespace OUTLAST_DB_NAMESPACE
