// The engine of a store: a B+-tree whose operations the transaction engine redo_opt runs, on a
// given domain. Instantiated in mapped_engine.cpp and journaled_engine.cpp.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/containers/bplus_tree.hpp>
#include <outlast/containers/byte_string.hpp>
#include <outlast/containers/managed_tree.hpp>
#include <outlast/db/detail/engine.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/tx/field.hpp>
#include <outlast/tx/heap.hpp>
#include <outlast/tx/redo_opt.hpp>
#include <src/db/file_image.hpp>
#include <src/db/store_files.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::store_detail {

/// The header of a store. It is on media; docs/formats/store.md describes it.
struct store_facts {
  static constexpr std::uint64_t known_version = 1;

  tx::field<std::uint64_t> version;  ///< 0: the store was never opened completely
  containers::byte_string order_name;
};
static_assert(sizeof(store_facts) == 32);

/// Open a store on a medium::memory and on a medium::disk, as open_store() does.
[[nodiscard]] std::unique_ptr<engine> open_mapped_engine(const store_options& wanted);
[[nodiscard]] std::unique_ptr<engine> open_journaled_engine(const store_options& wanted);
/// Returns whether a root is a store of records.
[[nodiscard]] inline bool is_store_of_records(std::string_view name, std::string_view type_name) {
  return name == "store" && type_name == "store::records";
}
/// Opens a store of records on a disk.
[[nodiscard]] std::unique_ptr<engine> open_synced_engine(const store_options& wanted);
/// Opens a store for reading, as open_to_read() does.
[[nodiscard]] std::unique_ptr<engine> open_image(const store_options& wanted,
                                                 std::unique_ptr<read_image> image);

using tree = containers::bplus_tree<std::string, std::string, key_order>;

/// Returns the bytes of a pool that can hold the store.
[[nodiscard]] inline std::size_t pool_bytes_for(const store_options& wanted) {
  constexpr std::size_t tables = std::size_t{1} << 20;
  if (wanted.kind_of_new() == engine_kind::records) {
    return wanted.capacity_bytes + wanted.capacity_bytes / 32 + tables;
  }
  constexpr std::size_t overhead = std::size_t{128} << 20;
  const std::size_t replicas = wanted.capacity_bytes * wanted.replicas;
  return replicas + replicas / 32 + overhead;  // a page has a descriptor of 1/64 of it
}

/// Returns the options for the pool of a store. The pool grows for the replicas, for which it has
/// address space, or for the records. Its file is sparse.
[[nodiscard]] inline pool_options pool_for(const store_options& wanted) {
  pool_options made;
  made.capacity_bytes = pool_bytes_for(wanted);
  if (wanted.kind_of_new() == engine_kind::records) {
    made.capacity_bytes = wanted.asks_for_capacity ? wanted.capacity_bytes : 0;
    made.size_bytes = std::size_t{2} << 20;
    if (made.capacity_bytes != 0) {
      made.size_bytes = std::min(made.size_bytes, made.capacity_bytes);
    }
  }
  made.log_bytes = std::size_t{32} << 20;
  made.max_log_bytes = std::size_t{256} << 20;
  made.per_operation_device_sync = true;
  made.salvage = wanted.salvage;
  made.file_mode = wanted.file_mode;
  return made;
}

/// The keys and values of a tree at one moment, as a read_set reads them.
template <class Entries>
class tree_content {
 public:
  explicit tree_content(Entries all) : all_(std::move(all)) {}

  [[nodiscard]] std::optional<std::string_view> find_value(std::string_view key) const {
    const auto found = all_.find_entry(key);
    return found ? std::optional<std::string_view>(value_in(found->value)) : std::nullopt;
  }
  template <class Visit>
  void ascend_from(std::string_view from, Visit&& visit) const {
    all_.ascend_from(from, [&](std::string_view key, std::string_view stored) {
      return visit(key, value_in(stored));
    });
  }

 private:
  Entries all_;
};

/// `Tree`: the verifier uses a tree with smaller pages.
template <domain::persistence_domain D, class Tree = tree>
class btree_engine final : public engine {
  using tree = Tree;
  using managed = containers::managed_tree<tx::redo_opt<D>, tree>;

 public:
  /// `is_volatile`: the pool is in ordinary memory. `image`: the image of the pool; the store is
  /// then open for reading only.
  btree_engine(std::shared_ptr<basic_pool<D>> pool, const store_options& wanted,
               bool is_volatile = false, std::unique_ptr<read_image> image = nullptr)
      : is_volatile_(is_volatile || domain::logs_lines<D>),
        image_(std::move(image)),
        pool_(validated(std::move(pool), wanted)),
        all_(std::make_unique<managed>(*pool_, manager_name, options_for(*pool_, wanted),
                                       wanted.order, wanted.salvage)),
        facts_(all_->manager().template root<store_facts>("facts")),
        order_(wanted.order),
        opened_with_(wanted) {
    validate(wanted);
  }

  void put(std::string_view key, std::string_view value, bool sync) override {
    require_writable();
    std::string bytes;
    bytes.reserve(key.size() + value.size() + checksum_bytes);
    bytes.append(key).append(value);
    const std::uint32_t checksum = checksum_of(key, value);
    bytes.append(reinterpret_cast<const char*>(&checksum), checksum_bytes);
    change([bytes = std::move(bytes), keyed = key.size(), order = order_](tree& t) {
      const std::string_view both = bytes;
      put_in(t, both.substr(0, keyed), both.substr(keyed), order);
    });
    finish(sync);
  }
  void erase(std::string_view key, bool sync) override {
    require_writable();
    change([key = std::string(key), order = order_](tree& t) { t.erase(key, order); });
    finish(sync);
  }
  void apply(changes&& all, bool sync) override {
    require_writable();
    change([all = std::move(all), order = order_](tree& t) { apply_in(t, all, order); });
    finish(sync);
  }
  bool apply_if(read_set&& read, changes&& all, bool sync) override {
    require_writable();
    const bool hold =
        change([read = std::move(read), all = std::move(all), order = order_](tree& t) {
          if (!read.hold_in(tree_content(t.now(order)), order)) return false;
          apply_in(t, all, order);
          return true;
        });
    if (hold) finish(sync);
    return hold;
  }
  bool holds(const read_set& read) override {
    require_order();
    return all_->read(
        [&](const tree& t) { return read.hold_in(tree_content(t.now(order_)), order_); });
  }
  void sync() override { all_->manager().sync(); }

  lookup_status get(std::string_view key, std::string& value, bool verify) override {
    require_order();
    return all_->read(
        [&](const tree& t) { return take(t.now(order_).find_entry(key), value, verify); });
  }
  std::unique_ptr<snapshot> take_snapshot() override {
    if (opened_with_.any_order) return std::make_unique<stored_order_snapshot>(*this);
    return std::make_unique<tree_snapshot>(all_->take_snapshot());
  }

  key_order order() const override { return order_; }
  std::size_t keys() override { return all_->size(); }
  std::uint64_t bytes_between(std::string_view from, std::string_view to) override {
    require_order();
    return all_->read([&](const tree& t) {
      double bytes = 0;
      t.now(order_).visit_some(from, to, [&](auto key, auto stored, double times) {
        bytes += times * static_cast<double>(key.size() + value_in(stored).size());
      });
      return static_cast<std::uint64_t>(bytes);
    });
  }
  void collect() override {
    if (image_ == nullptr) all_->collect();
  }
  std::string check() override;
  repair_counts repair_into(engine& to) override;
  store_options shape() const override;
  std::string guarantee() const override {
    return image_ == nullptr ? all_->manager().guarantee() : image_->guarantee;
  }
  space_use space() override {
    return all_->read([](const tree& t) {
      const tx::heap here(tx::running());
      const std::size_t in_use = here.bytes_in_use();
      const std::size_t retained = t.bytes_kept();
      return space_use{in_use - retained, retained, here.capacity() - in_use};
    });
  }
  std::size_t file_bytes() const override { return bytes_of_file(path()) + log_bytes(); }
  std::size_t log_bytes() const override { return bytes_of_file(log_of(path())); }
  std::size_t ring_bytes() const override { return all_->manager().ring_bytes(); }
  std::size_t volatile_bytes() override {
    const std::size_t ring = ring_bytes();
    if constexpr (domain::logs_lines<D>) {
      const auto end = all_->read([](const tree&) { return in_use().pages_end; });
      return ring + all_->manager().memory_behind_log(end);
    }
    if (!is_volatile_) return ring;
    return ring + 2 * all_->read([](const tree&) { return used_bytes(); });
  }
  /// For verification.
  [[nodiscard]] auto& manager() noexcept { return all_->manager(); }
  void close() override {
    if (image_ != nullptr) return;  // the store is open for reading only
    all_->manager().sync();
    all_.reset();
    pool_->close();
  }

 private:
  class seen_cursor;
  class tree_snapshot;
  class cursor_as_stored;
  class stored_order_snapshot;

  /// Calls all_->change(). If the store is full, the error names the remedy.
  template <class Change>
  auto change(Change&& what) {
    try {
      return all_->change(std::forward<Change>(what));
    } catch (const tx::region_full&) {
      throw out_of_space(path() + (path().empty() ? "" : ": ") +
                         "the store has filled its capacity_bytes of " +
                         std::to_string(shape().capacity_bytes) +
                         "; delete entries, or load a dump of it into a new store with more");
    }
  }

  static constexpr std::string_view manager_name = "store";
  static constexpr const char* region_name = "tx:store";

  /// Returns the pool. Throws error{bad_argument} if the store in it does not match the options.
  static std::shared_ptr<basic_pool<D>> validated(std::shared_ptr<basic_pool<D>> pool,
                                                  const store_options& wanted);
  /// Returns the options of the manager. An existing store keeps its sizes. A region without a root
  /// is the remainder of an interrupted creation.
  static tx::options options_for(const basic_pool<D>& in, const store_options& wanted) {
    const std::vector<root_info> roots = in.roots();
    const bool is_there = std::any_of(roots.begin(), roots.end(), [](const root_info& each) {
      return each.name == manager_name;
    });
    tx::options made;
    made.replica_bytes = is_there ? 0 : wanted.capacity_bytes;
    if (domain::logs_lines<D> || !is_there) made.replicas = wanted.replicas;
    if (!is_there) made.page_bytes = wanted.page_bytes;
    made.max_unsynced_time = wanted.max_unsynced_time;
    return made;
  }
  void validate(const store_options& wanted);
  /// Returns the path of the file, or "" for a store in ordinary memory.
  [[nodiscard]] const std::string& path() const {
    return image_ == nullptr ? pool_->path() : opened_with_.file;
  }
  void require_writable() const {
    if (image_ == nullptr) return;
    throw error(errc::read_only, path(), "the store is open for reading only; nothing was changed");
  }
  void require_order() const {
    if (!opened_with_.any_order) return;
    throw error(errc::bad_argument, path(),
                "the store's keys are in the order of the comparator '" + opened_with_.order_name +
                    "'; open the store with it to look up keys");
  }

  /// Erases the old key first if the order can treat different bytes as equal, because the checksum
  /// covers the bytes of the key.
  static void put_in(tree& t, std::string_view key, std::string_view stored, key_order order) {
    if (!order.is_by_bytes()) t.erase(key, order);
    t.put(key, stored, order);
  }
  static void apply_in(tree& t, const changes& all, key_order order) {
    all.for_each(
        [&](std::string_view key, std::string_view stored) { put_in(t, key, stored, order); },
        [&](std::string_view key) { t.erase(key, order); },
        [&](std::string_view from, std::string_view to) { erase_in(t, from, to, order); });
  }
  static void erase_in(tree& t, std::string_view from, std::string_view to, key_order order) {
    for (;;) {
      const auto first = t.now(order).lower_bound(from);
      if (!first || !order(first->key, to)) return;
      if (!t.erase(first->key, order))
        tx::detail::refuse_damage("a key is not at its place in the order");
    }
  }
  template <class Entry>
  static lookup_status take(const std::optional<Entry>& found, std::string& value, bool verify) {
    if (!found) return lookup_status::absent;
    if (verify && !is_intact(found->key, found->value)) return lookup_status::damaged;
    value.assign(value_in(found->value));
    return lookup_status::found;
  }
  /// Returns the part of the heap in use, in the replica of the current read.
  static tx::heap::extent in_use() {
    return tx::heap::used(
        *reinterpret_cast<const tx::detail::heap_header*>(tx::running().replica()));
  }
  static std::size_t used_bytes() {
    const tx::heap::extent there = in_use();
    return there.pages_end - there.pages_begin;
  }
  void finish(bool sync) {
    if constexpr (domain::logs_lines<D>) {
      if (sync) all_->manager().sync();
    }
  }

  bool is_volatile_;
  std::unique_ptr<read_image> image_;  // null if the store can be written
  std::shared_ptr<basic_pool<D>> pool_;
  std::unique_ptr<managed> all_;
  tx::root<store_facts> facts_;
  key_order order_;
  store_options opened_with_;
};

template <domain::persistence_domain D, class Tree>
class btree_engine<D, Tree>::seen_cursor final : public cursor {
 public:
  explicit seen_cursor(const typename managed::snapshot& of) : at_(of) {}

  bool is_valid() const override { return at_.is_valid(); }
  void seek_to_first() override { at_.seek_to_first(); }
  void seek_to_last() override { at_.seek_to_last(); }
  void seek(std::string_view key) override { at_.seek(key); }
  void next() override { at_.next(); }
  void prev() override { at_.prev(); }
  entry_view here() const override { return {at_.key(), value_in(at_.value())}; }
  bool is_intact() const override { return store_detail::is_intact(at_.key(), at_.value()); }

 private:
  typename managed::iterator at_;
};

template <domain::persistence_domain D, class Tree>
class btree_engine<D, Tree>::tree_snapshot final : public snapshot {
 public:
  explicit tree_snapshot(typename managed::snapshot of) : of_(std::move(of)) {}

  lookup_status get(std::string_view key, std::string& value, bool verify) const override {
    return of_.read(
        [&](const auto& content) { return take(content.find_entry(key), value, verify); });
  }
  std::unique_ptr<cursor> iterate() const override { return std::make_unique<seen_cursor>(of_); }

 private:
  typename managed::snapshot of_;
};

/// A cursor in the stored order of the keys. Requires: the store does not change.
template <domain::persistence_domain D, class Tree>
class btree_engine<D, Tree>::cursor_as_stored final : public cursor {
 public:
  explicit cursor_as_stored(btree_engine& of) : of_(of) {
    of.all_->read([this](const tree& t) {
      all_.clear();
      all_.reserve(t.size());
      t.for_each(
          [this](std::string_view key, std::string_view stored) { all_.push_back({key, stored}); },
          of_.order_);
    });
    at_ = all_.size();
  }

  bool is_valid() const override { return at_ < all_.size(); }
  entry_view here() const override { return {all_[at_].key, value_in(all_[at_].stored)}; }
  bool is_intact() const override {
    return store_detail::is_intact(all_[at_].key, all_[at_].stored);
  }
  void seek_to_first() override { at_ = 0; }
  void seek_to_last() override { at_ = all_.empty() ? 0 : all_.size() - 1; }
  void seek(std::string_view /*key*/) override { of_.require_order(); }
  void next() override { ++at_; }
  void prev() override { at_ = at_ == 0 ? all_.size() : at_ - 1; }

 private:
  struct stored_entry {
    std::string_view key;
    std::string_view stored;  // the value with its checksum
  };

  btree_engine& of_;
  std::vector<stored_entry> all_;  // views of the image
  std::size_t at_ = 0;
};

template <domain::persistence_domain D, class Tree>
class btree_engine<D, Tree>::stored_order_snapshot final : public snapshot {
 public:
  explicit stored_order_snapshot(btree_engine& of) : of_(of) {}

  lookup_status get(std::string_view /*key*/, std::string& /*value*/,
                    bool /*verify*/) const override {
    of_.require_order();
    return lookup_status::absent;
  }
  std::unique_ptr<cursor> iterate() const override {
    return std::make_unique<cursor_as_stored>(of_);
  }

 private:
  btree_engine& of_;
};

/// Writes the header of a new store. Throws if the header of an existing store does not match.
template <domain::persistence_domain D, class Tree>
void btree_engine<D, Tree>::validate(const store_options& wanted) {
  auto& manager = all_->manager();
  if (manager.read(facts_, [](const store_facts& f) { return f.version.get(); }) == 0) {
    manager.update(facts_, [name = wanted.order_name](store_facts& f) {
      if (f.version != 0) return;
      f.version = store_facts::known_version;
      f.order_name.assign(name);
    });
    manager.sync();
  }
  std::string name;
  const std::uint64_t version = manager.read(facts_, [&](const store_facts& f) {
    name.assign(f.order_name.view());
    return f.version.get();
  });
  if (version != store_facts::known_version) {
    throw error(errc::newer_version, path(),
                "the store has format " + std::to_string(version) +
                    ", and this program supports versions up to " +
                    std::to_string(store_facts::known_version) + "; use a newer Outlast");
  }
  opened_with_.order_name = name;
  if (name == wanted.order_name || wanted.any_order) return;
  throw error(errc::bad_argument, path(),
              "the store's keys are in the order of the comparator '" + name + "', not of '" +
                  wanted.order_name + "'; open it with '" + name + "'");
}

template <domain::persistence_domain D, class Tree>
std::shared_ptr<basic_pool<D>> btree_engine<D, Tree>::validated(std::shared_ptr<basic_pool<D>> pool,
                                                                const store_options& wanted) {
  const std::optional<region_info> region = pool->find_region(region_name);
  if (!region) return pool;
  const auto refuse = [&wanted](const char* option, std::uint64_t asked, std::uint64_t has) {
    throw error(errc::bad_argument, wanted.file,
                std::string("StoreOptions::") + option + " is " + std::to_string(asked) +
                    ", and the store was created with " + std::to_string(has) +
                    "; leave the option out, or load a dump of the store into a new one: "
                    "`outlast db dump`, `outlast db load --capacity`");
  };
  if (wanted.asks_for_capacity && tx::bytes_of_replica(wanted.capacity_bytes) > region->bytes) {
    refuse("capacity_bytes", wanted.capacity_bytes, region->bytes);
  }
  // On a disk the replicas are in memory, and each opening chooses their number.
  if (!domain::logs_lines<D> && wanted.replicas != store_options().replicas &&
      wanted.replicas != region->replicas) {
    refuse("replicas", wanted.replicas, region->replicas);
  }
  return pool;
}

template <domain::persistence_domain D, class Tree>
store_options btree_engine<D, Tree>::shape() const {
  store_options like = opened_with_;
  like.kind = engine_kind::replicas;
  like.file_mode = mode_of_file(path());
  for (const region_info& region : pool_->regions()) {
    if (region.kind != region_kind::replicas) continue;
    like.capacity_bytes = region.bytes;
    if (region.replicas > 1) like.replicas = region.replicas;  // on a disk there is one
  }
  return like;
}

template <domain::persistence_domain D, class Tree>
repair_counts btree_engine<D, Tree>::repair_into(engine& to) {
  constexpr std::size_t batch_bytes = std::size_t{1} << 20;
  // A thread can be in one operation at a time, and this thread is in a read of `*this`.
  const auto write = [&to](changes all) {
    std::async(std::launch::async, [&] { to.apply(std::move(all), false); }).get();
  };
  const std::uint64_t capacity = shape().capacity_bytes;
  repair_counts found;
  all_->read([&](const tree& t) {
    found = {};
    changes some;
    const std::uint64_t counted = t.size();
    t.visit_readable([&](std::string_view key, std::string_view stored) {
      if (!is_intact(key, stored)) {
        ++found.damaged_values;
        return;
      }
      some.put(key, value_in(stored));
      ++found.keys;
      if (some.bytes() >= batch_bytes) write(std::exchange(some, changes()));
    });
    if (!some.empty()) write(std::move(some));
    const std::uint64_t seen = found.keys + found.damaged_values;
    // The damage may be in the count itself.
    found.missing_keys = counted > seen && counted <= capacity ? counted - seen : 0;
  });
  return found;
}

template <domain::persistence_domain D, class Tree>
std::string btree_engine<D, Tree>::check() {
  if (image_ != nullptr && !image_->findings.empty()) {
    std::string all;
    for (const std::string& each : image_->findings) all += (all.empty() ? "" : "; ") + each;
    return all;
  }
  std::size_t readable = 0;
  std::size_t expected = 0;
  std::string damaged;
  all_->read([&](const tree& t) {
    readable = 0;
    expected = t.size();
    t.visit_readable([&](std::string_view key, std::string_view stored) {
      ++readable;
      if (is_intact(key, stored)) return;
      damaged = "the value of a key of " + std::to_string(key.size()) +
                " bytes does not match its checksum";
    });
  });
  // all_->check() follows pointers without validation, so it runs only if every key can be read.
  if (readable != expected) {
    return "only " + std::to_string(readable) + " of " + std::to_string(expected) +
           " keys can be read";
  }
  if (opened_with_.any_order) return damaged;
  if (std::string wrong = all_->check(); !wrong.empty()) return wrong;
  return damaged;
}

}  // namespace outlast::store_detail
