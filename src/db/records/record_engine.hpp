// The engine of a store whose writers run in parallel: an adapter of record_store.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/base/periodic_thread.hpp>
#include <outlast/db/detail/engine.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/root/attached.hpp>
#include <src/db/file_image.hpp>
#include <src/db/records/record_store.hpp>
#include <src/db/store_files.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace outlast::store_detail::records {

/// An engine of records. On a disk a write is durable at return only if `sync` is true, or
/// store_options::max_unsynced_time is 0; other writes are durable after max_unsynced_time.
/// Thread-safety, progress and errors: as those of record_store.
template <domain::persistence_domain D, class Shape = usual_shape>
class record_engine final : public engine {
  using store = record_store<D, Shape>;

 public:
  static constexpr const char* root_name = "store";

  /// `is_volatile`: the pool is in ordinary memory. `image`: the image of the pool; the store is
  /// then open for reading only. `index`: nullptr, or the place of an index that outlives the
  /// process. Throws the errors of root_sessions::attach() and record_store.
  record_engine(std::shared_ptr<basic_pool<D>> pool, const store_options& wanted,
                bool is_volatile = false, std::unique_ptr<read_image> image = nullptr,
                std::shared_ptr<kept_region> index = nullptr)
      : is_volatile_(is_volatile),
        image_(std::move(image)),
        index_(std::move(index)),
        pool_(std::move(pool)),
        opened_with_(wanted),
        all_(std::in_place, *pool_, root_name, store::type(),
             named_order{wanted.order, wanted.order_name, wanted.any_order}, wanted.salvage,
             index_.get()) {
    const bool is_for_reading = image_ != nullptr;
    if constexpr (domain::has_real_threads<D>) {
      if (!is_for_reading) start_threads();
    }
  }
  ~record_engine() override { stop_threads(); }

  void put(std::string_view key, std::string_view value, bool sync) override {
    written([&] { (*all_)->put(key, value); });
    finish(sync);
  }
  void erase(std::string_view key, bool sync) override {
    written([&] { (*all_)->erase(key); });
    finish(sync);
  }
  void apply(changes&& all, bool sync) override {
    written([&] { (*all_)->apply(all); });
    finish(sync);
  }
  bool apply_if(read_set&& read, changes&& all, bool sync) override {
    const bool hold = written([&] { return (*all_)->apply_if(read, all); });
    if (hold) finish(sync);
    return hold;
  }
  bool holds(const read_set& read) override {
    require_order();
    return (*all_)->holds(read);
  }
  void sync() override { (*all_)->sync(); }
  lookup_status get(std::string_view key, std::string& value, bool verify) override {
    require_order();
    return (*all_)->get(key, value, verify);
  }
  std::unique_ptr<snapshot> take_snapshot() override {
    require_order();
    return std::make_unique<record_snapshot>(**all_);
  }

  key_order order() const override { return (*all_)->order(); }
  std::size_t keys() override {
    (*all_)->require_process();
    return (*all_)->keys();
  }
  std::uint64_t bytes_between(std::string_view from, std::string_view to) override {
    require_order();
    return (*all_)->bytes_between(from, to);
  }
  void collect() override {
    if (image_ != nullptr) return;
    (*all_)->collect();
    compact();
  }
  /// Returns the space of records that do not count, as collect() does after snapshots.
  void compact() {
    (*all_)->require_process();
    const auto pause = pause_cleaner();
    (*all_)->compact();
  }
  std::string check() override {
    if (image_ != nullptr && !image_->findings.empty()) {
      std::string all;
      for (const std::string& each : image_->findings) all += (all.empty() ? "" : "; ") + each;
      return all;
    }
    (*all_)->require_process();
    const auto pause = pause_cleaner();
    return (*all_)->check();
  }
  repair_counts repair_into(engine& to) override;
  store_options shape() const override {
    store_options like = opened_with_;
    like.kind = engine_kind::records;
    like.order_name = (*all_)->order_name();
    like.file_mode = mode_of_file(path());
    return like;
  }
  std::string guarantee() const override {
    if (image_ != nullptr) return image_->guarantee;
    if (!is_unsynced(false)) {
      return "The results of updates and reads survive. " + pool_->guarantee();
    }
    return "Updates with sync = true, and all updates before them, survive. Other updates survive "
           "a kill of the process at return, and other failures after " +
           std::to_string(opened_with_.max_unsynced_time.count()) +
           " microseconds, in the order in which readers saw them. " + pool_->guarantee();
  }
  space_use space() override {
    (*all_)->require_process();
    const auto use = (*all_)->segment_use();
    const std::size_t kept = (*all_)->kept_bytes();
    const std::size_t dead = use.dead + kept;
    const std::size_t limit = limit_bytes(use.bytes);
    return {use.in_use - std::min(use.in_use, dead), dead, limit - std::min(limit, use.in_use)};
  }
  std::size_t file_bytes() const override { return bytes_of_file(path()); }
  std::size_t log_bytes() const override { return 0; }
  std::size_t volatile_bytes() override {
    return (*all_)->index_bytes() + (is_volatile_ ? (*all_)->segment_use().bytes : 0);
  }
  std::size_t ring_bytes() const override { return 0; }
  bool has_reopened_index() const override { return (*all_)->has_reopened(); }
  /// For verification.
  [[nodiscard]] store& records() noexcept { return **all_; }
  void close() override {
    stop_threads();
    if (image_ != nullptr) return;  // the store is open for reading only
    all_.reset();
    pool_->close();
  }

 private:
  class record_snapshot;
  class record_cursor;

  /// A moment that is kept readable. A cursor can outlive the snapshot that made it.
  struct kept_moment {
    explicit kept_moment(store& in) : of(in), moment(in.begin_snapshot()) {}
    ~kept_moment() { of.end_snapshot(moment); }
    kept_moment(const kept_moment&) = delete;
    kept_moment& operator=(const kept_moment&) = delete;

    store& of;
    const std::uint64_t moment;
  };

  /// The thread that cleans. Without it, writers clean.
  struct cleaner {
    base::periodic_thread thread;
    std::atomic<bool> stops{false};
    std::mutex cleaning;  ///< held while it cleans
  };

  /// Returns whether a write is durable only later.
  [[nodiscard]] bool is_unsynced(bool sync) const {
    return store::is_grouped && !sync && opened_with_.max_unsynced_time.count() != 0;
  }
  /// Makes the last write of the thread durable if it must be.
  void finish(bool sync) {
    if constexpr (store::is_grouped) {
      if (!is_unsynced(sync)) return (*all_)->sync();
      if (syncer_ != nullptr) syncer_->note_work();
    }
  }

  void start_threads() {
    if (pool_detail::test_hooks().stores_have_no_threads) return;
    if constexpr (store::is_grouped) start_syncer();
    start_cleaner();
  }
  void stop_threads() {
    stop_cleaner();
    if (syncer_ != nullptr) syncer_->stop();
  }
  /// Starts the thread that makes writes durable after store_options::max_unsynced_time, and
  /// returns the space of segments that were cleaned. Throws std::system_error.
  void start_syncer() {
    using outlook = base::periodic_thread::outlook;
    constexpr std::chrono::microseconds usual_interval{10'000};
    const auto window = opened_with_.max_unsynced_time;
    syncer_ = std::make_shared<base::periodic_thread>();
    pool_->on_fork_child([own = std::weak_ptr(syncer_)] {
      if (const auto it = own.lock()) it->abandon();
    });
    const auto work = [this] {
      try {
        (*all_)->sync_if_useful();
      } catch (const error&) {
        return false;  // the next write reports it
      } catch (const std::bad_alloc&) {
      }
      return true;
    };
    syncer_->start(window.count() == 0 ? usual_interval : window, work,
                   [this] { return (*all_)->has_unsynced() ? outlook::work : outlook::nothing; });
  }
  void start_cleaner() {
    constexpr std::chrono::milliseconds interval{10};
    constexpr std::size_t step = std::size_t{256} << 10;
    cleaner_ = std::make_shared<cleaner>();
    pool_->on_fork_child([own = std::weak_ptr(cleaner_)] {
      if (const auto it = own.lock()) it->thread.abandon();
    });
    (*all_)->on_work([own = cleaner_.get()] { own->thread.note_work(); },
                     [own = cleaner_.get()] { own->thread.hasten(); });
    const auto work = [this, own = cleaner_.get()] {
      try {
        while (!own->stops.load(std::memory_order_relaxed)) {
          const std::lock_guard lock(own->cleaning);
          (*all_)->prepare();
          if (!(*all_)->clean_if_useful(step)) break;
          if (syncer_ != nullptr) syncer_->note_work();
        }
      } catch (const out_of_space&) {
        // The next write that finds no space reports it.
      } catch (const std::bad_alloc&) {
      }
      return !own->stops.load(std::memory_order_relaxed);
    };
    const auto look = [this] {
      return (*all_)->is_preparing_useful() || (*all_)->is_cleaning_useful()
                 ? base::periodic_thread::outlook::work
                 : base::periodic_thread::outlook::nothing;
    };
    try {
      cleaner_->thread.start(interval, work, look);
    } catch (const std::system_error&) {
      // Writers clean.
    }
  }
  [[nodiscard]] std::unique_lock<std::mutex> pause_cleaner() {
    return cleaner_ == nullptr ? std::unique_lock<std::mutex>()
                               : std::unique_lock(cleaner_->cleaning);
  }
  void stop_cleaner() {
    if (cleaner_ == nullptr) return;
    cleaner_->stops.store(true, std::memory_order_relaxed);
    cleaner_->thread.stop();
  }

  /// Returns the bytes that the pool can have. `used`: what segments have.
  [[nodiscard]] std::size_t limit_bytes(std::size_t used) const {
    const std::size_t limit = pool_->limit_bytes();
    if (limit != 0) return std::max(limit, used);
    if (is_volatile_ || path().empty()) return std::max(pool_->capacity_bytes(), used);
    return used + free_bytes_of(path());
  }
  /// Calls `write`. If the store is full, the error names the remedy.
  template <class Write>
  auto written(Write&& write) {
    require_writable();
    if constexpr (store::is_grouped) (*all_)->require_sound();
    try {
      return write();
    } catch (const out_of_space&) {
      if (!opened_with_.asks_for_capacity) throw;
      throw out_of_space(path() + (path().empty() ? "" : ": ") +
                         "the store has filled its capacity_bytes of " +
                         std::to_string(opened_with_.capacity_bytes) +
                         "; delete entries, or open it with a larger capacity_bytes");
    }
  }
  /// Returns the path of the file, or "" for a store in ordinary memory.
  [[nodiscard]] const std::string& path() const {
    return image_ == nullptr ? pool_->path() : opened_with_.file;
  }
  void require_writable() const {
    if (image_ == nullptr) return;
    throw error(errc::read_only, path(), "the store is open for reading only; nothing was changed");
  }
  void require_order() const {
    if (!(*all_)->lacks_order()) return;
    throw error(errc::bad_argument, path(),
                "the store's keys are in the order of the comparator '" + (*all_)->order_name() +
                    "', and its records are not sorted; open the store with that comparator to "
                    "read keys");
  }

  bool is_volatile_;
  std::unique_ptr<read_image> image_;  // null if the store can be written
  std::shared_ptr<kept_region> index_;
  std::shared_ptr<basic_pool<D>> pool_;
  store_options opened_with_;
  std::optional<roots::attached<store>> all_;
  std::shared_ptr<cleaner> cleaner_;
  std::shared_ptr<base::periodic_thread> syncer_;
};

/// A cursor that copies one leaf at a time, so that it keeps no record from being reused.
template <domain::persistence_domain D, class Shape>
class record_engine<D, Shape>::record_cursor final : public cursor {
  using side = typename store::side;

 public:
  explicit record_cursor(std::shared_ptr<const kept_moment> at)
      : at_moment_(std::move(at)), of_(at_moment_->of), moment_(at_moment_->moment) {}

  bool is_valid() const override { return at_ < leaf_.entries.size(); }
  entry_view here() const override { return {key(), value()}; }
  bool is_intact() const override {
    const auto& entry = leaf_.entries[at_];
    if (!entry.has_value) {
      std::string copy;
      return of_.get(key(), copy, true, moment_) == lookup_status::found;
    }
    record_header header;
    std::memcpy(&header, leaf_.bytes.data() + entry.begin, sizeof header);
    const std::string_view head(
        leaf_.bytes.data() + entry.begin + offsetof(record_header, value_bytes),
        checked_header_bytes);
    std::uint32_t of_value = 0;
    std::memcpy(&of_value, value().data() + entry.value_bytes, sizeof of_value);
    return header.check == head_check(head, key(), header.length_kind, entry.salt) &&
           of_value == value_check_of(value(), header.version, entry.salt);
  }
  void seek_to_first() override {
    load(std::nullopt, side::at_or_after);
    skip_empty_leaves();
  }
  void seek_to_last() override {
    load(std::nullopt, side::before);
    go_to_last();
  }
  void seek(std::string_view wanted) override {
    bound_.assign(wanted);  // it may be a view of the present leaf
    load(std::string_view(bound_), side::at_or_after);
    at_ = first_not_before(bound_);
    skip_empty_leaves();
  }
  void next() override {
    has_long_value_ = false;
    ++at_;
    skip_empty_leaves();
  }
  void prev() override {
    has_long_value_ = false;
    if (at_ > 0) {
      --at_;
      return;
    }
    if (!leaf_.low) return invalidate();
    load_before();
    go_to_last();
  }

 private:
  [[nodiscard]] std::string_view key_of(const typename store::leaf_entry& entry) const {
    return {leaf_.bytes.data() + entry.begin + sizeof(record_header), entry.key_bytes};
  }
  [[nodiscard]] std::string_view key() const { return key_of(leaf_.entries[at_]); }
  [[nodiscard]] std::string_view value() const {
    const auto& entry = leaf_.entries[at_];
    if (entry.has_value) return {key().data() + entry.key_bytes, entry.value_bytes};
    if (!has_long_value_) {
      static_cast<void>(of_.get(key(), long_value_, false, moment_));
      has_long_value_ = true;
    }
    return long_value_;
  }

  void load(const std::optional<std::string_view>& key, side wanted) {
    has_long_value_ = false;
    at_ = 0;
    of_.copy_leaf(key, wanted, moment_, leaf_);
  }
  [[nodiscard]] std::size_t first_not_before(std::string_view key) const {
    const auto found =
        std::partition_point(leaf_.entries.begin(), leaf_.entries.end(),
                             [&](const auto& each) { return of_.order()(key_of(each), key); });
    return static_cast<std::size_t>(found - leaf_.entries.begin());
  }
  // The leaf beside the present one may have been joined with it since, and then has its keys, too.
  void skip_empty_leaves() {
    while (at_ >= leaf_.entries.size()) {
      if (!leaf_.high) return invalidate();
      bound_.assign(*leaf_.high);
      load(std::string_view(bound_), side::at_or_after);
      at_ = first_not_before(bound_);
    }
  }
  void load_before() {
    bound_.assign(*leaf_.low);
    load(std::string_view(bound_), side::before);
    leaf_.entries.resize(first_not_before(bound_));
  }
  void go_to_last() {
    while (leaf_.entries.empty()) {
      if (!leaf_.low) return invalidate();
      load_before();
    }
    at_ = leaf_.entries.size() - 1;
  }
  void invalidate() {
    leaf_.entries.clear();
    at_ = 0;
  }

  std::shared_ptr<const kept_moment> at_moment_;
  store& of_;
  std::uint64_t moment_;
  typename store::leaf_copy leaf_;
  std::size_t at_ = 0;
  std::string bound_;
  mutable std::string long_value_;
  mutable bool has_long_value_ = false;
};

template <domain::persistence_domain D, class Shape>
class record_engine<D, Shape>::record_snapshot final : public snapshot {
 public:
  explicit record_snapshot(store& of) : at_(std::make_shared<const kept_moment>(of)) {}

  lookup_status get(std::string_view key, std::string& value, bool verify) const override {
    return at_->of.get(key, value, verify, at_->moment);
  }
  std::unique_ptr<cursor> iterate() const override { return std::make_unique<record_cursor>(at_); }

 private:
  std::shared_ptr<const kept_moment> at_;
};

template <domain::persistence_domain D, class Shape>
repair_counts record_engine<D, Shape>::repair_into(engine& to) {
  constexpr std::size_t batch_bytes = std::size_t{1} << 20;
  repair_counts found;
  changes some;
  const std::unique_ptr<snapshot> now = take_snapshot();
  const std::unique_ptr<cursor> at = now->iterate();
  for (at->seek_to_first(); at->is_valid(); at->next()) {
    if (!at->is_intact()) {
      ++found.damaged_values;
      continue;
    }
    const auto [key, value] = at->here();
    some.put(key, value);
    ++found.keys;
    if (some.bytes() >= batch_bytes) to.apply(std::exchange(some, changes()), false);
  }
  if (!some.empty()) to.apply(std::move(some), false);
  return found;
}

}  // namespace outlast::store_detail::records
