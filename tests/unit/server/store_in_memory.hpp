// A store in ordinary memory with a power switch, and with hooks between a write and its return.
#pragma once

#include <outlast/db/db.hpp>
#include <outlast/db/write_batch.hpp>

#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace outlast::server {

/// Writes without `sync` are lost by a power cut, unless a later write with `sync` has returned.
/// Thread-safety: all members may be called concurrently. The hooks are set before.
class store_in_memory final : public db::DB {
 public:
  using contents = std::map<std::string, std::string>;

  store_in_memory() = default;
  explicit store_in_memory(contents from) : now_(from), durable_(std::move(from)) {}

  /// Called before a write. An error that it returns is that of the write, which has no effect.
  std::function<db::Status()> permit_write = [] { return db::Status(); };
  /// Called before a write with `sync`.
  std::function<void()> before_sync = [] {};
  /// Called after a write is visible, before its call returns, with its `sync`.
  std::function<void(bool)> after_write = [](bool) {};
  /// Called when an iterator is destroyed.
  std::function<void()> after_iteration = [] {};

  [[nodiscard]] contents after_power_cut() const {
    const std::lock_guard lock(mutex_);
    return durable_;
  }

  db::Status Put(const db::WriteOptions& options, const db::Slice& key,
                 const db::Slice& value) override {
    return DB::Put(options, key, value);
  }
  db::Status Delete(const db::WriteOptions& options, const db::Slice& key) override {
    return DB::Delete(options, key);
  }
  db::Status Write(const db::WriteOptions& options, db::WriteBatch* updates) override {
    if (const db::Status refusal = permit_write(); !refusal.ok()) return refusal;
    if (options.sync) before_sync();
    {
      const std::lock_guard lock(mutex_);
      writer to(now_);
      const db::Status status = updates->Iterate(&to);
      if (!status.ok()) return status;
      if (options.sync) durable_ = now_;
    }
    after_write(options.sync);
    return {};
  }
  db::Status Get(const db::ReadOptions&, const db::Slice& key, std::string* value) override {
    const std::lock_guard lock(mutex_);
    const auto at = now_.find(key.ToString());
    if (at == now_.end()) return db::Status::NotFound("no such key");
    *value = at->second;
    return {};
  }
  db::Iterator* NewIterator(const db::ReadOptions&) override {
    const std::lock_guard lock(mutex_);
    return new walk(now_, after_iteration);
  }
  const db::Snapshot* GetSnapshot() override { return nullptr; }
  void ReleaseSnapshot(const db::Snapshot*) override {}
  bool GetProperty(const db::Slice& property, std::string* value) override {
    *value = property.view() == "outlast.comparator" ? "leveldb.BytewiseComparator" : "";
    return !value->empty();
  }
  void GetApproximateSizes(const db::Range*, int, std::uint64_t*) override {}
  void CompactRange(const db::Slice*, const db::Slice*) override {}

 private:
  class writer final : public db::WriteBatch::Handler {
   public:
    explicit writer(contents& to) : to_(to) {}
    void Put(const db::Slice& key, const db::Slice& value) override {
      to_[key.ToString()] = value.ToString();
    }
    void Delete(const db::Slice& key) override { to_.erase(key.ToString()); }

   private:
    contents& to_;
  };

  /// An iterator over a copy.
  class walk final : public db::Iterator {
   public:
    walk(contents of, std::function<void()> at_end)
        : of_(std::move(of)), at_(of_.end()), at_end_(std::move(at_end)) {}
    ~walk() override { at_end_(); }
    walk(const walk&) = delete;
    walk& operator=(const walk&) = delete;
    bool Valid() const override { return at_ != of_.end(); }
    void SeekToFirst() override { at_ = of_.begin(); }
    void SeekToLast() override { at_ = of_.empty() ? of_.end() : std::prev(of_.end()); }
    void Seek(const db::Slice& target) override { at_ = of_.lower_bound(target.ToString()); }
    void Next() override { ++at_; }
    void Prev() override { at_ = at_ == of_.begin() ? of_.end() : std::prev(at_); }
    db::Slice key() const override { return at_->first; }
    db::Slice value() const override { return at_->second; }
    db::Status status() const override { return {}; }

   private:
    contents of_;
    contents::const_iterator at_;
    std::function<void()> at_end_;
  };

  mutable std::mutex mutex_;
  contents now_;
  contents durable_;
};

}  // namespace outlast::server
