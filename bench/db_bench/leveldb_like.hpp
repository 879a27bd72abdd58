// Stores with LevelDB's interface, written once: ours, LevelDB, RocksDB.
#pragma once

#include <bench/db_bench/store.hpp>

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace outlast::bench {

template <class Status>
void require(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

/// `Library` names the types of an interface: db, iterator, batch, slice, read_options,
/// write_options.
template <class Library>
class leveldb_like_store : public store {
 public:
  explicit leveldb_like_store(std::unique_ptr<typename Library::db> open) : db_(std::move(open)) {}

  void sync_each_write(bool wanted) override { how_.sync = wanted; }
  std::unique_ptr<session> connect() override { return std::make_unique<hand>(*this); }

 protected:
  [[nodiscard]] typename Library::db& db() noexcept { return *db_; }
  [[nodiscard]] std::string property(const char* name) {
    std::string value;
    return db_->GetProperty(name, &value) ? value : std::string();
  }

 private:
  using slice = typename Library::slice;

  static slice to_slice(std::string_view text) { return {text.data(), text.size()}; }
  static std::string_view to_view(const slice& text) { return {text.data(), text.size()}; }

  class found_place final : public place {
   public:
    explicit found_place(typename Library::iterator* at) : at_(at) {}

    bool to_first() override { return at_->SeekToFirst(), is_valid(); }
    bool to_last() override { return at_->SeekToLast(), is_valid(); }
    bool to(std::string_view key) override { return at_->Seek(to_slice(key)), is_valid(); }
    bool to_next() override { return at_->Next(), is_valid(); }
    bool to_previous() override { return at_->Prev(), is_valid(); }
    std::string_view key() const override { return to_view(at_->key()); }
    std::string_view value() const override { return to_view(at_->value()); }

   private:
    bool is_valid() {
      if (at_->Valid()) return true;
      require(at_->status());
      return false;
    }

    std::unique_ptr<typename Library::iterator> at_;
  };

  class hand final : public session {
   public:
    explicit hand(leveldb_like_store& of) : db_(*of.db_), how_(of.how_) {}

    void put(std::string_view key, std::string_view value) override {
      require(db_.Put(how_, to_slice(key), to_slice(value)));
    }
    void put_all(std::span<const key_and_value> entries) override {
      typename Library::batch all;
      for (const key_and_value& one : entries) all.Put(to_slice(one.key), to_slice(one.value));
      require(db_.Write(how_, &all));
    }
    void erase(std::string_view key) override { require(db_.Delete(how_, to_slice(key))); }
    bool get(std::string_view key, std::string& value) override {
      const auto status = db_.Get(reading_, to_slice(key), &value);
      if (status.ok()) return true;
      if (!status.IsNotFound()) require(status);
      return false;
    }
    std::unique_ptr<place> iterate() override {
      return std::make_unique<found_place>(db_.NewIterator(reading_));
    }

   private:
    typename Library::db& db_;
    typename Library::write_options how_;
    typename Library::read_options reading_;
  };

  std::unique_ptr<typename Library::db> db_;
  typename Library::write_options how_;
};

}  // namespace outlast::bench
