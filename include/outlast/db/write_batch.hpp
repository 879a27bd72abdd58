// Several changes that are made at once.
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

/// Puts and deletions in an order: of two for one key the later one counts.
///
/// Layout and names are those of LevelDB 1.23; what the bytes mean is ours.
/// Thread-safety: const members may be called concurrently, others by one thread at a time.
class WriteBatch {
 public:
  /// Is told of each change, in their order.
  class Handler {
   public:
    virtual ~Handler();
    virtual void Put(const Slice& key, const Slice& value) = 0;
    virtual void Delete(const Slice& key) = 0;
  };

  /// Empty.
  WriteBatch();
  WriteBatch(const WriteBatch&) = default;
  WriteBatch& operator=(const WriteBatch&) = default;
  ~WriteBatch();

  /// The key shall have the value. Both are copied.
  void Put(const Slice& key, const Slice& value);
  /// The key shall be gone, if it is there.
  void Delete(const Slice& key);
  void Clear();
  /// Bytes that the batch takes: of its keys and values, and a few for each of them. As LevelDB's.
  size_t ApproximateSize() const;
  /// The changes of `source` follow those that are here. `source` may be this one.
  void Append(const WriteBatch& source);
  /// Corruption if the batch was damaged; the changes before have been told then.
  Status Iterate(Handler* handler) const;

  // ---- Ours ----

  /// Is told of ranges besides.
  class RangeHandler : public Handler {
   public:
    ~RangeHandler() override;
    virtual void DeleteRange(const Slice& begin, const Slice& end) = 0;
  };

  /// All keys from `begin` on and before `end` shall be gone. A write takes time for each of them.
  void DeleteRange(const Slice& begin, const Slice& end);
  /// As of a Handler, for which a deletion of a range is NotSupported.
  Status Iterate(RangeHandler* handler) const;
  /// A place after some of the changes.
  struct Mark {
    std::size_t bytes = 0;
    std::uint64_t count = 0;  ///< of changes
  };
  /// After the changes that are here.
  Mark mark() const;
  /// Forgets the changes that came after `to`, which was the mark(), and no Clear() since.
  void return_to(const Mark& to);
  /// The changes as bytes that from_bytes() understands, valid until the batch changes.
  std::string_view bytes() const { return rep_; }
  /// Of bytes that may be damaged: Iterate() finds out.
  static WriteBatch from_bytes(std::string_view bytes);

 private:
  std::string rep_;  // docs/formats/batch.md
};

}  // namespace OUTLAST_DB_NAMESPACE
