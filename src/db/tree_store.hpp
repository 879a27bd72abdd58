// The store on a domain: a B+-tree under the wait-free engine. Instantiated in native_store.cpp and
// logged_store.cpp.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/db/detail/store.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/tx/byte_string.hpp>
#include <outlast/tx/field.hpp>
#include <outlast/tx/heap.hpp>
#include <outlast/tx/managed_tree.hpp>
#include <outlast/tx/redo.hpp>
#include <outlast/tx/seq/bplus_tree.hpp>
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

namespace outlast::store_detail {

/// What a store says about itself. On media: docs/formats/store.md.
struct store_facts {
  static constexpr std::uint64_t known_version = 1;

  tx::field<std::uint64_t> version;  ///< 0: the store was never opened
  tx::byte_string order_name;
};
static_assert(sizeof(store_facts) == 32);

/// On a mapping that survives, and through a log: as open_store() on the two media.
[[nodiscard]] std::unique_ptr<store> open_native_store(const store_options& wanted);
[[nodiscard]] std::unique_ptr<store> open_logged_store(const store_options& wanted);

using tree = tx::seq::bplus_tree<std::string, std::string, key_order>;

/// What a file takes of its file system; 0 if there is none.
[[nodiscard]] std::size_t bytes_of_file(const std::string& path);

/// A pool of the options; its file is sparse.
[[nodiscard]] inline pool_options pool_for(const store_options& wanted) {
  constexpr std::size_t besides = std::size_t{64} << 20;
  const std::size_t replicas = wanted.capacity_bytes * wanted.replicas;
  pool_options made;
  made.size_bytes = replicas + replicas / 32 + besides;  // a page has a line of 1/64 of it
  made.capacity_bytes = made.size_bytes;
  made.log_bytes = std::size_t{32} << 20;
  made.most_log_bytes = std::size_t{256} << 20;
  made.per_operation_device_sync = true;
  made.salvage = wanted.salvage;
  made.file_mode = wanted.file_mode;
  return made;
}

/// A pool in which no store was ever completed: nothing in it was acknowledged.
template <domain::persistence_domain D>
[[nodiscard]] bool is_unused(const basic_pool<D>& pool) {
  if (!pool.roots().empty()) return false;
  for (const region_info& region : pool.regions()) {
    if (!region.name.starts_with("tx:store")) return false;  // not of a store
  }
  const auto findings = pool.check();  // a damaged entry is in no list
  return std::none_of(findings.begin(), findings.end(), [](const pool_format::finding& one) {
    return one.level == pool_format::severity::error;
  });
}

/// `Tree`: for verification another one, of smaller pages.
template <domain::persistence_domain D, class Tree = tree>
class tree_store final : public store {
  using tree = Tree;
  using managed = tx::managed_tree<tx::redo_opt<D>, tree>;

 public:
  /// `is_volatile`: the pool lies in ordinary memory.
  tree_store(std::shared_ptr<basic_pool<D>> pool, const store_options& wanted,
             bool is_volatile = false)
      : is_volatile_(is_volatile || domain::logs_lines<D>),
        pool_(std::move(pool)),
        all_(std::make_unique<managed>(*pool_, "store", options_for(wanted), wanted.order,
                                       wanted.salvage)),
        facts_(all_->manager().template root<store_facts>("facts")),
        order_(wanted.order),
        opened_with_(wanted) {
    judge(wanted);
  }

  void put(std::string_view key, std::string_view value, bool sync) override {
    std::string bytes;
    bytes.reserve(key.size() + value.size() + checksum_bytes);
    bytes.append(key).append(value);
    const std::uint32_t checksum = checksum_of(key, value);
    bytes.append(reinterpret_cast<const char*>(&checksum), checksum_bytes);
    all_->change([bytes = std::move(bytes), keyed = key.size(), order = order_](tree& t) {
      const std::string_view both = bytes;
      put_in(t, both.substr(0, keyed), both.substr(keyed), order);
    });
    finish(sync);
  }
  void erase(std::string_view key, bool sync) override {
    all_->change([key = std::string(key), order = order_](tree& t) { t.erase(key, order); });
    finish(sync);
  }
  void apply(changes&& all, bool sync) override {
    all_->change([all = std::move(all), order = order_](tree& t) { apply_in(t, all, order); });
    finish(sync);
  }
  bool apply_if(premises&& read, changes&& all, bool sync) override {
    const bool hold =
        all_->change([read = std::move(read), all = std::move(all), order = order_](tree& t) {
          if (!read.hold_in(t.now(order), order)) return false;
          apply_in(t, all, order);
          return true;
        });
    if (hold) finish(sync);
    return hold;
  }
  bool holds(const premises& read) override {
    return all_->read([&](const tree& t) { return read.hold_in(t.now(order_), order_); });
  }
  void sync() override { all_->manager().sync(); }

  answer get(std::string_view key, std::string& value, bool verify) override {
    return all_->read(
        [&](const tree& t) { return take(t.now(order_).find_entry(key), value, verify); });
  }
  std::unique_ptr<moment> now() override {
    return std::make_unique<seen_moment>(all_->take_snapshot());
  }

  key_order order() const override { return order_; }
  std::size_t keys() override { return all_->size(); }
  std::uint64_t bytes_between(std::string_view from, std::string_view to) override {
    return all_->read([&](const tree& t) {
      const auto now = t.now(order_);
      const double part = now.part_before(to) - now.part_before(from);
      return part <= 0 ? std::uint64_t{0}
                       : static_cast<std::uint64_t>(part * static_cast<double>(used_bytes()));
    });
  }
  void collect() override { all_->collect(); }
  std::string check() override;
  std::size_t rescue(store& to) override;
  store_options shape() const override;
  std::string guarantee() const override { return all_->manager().guarantee(); }
  std::size_t data_bytes() override {
    return all_->read([](const tree&) { return used_bytes(); });
  }
  std::size_t file_bytes() const override {
    return bytes_of_file(pool_->path()) + bytes_of_file(log_of(pool_->path()));
  }
  std::size_t volatile_bytes() override { return is_volatile_ ? 2 * data_bytes() : 0; }
  /// For verification.
  [[nodiscard]] auto& manager() noexcept { return all_->manager(); }
  void close() override {
    all_->manager().sync();
    all_.reset();
    pool_->close();
  }

 private:
  class seen_cursor;
  class seen_moment;

  static tx::options options_for(const store_options& wanted) {
    tx::options made;
    made.replica_bytes = wanted.capacity_bytes;
    made.replicas = wanted.replicas;
    made.page_bytes = wanted.page_bytes;
    made.window = wanted.window;
    return made;
  }
  void judge(const store_options& wanted);

  /// Of keys that an order takes for equal the last one is kept: checksums are of its bytes.
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
      if (!t.erase(first->key, order)) tx::detail::refuse_damage("a key is not where it belongs");
    }
  }
  template <class Entry>
  static answer take(const std::optional<Entry>& found, std::string& value, bool verify) {
    if (!found) return answer::absent;
    if (verify && !is_intact(found->key, found->value)) return answer::damaged;
    value.assign(value_in(found->value));
    return answer::found;
  }
  /// Of the replica that a read sees.
  static std::size_t used_bytes() {
    const auto in_use =
        tx::heap::used(*reinterpret_cast<const tx::detail::heap_header*>(tx::running().replica()));
    return in_use.pages_end - in_use.pages_begin;
  }
  void finish(bool sync) {
    if constexpr (domain::logs_lines<D>) {
      if (sync) all_->manager().sync();
    }
  }

  bool is_volatile_;
  std::shared_ptr<basic_pool<D>> pool_;
  std::unique_ptr<managed> all_;
  tx::root<store_facts> facts_;
  key_order order_;
  store_options opened_with_;
};

template <domain::persistence_domain D, class Tree>
class tree_store<D, Tree>::seen_cursor final : public cursor {
 public:
  explicit seen_cursor(const typename managed::snapshot& of) : at_(of) {}

  bool is_valid() const override { return at_.is_valid(); }
  void seek_to_first() override { at_.seek_to_first(); }
  void seek_to_last() override { at_.seek_to_last(); }
  void seek(std::string_view key) override { at_.seek(key); }
  void next() override { at_.next(); }
  void prev() override { at_.prev(); }
  entry_view here() const override { return {at_.key(), at_.value()}; }

 private:
  typename managed::iterator at_;
};

template <domain::persistence_domain D, class Tree>
class tree_store<D, Tree>::seen_moment final : public moment {
 public:
  explicit seen_moment(typename managed::snapshot of) : of_(std::move(of)) {}

  answer get(std::string_view key, std::string& value, bool verify) const override {
    return of_.read(
        [&](const auto& content) { return take(content.find_entry(key), value, verify); });
  }
  std::unique_ptr<cursor> iterate() const override { return std::make_unique<seen_cursor>(of_); }

 private:
  typename managed::snapshot of_;
};

/// Says what it is if nobody has, and otherwise throws unless that is what is wanted.
template <domain::persistence_domain D, class Tree>
void tree_store<D, Tree>::judge(const store_options& wanted) {
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
    throw error(errc::newer_version, pool_->path(),
                "the store has format " + std::to_string(version) + ", this program knows " +
                    std::to_string(store_facts::known_version) + "; use a newer one");
  }
  if (name == wanted.order_name) return;
  throw error(errc::bad_argument, pool_->path(),
              "the store's keys are in the order of the comparator '" + name + "', not of '" +
                  wanted.order_name + "'; open it with that one");
}

template <domain::persistence_domain D, class Tree>
store_options tree_store<D, Tree>::shape() const {
  store_options like = opened_with_;
  like.file_mode = mode_of_file(pool_->path());
  for (const region_info& region : pool_->regions()) {
    if (region.kind != region_kind::replicas) continue;
    like.capacity_bytes = region.bytes;
    if (region.replicas > 1) like.replicas = region.replicas;  // behind a log there is one
  }
  return like;
}

template <domain::persistence_domain D, class Tree>
std::size_t tree_store<D, Tree>::rescue(store& to) {
  constexpr std::size_t at_once = std::size_t{1} << 20;
  // A thread is in one operation at a time, and this one reads `*this` all the while.
  const auto write = [&to](changes all) {
    std::async(std::launch::async, [&] { to.apply(std::move(all), false); }).get();
  };
  std::size_t kept = 0;
  changes some;
  all_->read([&](const tree& t) {
    t.visit_readable([&](std::string_view key, std::string_view stored) {
      if (!is_intact(key, stored)) return;
      some.put(key, value_in(stored));
      ++kept;
      if (some.bytes() >= at_once) write(std::exchange(some, changes()));
    });
  });
  if (!some.empty()) to.apply(std::move(some), false);
  return kept;
}

template <domain::persistence_domain D, class Tree>
std::string tree_store<D, Tree>::check() {
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
                " bytes is not what its checksum says";
    });
  });
  // Only what can be read all over is looked at without suspicion.
  if (readable != expected) {
    return "of " + std::to_string(expected) + " keys " + std::to_string(readable) + " can be read";
  }
  if (std::string wrong = all_->check(); !wrong.empty()) return wrong;
  return damaged;
}

/// Opens the store in the file, or makes it. A making that fails leaves no file behind, and one
/// that was cut off decides nothing for the next.
template <domain::persistence_domain D>
std::unique_ptr<store> open_in_file(const store_options& wanted) {
  using pool_type = basic_pool<D>;
  const pool_options options = pool_for(wanted);
  if (!wanted.may_create || is_there(wanted.file)) {
    std::shared_ptr<pool_type> pool(new pool_type(pool_type::open(wanted.file, options)));
    if (!wanted.may_create || !is_unused(*pool)) {
      return std::make_unique<tree_store<D>>(std::move(pool), wanted);
    }
    pool->close();
    pool.reset();
    remove_store_files(wanted.file);
  }
  if (const std::string log = log_of(wanted.file); is_there(log)) {
    throw error(errc::already_exists, log,
                "a redo log without its pool '" + wanted.file +
                    "': bring that back, or remove the log with DestroyDB() to begin a new store");
  }
  try {
    std::shared_ptr<pool_type> pool(new pool_type(pool_type::create(wanted.file, options)));
    return std::make_unique<tree_store<D>>(std::move(pool), wanted);
  } catch (const error& refused) {
    // What is there after all is another's, or a store that the system would not tell of.
    if (refused.reason() != errc::already_exists) remove_store_files(wanted.file);
    throw;
  } catch (...) {
    remove_store_files(wanted.file);  // neither was there
    throw;
  }
}

}  // namespace outlast::store_detail
