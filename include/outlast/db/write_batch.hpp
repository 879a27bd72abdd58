// Batches of changes that a store applies atomically.
//
//   WriteBatch batch;
//   batch.Delete("old");
//   batch.Put("new", "value");
//   db->Write(WriteOptions(), &batch);  // both or none
#pragma once

#include "namespace.hpp"
#include "slice.hpp"
#include "status.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace OUTLAST_DB_NAMESPACE {

/// A sequence of puts and deletions. The last change for a key determines its value.
///
/// Layout and names are those of LevelDB 1.23. The format of the bytes is Outlast's own.
/// Thread-safety: const members may be called concurrently, others by one thread at a time.
class WriteBatch {
 public:
  /// Receives each change of a batch, in order.
  class Handler {
   public:
    virtual ~Handler();
    virtual void Put(const Slice& key, const Slice& value) = 0;
    virtual void Delete(const Slice& key) = 0;
  };

  /// Creates an empty batch.
  WriteBatch();
  WriteBatch(const WriteBatch&) = default;
  WriteBatch& operator=(const WriteBatch&) = default;
  ~WriteBatch();

  /// Adds a change that sets the value of `key`. Copies both.
  void Put(const Slice& key, const Slice& value);
  /// Adds a change that removes the entry for `key`, if any.
  void Delete(const Slice& key);
  void Clear();
  /// Returns the number of bytes of the batch: its keys and values, and a few bytes for each of
  /// them, as in LevelDB.
  size_t ApproximateSize() const;
  /// Appends the changes of `source`, which may be this batch.
  void Append(const WriteBatch& source);
  /// Calls `handler` for each change, in order. Returns Corruption if the batch is damaged; the
  /// handler has then received the changes before the damage.
  Status Iterate(Handler* handler) const;

  // ---- Not in LevelDB ----

  /// Receives deletions of ranges in addition to the other changes.
  class RangeHandler : public Handler {
   public:
    ~RangeHandler() override;
    virtual void DeleteRange(const Slice& begin, const Slice& end) = 0;
  };

  /// Adds a change that removes all keys from `begin` (inclusive) to `end` (exclusive). The time of
  /// the write grows with the number of keys in the range.
  void DeleteRange(const Slice& begin, const Slice& end);
  /// Calls `handler` for each change, in order. The other Iterate() returns NotSupported for a
  /// deletion of a range.
  Status Iterate(RangeHandler* handler) const;
  /// A position in the sequence of changes.
  struct Mark {
    std::size_t bytes = 0;
    std::uint64_t count = 0;  ///< of changes
  };
  /// Returns the position after the last change.
  Mark mark() const;
  /// Removes the changes after `to`. Requires: `to` was returned by mark(), and Clear() was not
  /// called since.
  void return_to(const Mark& to);
  /// Returns the changes as bytes for from_bytes(). The bytes exist until the batch changes.
  std::string_view bytes() const { return rep_; }
  /// Creates a batch from the result of bytes(). The bytes may be damaged; Iterate() detects that.
  static WriteBatch from_bytes(std::string_view bytes);

 private:
  std::string rep_;  // docs/formats/batch.md
};

}  // namespace OUTLAST_DB_NAMESPACE
