// LevelDB's cache with least-recently-used eviction: NewLRUCache().
#include <outlast/db/cache.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace OUTLAST_DB_NAMESPACE {

Cache::~Cache() = default;

namespace {

/// An entry. Its last user destroys it; the cache is a user while the entry is in it.
struct entry : Cache::Handle {
  std::string key;
  void* value = nullptr;
  std::size_t charge = 0;
  void (*deleter)(const Slice& key, void* value) = nullptr;
  std::size_t users = 0;
  std::list<entry*>::iterator place;  // in the order of last use, if it is in the cache
};

void destroy(entry* of) {
  of->deleter(of->key, of->value);
  delete of;
}

/// Invariant: each entry of the cache is in the table and in the list.
class lru_cache final : public Cache {
 public:
  explicit lru_cache(std::size_t capacity) : capacity_(capacity) {}
  lru_cache(const lru_cache&) = delete;
  lru_cache& operator=(const lru_cache&) = delete;
  ~lru_cache() override {
    for (entry* const each : by_use_) destroy(each);
  }

  Handle* Insert(const Slice& key, void* value, size_t charge,
                 void (*deleter)(const Slice& key, void* value)) override {
    auto made = std::make_unique<entry>();
    made->key = key.ToString();
    made->value = value;
    made->charge = charge;
    made->deleter = deleter;
    made->users = 1;
    entry* const at = made.release();
    change([&](std::list<entry*>& done) {
      remove(at->key, done);
      if (capacity_ == 0) return;
      at->place = by_use_.insert(by_use_.end(), at);
      table_.emplace(at->key, at);
      ++at->users;
      charge_ += charge;
      shrink(capacity_, done);
    });
    return at;
  }
  Handle* Lookup(const Slice& key) override {
    const std::lock_guard lock(mutex_);
    const auto found = table_.find(key.view());
    if (found == table_.end()) return nullptr;
    entry* const at = found->second;
    by_use_.splice(by_use_.end(), by_use_, at->place);
    ++at->users;
    return at;
  }
  void Release(Handle* handle) override {
    change([&](std::list<entry*>& done) {
      leave(*static_cast<entry*>(handle), done);
      shrink(capacity_, done);
    });
  }
  void* Value(Handle* handle) override { return static_cast<entry*>(handle)->value; }
  void Erase(const Slice& key) override {
    change([&](std::list<entry*>& done) { remove(key.view(), done); });
  }
  uint64_t NewId() override {
    const std::lock_guard lock(mutex_);
    return ++last_id_;
  }
  void Prune() override {
    change([&](std::list<entry*>& done) { shrink(0, done); });
  }
  size_t TotalCharge() const override {
    const std::lock_guard lock(mutex_);
    return charge_;
  }

 private:
  /// Calls f(done) with the mutex, and destroys the entries in `done` without it, because a deleter
  /// may call the cache.
  template <class F>
  void change(F&& f) {
    std::list<entry*> done;
    {
      const std::lock_guard lock(mutex_);
      f(done);
    }
    for (entry* const each : done) destroy(each);
  }
  static void leave(entry& at, std::list<entry*>& done) {
    if (--at.users == 0) done.push_back(&at);
  }
  void take_out(entry& at, std::list<entry*>& done) {
    table_.erase(std::string_view(at.key));
    by_use_.erase(at.place);
    charge_ -= at.charge;
    leave(at, done);
  }
  void remove(std::string_view key, std::list<entry*>& done) {
    if (const auto found = table_.find(key); found != table_.end()) take_out(*found->second, done);
  }
  /// Removes entries without users, least recently used first, until the charge is at most
  /// `max_charge`.
  void shrink(std::size_t max_charge, std::list<entry*>& done) {
    for (auto at = by_use_.begin();
         at != by_use_.end() && (charge_ > max_charge || max_charge == 0);) {
      entry& each = **at++;
      if (each.users == 1) take_out(each, done);
    }
  }

  std::size_t capacity_;
  mutable std::mutex mutex_;
  std::list<entry*> by_use_;
  std::unordered_map<std::string_view, entry*> table_;  // views of the keys in the entries
  std::size_t charge_ = 0;
  std::uint64_t last_id_ = 0;
};

}  // namespace

Cache* NewLRUCache(size_t capacity) { return new lru_cache(capacity); }

}  // namespace OUTLAST_DB_NAMESPACE
