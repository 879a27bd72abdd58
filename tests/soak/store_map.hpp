// A store with the names of snapshot_subject.
#pragma once

#include <tests/soak/subject.hpp>

#include <outlast/db/db.hpp>
#include <outlast/db/iterator.hpp>
#include <outlast/db/write_batch.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace outlast::test::soak {

/// Throws lost_content: a store that refuses work is no better than one that loses it.
inline void require_ok(const db::Status& status) {
  if (!status.ok()) throw lost_content("store", status.ToString());
}

/// Writes of every 64th key are synced. The store outlives it.
class store_map {
 public:
  using key_type = std::string;
  using mapped_type = std::string;

  explicit store_map(db::DB& in) : in_(&in) {}

  void put(const std::string& key, const std::string& value) {
    require_ok(in_->Put(options(key), key, value));
  }
  /// Keys belong to a thread, so no other thread inserts between the two.
  bool insert(const std::string& key, const std::string& value) {
    if (get(key)) return false;
    db::WriteBatch both;
    both.Put(key, "");
    both.Put(key, value);
    require_ok(in_->Write({}, &both));
    return true;
  }
  bool erase(const std::string& key) {
    const bool was_there = get(key).has_value();
    require_ok(in_->Delete(options(key), key));
    return was_there;
  }
  [[nodiscard]] std::optional<std::string> get(const std::string& key) {
    std::string found;
    const db::Status status = in_->Get({}, key, &found);
    if (status.IsNotFound()) return std::nullopt;
    require_ok(status);
    return found;
  }
  template <class Visit>
  void for_each(Visit&& visit) {
    const std::unique_ptr<db::Iterator> at(in_->NewIterator({}));
    for (at->SeekToFirst(); at->Valid(); at->Next()) visit(at->key(), at->value());
    require_ok(at->status());
  }
  [[nodiscard]] std::size_t size() {
    std::string text;
    if (!in_->GetProperty("outlast.keys", &text)) throw lost_content("store", "it counts no keys");
    return std::stoull(text);
  }

  /// A snapshot, with an iterator over it.
  class view {
   public:
    explicit view(db::DB& in) : snapshot_(in.GetSnapshot(), release{&in}) {
      db::ReadOptions how;
      how.snapshot = snapshot_.get();
      at_.reset(in.NewIterator(how));
    }
    template <class Visit>
    void walk(unsigned role, Visit&& visit) {
      const std::string first = prefix_of(role);
      for (at_->Seek(first); at_->Valid() && at_->key().starts_with(first); at_->Next()) {
        const db::Slice key = at_->key();
        const db::Slice value = at_->value();
        visit(std::string_view(key.data(), key.size()),
              std::string_view(value.data(), value.size()));
      }
      require_ok(at_->status());
    }

   private:
    struct release {
      db::DB* of;
      void operator()(const db::Snapshot* gone) const { of->ReleaseSnapshot(gone); }
    };
    std::unique_ptr<const db::Snapshot, release> snapshot_;
    std::unique_ptr<db::Iterator> at_;
  };
  [[nodiscard]] view hold() { return view(*in_); }

 private:
  [[nodiscard]] static db::WriteOptions options(const std::string& key) {
    db::WriteOptions how;
    how.sync = key.ends_with('0') && key.size() > 1 && key.at(key.size() - 2) < '4';
    return how;
  }

  db::DB* in_;
};

}  // namespace outlast::test::soak
