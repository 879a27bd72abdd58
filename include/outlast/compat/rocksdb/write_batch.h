// rocksdb::WriteBatch.
#pragma once

#include <outlast/compat/rocksdb/slice.h>
#include <outlast/compat/rocksdb/status.h>
#include <outlast/db/write_batch.hpp>

#include <cstddef>
#include <cstdint>

namespace rocksdb {

/// Several changes that are made at once, in their order.
/// Thread-safety: const members may be called concurrently, others by one thread at a time.
class WriteBatch {
 public:
  /// Is told of each change, in their order.
  class Handler {
   public:
    virtual ~Handler() = default;
    virtual void Put(const Slice& key, const Slice& value) = 0;
    virtual void Delete(const Slice& key) = 0;
    virtual void DeleteRange(const Slice& /*begin*/, const Slice& /*end*/) {}
  };

  explicit WriteBatch(std::size_t /*reserved_bytes*/ = 0, std::size_t /*max_bytes*/ = 0) {}

  // Copied into the batch.
  Status Put(const Slice& key, const Slice& value) {
    changes_.Put(key, value);
    return count();
  }
  Status Delete(const Slice& key) {
    changes_.Delete(key);
    return count();
  }
  Status SingleDelete(const Slice& key) { return Delete(key); }
  /// All keys from `begin` on and before `end`. The write takes time for each of them.
  Status DeleteRange(const Slice& begin, const Slice& end) {
    changes_.DeleteRange(begin, end);
    return count();
  }
  void Clear() { *this = WriteBatch(); }

  [[nodiscard]] std::uint32_t Count() const { return count_; }
  [[nodiscard]] std::size_t GetDataSize() const { return changes_.ApproximateSize(); }
  Status Iterate(Handler* handler) const {
    teller to(*handler);
    return changes_.Iterate(&to);
  }

 private:
  friend class DB;

  class teller final : public outlast::db::WriteBatch::RangeHandler {
   public:
    explicit teller(rocksdb::WriteBatch::Handler& to) : to_(to) {}
    void Put(const outlast::db::Slice& key, const outlast::db::Slice& value) override {
      to_.Put(key, value);
    }
    void Delete(const outlast::db::Slice& key) override { to_.Delete(key); }
    void DeleteRange(const outlast::db::Slice& begin, const outlast::db::Slice& end) override {
      to_.DeleteRange(begin, end);
    }

   private:
    rocksdb::WriteBatch::Handler& to_;
  };

  Status count() {
    ++count_;
    return {};
  }

  outlast::db::WriteBatch changes_;
  std::uint32_t count_ = 0;
};

}  // namespace rocksdb
