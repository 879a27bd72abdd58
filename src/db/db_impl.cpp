// The class that DB::Open() returns: reads, writes, iterators, snapshots and properties of a store.
#include <outlast/db/detail/engine.hpp>
#include <outlast/db/iterator.hpp>
#include <outlast/db/write_batch.hpp>
#include <src/db/db_impl.hpp>
#include <src/db/exception_status.hpp>

#include <atomic>
#include <charconv>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace OUTLAST_DB_NAMESPACE {

namespace core = ::outlast::store_detail;

namespace {

/// Returns the virtual table of an object, which identifies its class. A program may be compiled
/// without run-time types, so dynamic_cast cannot be used. [Itanium C++ ABI, 2.4: the pointer to an
/// object's virtual table comes first]
const void* table_of(const DB* db) noexcept {
  const void* table = nullptr;
  std::memcpy(&table, static_cast<const void*>(db), sizeof table);
  return table;
}

/// The virtual table of db_impl; null until the first one was created.
std::atomic<const void*> opened_table{nullptr};

}  // namespace

db_impl* opened_of(DB* db) noexcept {
  if (db == nullptr || table_of(db) != opened_table.load(std::memory_order_relaxed)) return nullptr;
  return static_cast<db_impl*>(db);
}

Status not_opened(const char* call) {
  return Status::InvalidArgument(
      call, "requires a store from DB::Open(); if a class wraps one, pass the wrapped store");
}

DB::~DB() = default;

// For classes of programs that override only Write().
Status DB::Put(const WriteOptions& options, const Slice& key, const Slice& value) {
  WriteBatch batch;
  batch.Put(key, value);
  return Write(options, &batch);
}
Status DB::Delete(const WriteOptions& options, const Slice& key) {
  WriteBatch batch;
  batch.Delete(key);
  return Write(options, &batch);
}

Snapshot::~Snapshot() = default;

Status validate_length(std::string_view key, std::string_view value) {
  // The engine keeps several copies of an operation in memory.
  constexpr std::size_t max_bytes = std::size_t{1} << 30;
  if (key.size() <= max_bytes && value.size() <= max_bytes) return {};
  return Status::InvalidArgument("a key or value is larger than 1 GiB");
}

namespace {

Status damaged(std::string_view key) {
  constexpr std::size_t shown = 64;
  return Status::Corruption("a value does not match its checksum; its key begins with",
                            Slice(key.substr(0, shown)));
}

Status status_of(core::lookup_status answer, std::string_view key) {
  switch (answer) {
    case core::lookup_status::found: return {};
    case core::lookup_status::absent: return Status::NotFound("no such key");
    case core::lookup_status::damaged: return damaged(key);
  }
  return {};
}

/// A cursor of the engine with LevelDB's interface.
class opened_iterator final : public Iterator {
 public:
  /// `kept`: the snapshot that the cursor reads; null if the caller owns it.
  opened_iterator(std::unique_ptr<core::snapshot> kept, std::unique_ptr<core::cursor> at,
                  bool verifies)
      : kept_(std::move(kept)), at_(std::move(at)), verifies_(verifies) {}

  bool Valid() const override { return valid_; }
  void SeekToFirst() override {
    move([this] { at_->seek_to_first(); });
  }
  void SeekToLast() override {
    move([this] { at_->seek_to_last(); });
  }
  void Seek(const Slice& target) override {
    move([&] { at_->seek(target.view()); });
  }
  void Next() override {
    if (valid_) move([this] { at_->next(); });
  }
  void Prev() override {
    if (valid_) move([this] { at_->prev(); });
  }
  Slice key() const override { return key_; }
  Slice value() const override { return value_; }
  Status status() const override { return status_; }

 private:
  template <class Step>
  void move(Step&& step) {
    try {
      step();
      valid_ = at_->is_valid();
    } catch (...) {
      valid_ = false;
      status_ = status_of_current();
    }
    if (!valid_) return forget();
    const core::entry_view there = at_->here();
    if (verifies_ && !at_->is_intact()) {
      valid_ = false;
      status_ = damaged(there.key);
      return forget();
    }
    key_ = there.key;
    value_ = there.value;
  }

  /// The views of the cursor are no longer valid.
  void forget() noexcept {
    key_.clear();
    value_.clear();
  }

  std::unique_ptr<core::snapshot> kept_;
  std::unique_ptr<core::cursor> at_;
  bool verifies_;
  bool valid_ = false;
  Slice key_;    // a view of the cursor's key, or empty
  Slice value_;  // a view of the cursor's value, or empty
  Status status_;
};

/// Returns the batch as a batch of the engine.
class collector final : public WriteBatch::RangeHandler {
 public:
  explicit collector(std::size_t bytes) { all_.reserve(bytes); }

  void Put(const Slice& key, const Slice& value) override {
    if (status_.ok()) status_ = validate_length(key.view(), value.view());
    if (status_.ok()) all_.put(key.view(), value.view());
  }
  void Delete(const Slice& key) override {
    if (status_.ok()) status_ = validate_length(key.view());
    if (status_.ok()) all_.erase(key.view());
  }
  void DeleteRange(const Slice& begin, const Slice& end) override {
    if (status_.ok()) status_ = validate_length(begin.view(), end.view());
    if (status_.ok()) all_.erase_range(begin.view(), end.view());
  }
  [[nodiscard]] const Status& status() const noexcept { return status_; }
  [[nodiscard]] core::changes take() { return std::move(all_); }

 private:
  core::changes all_;
  Status status_;
};

/// Returns the number at the end of "leveldb.num-files-at-level<N>", or nothing for another
/// property.
std::optional<unsigned> level_in(std::string_view property) {
  constexpr std::string_view prefix = "leveldb.num-files-at-level";
  constexpr unsigned levels = 7;
  if (!property.starts_with(prefix)) return std::nullopt;
  property.remove_prefix(prefix.size());
  unsigned level = 0;
  const auto [end, failed] =
      std::from_chars(property.data(), property.data() + property.size(), level);
  if (failed != std::errc() || end != property.data() + property.size() || level >= levels) {
    return std::nullopt;
  }
  return level;
}

}  // namespace

db_impl::db_impl(const std::string& name, const Options& options, directory_lock&& lock,
                 std::unique_ptr<Logger>&& logger, Logger* messages,
                 std::shared_ptr<core::memory_file>&& memory,
                 std::unique_ptr<core::engine>&& in)
    : name_(name),  // the only member whose construction allocates is first
      env_(options.env),
      verifies_(options.paranoid_checks),
      lock_(std::move(lock)),
      own_logger_(std::move(logger)),
      messages_(messages),
      memory_(std::move(memory)),
      in_(std::move(in)) {
  opened_table.store(table_of(this), std::memory_order_relaxed);
  try {
    Log(messages_, "%s is open. %s", name_.c_str(), in_->guarantee().c_str());
  } catch (const std::exception&) {
    return;  // no memory for the message
  }
}

db_impl::~db_impl() {
  try {
    const Status closed = guarded([this] { in_->close(); });
    Log(messages_, "%s is closed: %s", name_.c_str(), closed.ToString().c_str());
  } catch (const std::exception&) {
    return;  // no memory for the message; the next opening recovers the store
  }
}

Status db_impl::Put(const WriteOptions& options, const Slice& key, const Slice& value) {
  Status status = validate_length(key.view(), value.view());
  if (!status.ok()) return status;
  return guarded([&] { in_->put(key.view(), value.view(), options.sync); });
}

Status db_impl::Delete(const WriteOptions& options, const Slice& key) {
  Status status = validate_length(key.view());
  if (!status.ok()) return status;
  return guarded([&] { in_->erase(key.view(), options.sync); });
}

Status db_impl::Write(const WriteOptions& options, WriteBatch* updates) {
  if (updates == nullptr) return guarded([&] { in_->sync(); });
  Status status;
  Status thrown = guarded([&] {
    collector all(2 * updates->ApproximateSize());
    status = updates->Iterate(&all);
    if (status.ok()) status = all.status();
    if (!status.ok()) return;
    core::changes changes = all.take();
    if (!changes.empty()) {
      in_->apply(std::move(changes), options.sync);
    } else if (options.sync) {
      in_->sync();
    }
  });
  return thrown.ok() ? status : thrown;
}

Status db_impl::Get(const ReadOptions& options, const Slice& key, std::string* value) {
  const bool verify = verifies_ || options.verify_checksums;
  core::lookup_status answer = core::lookup_status::absent;
  Status status;
  if (options.snapshot == nullptr) {
    status = guarded([&] { answer = in_->get(key.view(), *value, verify); });
  } else {
    const auto& then = static_cast<const opened_snapshot&>(*options.snapshot);
    if (!then.status().ok()) return then.status();
    status = guarded([&] { answer = then.of().get(key.view(), *value, verify); });
  }
  return status.ok() ? status_of(answer, key.view()) : status;
}

Iterator* db_impl::NewIterator(const ReadOptions& options) {
  const bool verify = verifies_ || options.verify_checksums;
  try {
    if (options.snapshot != nullptr) {
      const auto& then = static_cast<const opened_snapshot&>(*options.snapshot);
      if (!then.status().ok()) return NewErrorIterator(then.status());
      return new opened_iterator(nullptr, then.of().iterate(), verify);
    }
    std::unique_ptr<core::snapshot> now = in_->take_snapshot();
    std::unique_ptr<core::cursor> at = now->iterate();
    return new opened_iterator(std::move(now), std::move(at), verify);
  } catch (...) {
    return NewErrorIterator(status_of_current());
  }
}

const Snapshot* db_impl::GetSnapshot() {
  try {
    return new opened_snapshot(in_->take_snapshot());
  } catch (...) {
    return new opened_snapshot(status_of_current());
  }
}

void db_impl::ReleaseSnapshot(const Snapshot* snapshot) {
  delete static_cast<const opened_snapshot*>(snapshot);
}

std::string db_impl::describe() {
  const core::space_use space = in_->space();
  return "keys " + std::to_string(in_->keys()) + "\nbytes of data " + std::to_string(space.live) +
         "\nbytes retained " + std::to_string(space.retained) + "\nbytes free " +
         std::to_string(space.free) + "\nbytes of memory " + std::to_string(in_->volatile_bytes()) +
         "\nbytes of the file " + std::to_string(in_->file_bytes()) + "\n" + in_->guarantee() +
         "\n";
}

bool db_impl::GetProperty(const Slice& property, std::string* value) {
  value->clear();
  const std::string_view name = property.view();
  const auto number = [&](std::uint64_t what) {
    *value = std::to_string(what);
    return true;
  };
  try {
    if (const auto level = level_in(name)) return number(*level == 0 ? 1 : 0);
    if (name == "leveldb.approximate-memory-usage") return number(in_->volatile_bytes());
    if (name == "outlast.keys") return number(in_->keys());
    if (name == "outlast.data-bytes") return number(in_->data_bytes());
    if (name == "outlast.live-bytes") return number(in_->space().live);
    if (name == "outlast.retained-bytes") return number(in_->space().retained);
    if (name == "outlast.free-bytes") return number(in_->space().free);
    if (name == "outlast.file-bytes") return number(in_->file_bytes());
    if (name == "outlast.log-bytes") return number(in_->log_bytes());
    if (name == "outlast.ring-bytes") return number(in_->ring_bytes());
    if (name == "outlast.index-was-kept") return number(in_->has_reopened_index() ? 1 : 0);
    if (name == "leveldb.stats" || name == "leveldb.sstables") {
      *value = describe();
      return true;
    }
    if (name == "outlast.comparator") {
      *value = in_->shape().order_name;
      return true;
    }
    if (name == "outlast.guarantee") {
      *value = in_->guarantee();
      return true;
    }
  } catch (...) {
    Log(messages_, "GetProperty: %s", status_of_current().ToString().c_str());
  }
  return false;
}

void db_impl::GetApproximateSizes(const Range* range, int n, uint64_t* sizes) {
  for (int i = 0; i < n; ++i) {
    sizes[i] = 0;
    const Status done = guarded(
        [&] { sizes[i] = in_->bytes_between(range[i].start.view(), range[i].limit.view()); });
    if (!done.ok()) Log(messages_, "GetApproximateSizes: %s", done.ToString().c_str());
  }
}

void db_impl::CompactRange(const Slice* /*begin*/, const Slice* /*end*/) {
  const Status done = guarded([this] { in_->collect(); });
  if (!done.ok()) Log(messages_, "CompactRange: %s", done.ToString().c_str());
}

}  // namespace OUTLAST_DB_NAMESPACE
