// The store's core in a pool of the test, as scenarios see it: keys and values are numbers,
// and snapshots are open whenever it is changed.
#pragma once

#include <outlast/verify/checkers/store_oracle.hpp>
#include <outlast/verify/explorer/structure_subject.hpp>
#include <src/db/btree_engine.hpp>
#include <src/db/records/record_engine.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::verify::detail {

/// A number in 8 bytes, and 0, 2, 4 or 6 times what follows from it: some strings fit into their
/// entry, one replaces another one of another length, and a string says itself whether it is whole.
[[nodiscard]] inline std::string text_of_number(std::uint64_t number) {
  std::string text;
  for (std::size_t i = 0; i <= number % 4 * 2; ++i) {
    const std::uint64_t word = number * (i + 1);
    text.append(reinterpret_cast<const char*>(&word), sizeof word);
  }
  return text;
}
/// Of a torn one, what was never a number.
[[nodiscard]] inline std::uint64_t number_in_text(std::string_view text) {
  std::uint64_t number = 0;
  std::memcpy(&number, text.data(), text.size() < sizeof number ? 0 : sizeof number);
  return text == text_of_number(number) ? number : ~std::uint64_t{0};
}

/// Pages as small as they may be.
using small_store_tree =
    containers::bplus_tree<std::string, std::string, store_detail::key_order, 4>;

/// What the smallest store needs.
[[nodiscard]] inline store_detail::store_options small_store(
    std::string_view order_name, std::chrono::microseconds max_unsynced_time = {}) {
  store_detail::store_options made;
  made.order_name = order_name;
  made.capacity_bytes = 16384;
  made.page_bytes = 256;
  made.replicas = 4;  // two threads never wait
  made.max_unsynced_time = max_unsynced_time;
  return made;
}

/// The engine of the tree, with its name in lists.
template <domain::persistence_domain D>
struct small_tree_engine {
  static constexpr bool keeps_snapshots = true;
  static constexpr bool cleans = false;
  using type = store_detail::btree_engine<D, small_store_tree>;
  using policy_type =
      typename containers::managed_tree<tx::redo_opt<D>, small_store_tree>::policy_type;
};

/// Segments of a few records, and pages as small as they may be.
struct small_record_shape : store_detail::records::usual_shape {
  static constexpr unsigned leaf_slots = 2;
  static constexpr unsigned page_keys = 3;
  static constexpr std::size_t key_locks = 2;
  static constexpr std::size_t min_segment_bytes = 512;
  static constexpr std::size_t max_segment_bytes = 512;
  static constexpr std::size_t max_copied_record = 64;
  static constexpr bool large_pages = false;
};
/// The same, of a store on a disk.
struct small_marked_shape : small_record_shape {
  static constexpr bool groups_syncs = true;
  static constexpr std::size_t mark_bytes = 512;
};
/// The same, of a store on persistent memory that may have been on that disk.
struct small_moved_shape : small_record_shape {
  static constexpr std::size_t mark_bytes = small_marked_shape::mark_bytes;
};
/// The engine of records, with its name in lists. `Keeps`: snapshots are open whenever it is
/// changed; otherwise only while two keys are read together. `Cleans`: before each change the space
/// of all records that do not count is returned.
template <domain::persistence_domain D, bool Keeps = true, bool Cleans = false,
          class Shape = small_record_shape>
struct small_record_engine {
  static constexpr bool keeps_snapshots = Keeps;
  static constexpr bool cleans = Cleans;
  using type = store_detail::records::record_engine<D, Shape>;
  struct policy_type {
    [[nodiscard]] static std::string name() { return "records"; }
  };
};

/// Thread-safety: as the store's, but for check().
template <domain::persistence_domain D, class Engine = small_tree_engine<D>>
class store_in_pool {
  using inside = typename Engine::type;

 public:
  using pool_type = basic_pool<D>;
  using key_type = std::uint64_t;
  using mapped_type = std::uint64_t;
  using policy_type = typename Engine::policy_type;

  /// `name`: of the order of keys. `syncs`: each change is durable at return, whatever the window.
  /// `more`: of the engine's constructor.
  template <class... More>
  store_in_pool(pool_type& pool, std::string_view name,
                std::chrono::microseconds max_unsynced_time = {}, bool syncs = true, More&&... more)
      : store_(std::shared_ptr<pool_type>(&pool, [](pool_type*) {}),
               small_store(name, max_unsynced_time), std::forward<More>(more)...),
        syncs_(syncs) {}

  void put(std::uint64_t key, std::uint64_t value) {
    renew();
    store_.put(text_of_number(key), text_of_number(value), syncs_);
  }
  void erase(std::uint64_t key) {
    renew();
    store_.erase(text_of_number(key), syncs_);
  }
  /// Erases one, and puts the other one.
  void replace(std::uint64_t old_key, std::uint64_t key, std::uint64_t value) {
    renew();
    store_detail::changes both;
    both.erase(text_of_number(old_key));
    both.put(text_of_number(key), text_of_number(value));
    store_.apply(std::move(both), syncs_);
  }
  [[nodiscard]] std::optional<std::uint64_t> get(std::uint64_t key) {
    return got([&](std::string& value) { return store_.get(text_of_number(key), value, true); });
  }
  /// In a snapshot of their own.
  [[nodiscard]] std::pair<std::optional<std::uint64_t>, std::optional<std::uint64_t>> get_both(
      std::uint64_t first, std::uint64_t second) {
    const auto then = store_.take_snapshot();
    const auto in = [&](std::uint64_t key) {
      return got([&](std::string& value) { return then->get(text_of_number(key), value, true); });
    };
    const auto one = in(first);
    return {one, in(second)};
  }
  template <class Visit>
  void for_each(Visit&& visit) {
    for (const auto& [key, value] : content_of(*store_.take_snapshot())) visit(key, value);
  }

  [[nodiscard]] std::string check() {
    for (const kept& each : kept_) compare(each);
    return wrong_.empty() ? store_.check() : wrong_;
  }
  [[nodiscard]] auto& manager() noexcept { return store_.manager(); }
  [[nodiscard]] inside& core() noexcept { return store_; }

 private:
  using content = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  struct kept {
    std::unique_ptr<store_detail::snapshot> then;
    content held;
  };
  static constexpr std::size_t most = 2;

  template <class Get>
  static std::optional<std::uint64_t> got(Get&& get) {
    std::string value;
    switch (get(value)) {
      case store_detail::lookup_status::found: return number_in_text(value);
      case store_detail::lookup_status::absent: return std::nullopt;
      case store_detail::lookup_status::damaged: break;
    }
    return ~std::uint64_t{0};
  }
  static content content_of(const store_detail::snapshot& then) {
    content found;
    const auto at = then.iterate();
    for (at->seek_to_first(); at->is_valid(); at->next()) {
      const auto [key, value] = at->here();
      const bool is_intact = at->is_intact();
      found.emplace_back(number_in_text(key),
                         is_intact ? number_in_text(value) : ~std::uint64_t{0});
    }
    return found;
  }
  void compare(const kept& with) {
    if (content_of(*with.then) == with.held) return;
    const std::lock_guard lock(mutex_);
    wrong_ = "a snapshot is not what it was";
  }

  void renew() {
    if constexpr (Engine::cleans) store_.compact();
    if (!Engine::keeps_snapshots) return;
    for (const kept& each : take_one()) compare(each);
    kept made{store_.take_snapshot(), {}};
    made.held = content_of(*made.then);
    const std::lock_guard lock(mutex_);
    kept_.push_back(std::move(made));
  }
  /// None or one, which is no other thread's any more; the oldest and the newest by turns.
  [[nodiscard]] std::vector<kept> take_one() {
    std::vector<kept> taken;
    const std::lock_guard lock(mutex_);
    if (kept_.size() < most) return taken;
    const auto which = taken_++ % 2 == 0 ? std::prev(kept_.end()) : kept_.begin();
    taken.push_back(std::move(*which));
    kept_.erase(which);
    return taken;
  }

  inside store_;
  bool syncs_;
  std::mutex mutex_;  // nothing in the pool is touched while it is held
  std::vector<kept> kept_;
  unsigned taken_ = 0;
  std::string wrong_;
};

/// An opened store with the checker of stores.
template <class Store>
class store_world : public structure_world<Store> {
 protected:
  using structure_world<Store>::structure_;

 public:
  using structure_world<Store>::structure_world;

  outcome apply(const call& what) override {
    const std::uint64_t first = store_oracle::first(what);
    const std::uint64_t second = store_oracle::second(what);
    switch (static_cast<store_operation>(what.kind)) {
      case store_operation::put: structure_->put(first, what.argument); return {true};
      case store_operation::erase: structure_->erase(first); return {true};
      case store_operation::replace:
        structure_->replace(first, second, what.argument);
        return {true};
      case store_operation::get: return store_oracle::result(structure_->get(first), {});
      case store_operation::get_both: {
        const auto [one, other] = structure_->get_both(first, second);
        return store_oracle::result(one, other);
      }
    }
    return {};
  }

  abstract_state observe() override {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
    structure_->for_each(
        [&](std::uint64_t key, std::uint64_t value) { all.push_back({key, value}); });
    std::sort(all.begin(), all.end());
    abstract_state state;
    for (const auto& [key, value] : all) state.insert(state.end(), {key, value});
    return state;
  }
};

/// A store in a pool of the simulated domain.
template <class Store>
class store_subject final : public structure_subject<Store> {
 public:
  using structure_subject<Store>::structure_subject;

  [[nodiscard]] const oracle& checker() const override { return checker_; }
  [[nodiscard]] std::unique_ptr<world> open(std::span<std::byte> memory, bool fresh) override {
    const auto& how = this->how();
    return std::make_unique<store_world<Store>>(memory, fresh, how.make, how.blocks);
  }

 private:
  store_oracle checker_;
};

}  // namespace outlast::verify::detail
