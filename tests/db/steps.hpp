// What a random life of a store is made of: the same steps for everything that is compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::test::db_steps {

/// By unsigned bytes, up or down.
struct order {
  bool is_reversed = false;
  bool operator()(const std::string& a, const std::string& b) const {
    return is_reversed ? b < a : a < b;
  }
};
using content = std::map<std::string, std::string, order>;

/// A deletion if there is no value.
struct change {
  std::string key;
  std::string value;
  bool is_deletion = false;
};

enum class what {
  write,
  get,
  get_then,
  iterate,
  iterate_then,
  seek,
  seek_to_first,
  seek_to_last,
  walk,
  walk_back,
  read_all,
  take_snapshot,
  release_snapshot,
  compact,
  reopen
};

/// One call, or a few of the same. Slots are places for iterators and snapshots.
struct step {
  what kind = what::get;
  std::vector<change> changes;  ///< of a write; more than one: a batch
  bool is_synced = false;
  std::string key;
  std::size_t slot = 0;
  std::size_t snapshot_slot = 0;
  int steps = 1;
};

inline constexpr std::size_t slots = 4;

/// How often writes are synced.
enum class syncing { never, sometimes, always };

/// A sequence of steps that its seed decides.
class stream {
 public:
  stream(std::uint64_t seed, syncing how) : random_(seed), how_(how) {}

  [[nodiscard]] step next();

 private:
  [[nodiscard]] std::uint64_t below(std::uint64_t n) { return random_() % n; }
  [[nodiscard]] std::string some_key();
  [[nodiscard]] std::string some_value();
  [[nodiscard]] what some_kind();

  std::mt19937_64 random_;
  syncing how_;
};

/// Bytes of all kinds, some keys that begin others, some above what a page holds.
inline std::string stream::some_key() {
  const std::uint64_t which = below(400);
  std::string key;
  if (which < 4) return std::string(which, '\0');
  if (which < 8) return std::string(which, '\xff');
  if (which < 20) return std::string(2000, 'k') + static_cast<char>('a' + which);
  for (std::uint64_t rest = which * 0x9e3779b1; rest != 0; rest /= 7) {
    key += static_cast<char>(rest % 7 * 40);
  }
  return key;
}

inline std::string stream::some_value() {
  const std::uint64_t size = below(1000);
  std::size_t bytes = below(30);
  if (size >= 500) bytes = below(300);
  if (size >= 980) bytes = below(20'000);
  if (size == 999) bytes = below(300'000);
  std::string value(bytes, static_cast<char>(random_()));
  for (std::size_t i = 0; i < std::min<std::size_t>(bytes, 16); ++i) {
    value[i] = static_cast<char>(random_());
  }
  return value;
}

inline what stream::some_kind() {
  const std::uint64_t draw = below(1000);
  if (draw < 450) return what::write;
  if (draw < 560) return what::get;
  if (draw < 600) return what::get_then;
  if (draw < 620) return what::iterate;
  if (draw < 640) return what::iterate_then;
  if (draw < 700) return what::seek;
  if (draw < 710) return what::seek_to_first;
  if (draw < 720) return what::seek_to_last;
  if (draw < 820) return what::walk;
  if (draw < 920) return what::walk_back;
  if (draw < 925) return what::read_all;
  if (draw < 960) return what::take_snapshot;
  if (draw < 995) return what::release_snapshot;
  return below(4) == 0 ? what::reopen : what::compact;
}

inline step stream::next() {
  step made;
  made.kind = some_kind();
  made.slot = below(slots);
  made.snapshot_slot = below(slots);
  made.key = some_key();
  made.steps = below(20) == 0 ? 200 : 1 + static_cast<int>(below(5));
  if (made.kind != what::write) return made;
  made.is_synced = how_ == syncing::always || (how_ == syncing::sometimes && below(40) == 0);
  const std::uint64_t batch = below(20);
  for (std::uint64_t count = batch == 0  ? below(100)
                             : batch < 4 ? below(5)
                                         : 1;
       count > 0; --count) {
    change one{some_key(), {}, below(3) == 0};
    if (!one.is_deletion) one.value = some_value();
    made.changes.push_back(std::move(one));
  }
  return made;
}

inline void apply(const step& todo, content& to) {
  for (const change& each : todo.changes) {
    if (each.is_deletion) {
      to.erase(each.key);
    } else {
      to[each.key] = each.value;
    }
  }
}

/// An answer as text that can be compared, and printed.
inline std::string shown(const std::string& key, const std::string& value) {
  return std::to_string(key.size()) + ":" + key + "=" + value;
}

/// What a store is compared with: a sorted map.
class model {
 public:
  explicit model(content now) : now_(std::move(now)) {}

  std::string apply(const step& todo);
  [[nodiscard]] const content& now() const { return now_; }

 private:
  struct cursor {
    std::shared_ptr<const content> in;
    content::const_iterator at;
    [[nodiscard]] bool is_valid() const { return in != nullptr && at != in->end(); }
  };

  [[nodiscard]] std::string show(const cursor& it) const {
    return it.is_valid() ? shown(it.at->first, it.at->second) : "-";
  }
  void iterate(const step& todo, std::shared_ptr<const content> in) {
    if (in == nullptr) return;
    cursors_.at(todo.slot).at = in->end();
    cursors_.at(todo.slot).in = std::move(in);
  }
  static std::string found(const content& in, const std::string& key) {
    const auto at = in.find(key);
    return at == in.end() ? "(none)" : at->second;
  }
  std::string move(const step& todo, cursor& it);

  content now_;
  std::vector<cursor> cursors_{slots};
  std::vector<std::shared_ptr<const content>> snapshots_{slots};
};

inline std::string model::move(const step& todo, cursor& it) {
  if (it.in == nullptr) return "-";
  if (todo.kind == what::seek) it.at = it.in->lower_bound(todo.key);
  if (todo.kind == what::seek_to_first) it.at = it.in->begin();
  if (todo.kind == what::seek_to_last) {
    it.at = it.in->empty() ? it.in->end() : std::prev(it.in->end());
  }
  for (int left = todo.steps; left > 0 && it.is_valid(); --left) {
    if (todo.kind == what::walk) ++it.at;
    if (todo.kind == what::walk_back) {
      it.at = it.at == it.in->begin() ? it.in->end() : std::prev(it.at);
    }
  }
  return show(it);
}

inline std::string model::apply(const step& todo) {
  auto& then = snapshots_.at(todo.snapshot_slot);
  switch (todo.kind) {
    case what::write: db_steps::apply(todo, now_); return "OK";
    case what::get: return found(now_, todo.key);
    case what::get_then: return then == nullptr ? "-" : found(*then, todo.key);
    case what::iterate: iterate(todo, std::make_shared<content>(now_)); return "";
    case what::iterate_then: iterate(todo, then); return "";
    case what::read_all: {
      std::string all;
      for (const auto& [key, value] : now_) all += shown(key, value);
      return all;
    }
    case what::take_snapshot:
      if (then == nullptr) then = std::make_shared<content>(now_);
      return "";
    case what::release_snapshot: then = nullptr; return "";
    case what::compact: return "";
    case what::reopen:
      cursors_.assign(slots, {});
      snapshots_.assign(slots, nullptr);
      return "OK";
    default: return move(todo, cursors_.at(todo.slot));
  }
}

/// A store of the interface `Api`: outlast's or LevelDB's own.
template <class Api>
class driven {
 public:
  /// `open` answers a store, or null.
  using opening = std::unique_ptr<typename Api::DB> (*)(const void* how);

  driven(opening open, const void* how) : open_(open), how_(how) { store_ = open_(how_); }
  ~driven() { let_go(); }
  driven(const driven&) = delete;
  driven& operator=(const driven&) = delete;

  [[nodiscard]] bool is_open() const { return store_ != nullptr; }
  [[nodiscard]] typename Api::DB& store() { return *store_; }
  std::string apply(const step& todo);

 private:
  using iterator = std::unique_ptr<typename Api::Iterator>;

  void let_go() {
    for (iterator& each : iterators_) each.reset();
    for (auto& each : snapshots_) release(each);
  }
  void release(const typename Api::Snapshot*& which) {
    if (which != nullptr) store_->ReleaseSnapshot(which);
    which = nullptr;
  }
  typename Api::ReadOptions at(const typename Api::Snapshot* then) const {
    typename Api::ReadOptions made;
    made.snapshot = then;
    made.verify_checksums = true;
    return made;
  }
  std::string get(const step& todo, const typename Api::Snapshot* then) {
    std::string value;
    const auto status = store_->Get(at(then), todo.key, &value);
    if (status.ok()) return value;
    return status.IsNotFound() ? "(none)" : status.ToString();
  }
  std::string write(const step& todo);
  std::string move(const step& todo, iterator& it);
  std::string read_all();
  std::string show(const typename Api::Iterator& it) const {
    if (it.Valid()) return shown(it.key().ToString(), it.value().ToString());
    return it.status().ok() ? "-" : it.status().ToString();
  }

  opening open_;
  const void* how_;
  std::unique_ptr<typename Api::DB> store_;
  std::vector<iterator> iterators_{slots};
  std::vector<const typename Api::Snapshot*> snapshots_{slots, nullptr};
};

template <class Api>
std::string driven<Api>::write(const step& todo) {
  typename Api::WriteOptions options;
  options.sync = todo.is_synced;
  if (todo.changes.size() == 1) {
    const change& only = todo.changes.front();
    return (only.is_deletion ? store_->Delete(options, only.key)
                             : store_->Put(options, only.key, only.value))
        .ToString();
  }
  typename Api::WriteBatch batch;
  for (const change& each : todo.changes) {
    if (each.is_deletion) {
      batch.Delete(each.key);
    } else {
      batch.Put(each.key, each.value);
    }
  }
  return store_->Write(options, &batch).ToString();
}

template <class Api>
std::string driven<Api>::move(const step& todo, iterator& it) {
  if (it == nullptr) return "-";
  if (todo.kind == what::seek) it->Seek(todo.key);
  if (todo.kind == what::seek_to_first) it->SeekToFirst();
  if (todo.kind == what::seek_to_last) it->SeekToLast();
  for (int left = todo.steps; left > 0 && it->Valid(); --left) {
    if (todo.kind == what::walk) it->Next();
    if (todo.kind == what::walk_back) it->Prev();
  }
  return show(*it);
}

template <class Api>
std::string driven<Api>::read_all() {
  std::string all;
  const iterator it(store_->NewIterator(at(nullptr)));
  for (it->SeekToFirst(); it->Valid(); it->Next()) all += show(*it);
  return it->status().ok() ? all : it->status().ToString();
}

template <class Api>
std::string driven<Api>::apply(const step& todo) {
  auto& then = snapshots_.at(todo.snapshot_slot);
  iterator& it = iterators_.at(todo.slot);
  switch (todo.kind) {
    case what::write: return write(todo);
    case what::get: return get(todo, nullptr);
    case what::get_then: return then == nullptr ? "-" : get(todo, then);
    case what::iterate: it.reset(store_->NewIterator(at(nullptr))); return "";
    case what::iterate_then:
      if (then != nullptr) it.reset(store_->NewIterator(at(then)));
      return "";
    case what::read_all: return read_all();
    case what::take_snapshot:
      if (then == nullptr) then = store_->GetSnapshot();
      return "";
    case what::release_snapshot: release(then); return "";
    case what::compact: store_->CompactRange(nullptr, nullptr); return "";
    case what::reopen:
      let_go();
      store_.reset();
      store_ = open_(how_);
      return is_open() ? "OK" : "does not open";
    default: return move(todo, it);
  }
}

}  // namespace outlast::test::db_steps
