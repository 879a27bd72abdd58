// A B+-tree with a manager of its own, and with snapshots and iterators that hold no lock and no
// replica.
//
//   outlast::containers::managed_tree<outlast::tx::left_right<>,
//       outlast::containers::bplus_tree<std::string, std::string>> all(pool, "all");
//   all.put("key", "value");
//   const auto then = all.take_snapshot();
//   all.erase("key");
//   for (auto at = then.iterate(); at.is_valid(); at.next()) show(at.key(), at.value());
//
// Content of a snapshot (multi-version concurrency control): the keys and values at one point in
// time between the call and the return of take_snapshot(). Later changes are not visible. A
// snapshot lasts until its last copy and its last iterator are destroyed. The tree's object must
// outlive it. A crash or a reopening ends all snapshots.
//
// Cost: taking a snapshot is one update, or a read if nothing has changed since the last snapshot.
// Afterwards the first change of each page in the snapshot copies the page, and a string of more
// than 16 bytes that is replaced or erased is kept. So snapshots take the space of the pages and
// strings that the tree does not have any more, once, for any number of snapshots. Reading flushes
// nothing, and waits only if the manager's reads do: each step of an iterator is such a read, or
// uses entries of the last one. The number of open snapshots does not change the cost of an update.
//
// Reclamation: after the end of a snapshot, each update frees 64 blocks, and twice the number of
// blocks that the update before it has retired under snapshots. So the retired blocks stay
// in proportion. collect() frees all. An update that finds no room does so too, and tries again.
// The same happens after an opening to the blocks that the snapshots of an earlier process have
// left.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/containers/detail/copied_entries.hpp>
#include <outlast/containers/detail/dropped_snapshots.hpp>
#include <outlast/containers/detail/stored.hpp>
#include <outlast/tx/heap.hpp>
#include <outlast/tx/manager.hpp>
#include <outlast/tx/options.hpp>
#include <outlast/tx/transaction.hpp>

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace outlast::containers {

/// `Tree` is a containers::bplus_tree, `Manager` an engine. Each member function is a transaction.
/// Strings are passed as std::string_view, and copied, because an engine may run an update after
/// its caller has returned. get() returns a copy.
///
/// An order that is chosen at run time is passed when the tree is attached. Requires: it is the
/// order with which the tree was created, and objects that it refers to outlive the tree's object.
/// With another order, lookups miss keys, which check() reports.
///
/// Thread-safety: all members may be called concurrently, also those of one snapshot. An iterator
/// is used by one thread at a time. Progress: the manager's, except that a snapshot locks mutexes
/// when it is taken and when it ends. The first snapshot after a change is an update. Durability:
/// the manager's. Snapshots are volatile.
template <class Manager, class Tree>
class managed_tree {
  using dropped = detail::dropped_snapshots<typename Tree::snapshot>;
  using held = typename dropped::held;
  using closing = typename dropped::closing;
  template <class T>
  using view_of = detail::view_of<T>;

 public:
  using pool_type = typename Manager::pool_type;
  using key_type = typename Tree::key_type;
  using mapped_type = typename Tree::mapped_type;
  /// The engine, and the domain under it, for reports.
  struct policy_type {
    using domain_type = typename Manager::domain_type;
    [[nodiscard]] static std::string name() { return std::string(Manager::engine_name()); }
  };
  using order_type = typename Tree::order_type;
  class snapshot;
  class iterator;

  /// Attaches the manager `name`, and creates it if there is none. Closes the snapshots of an
  /// earlier process; the next updates free their blocks. If `is_damaged` it does not, and the tree
  /// must only be read, with visit_readable(). Throws the exceptions of Manager's constructor, of
  /// root() and of update().
  managed_tree(pool_type& pool, std::string_view name, const tx::options& wanted = {},
               order_type order = order_type(), bool is_damaged = false)
      : manager_(std::make_unique<Manager>(pool, name, wanted)),
        tree_(manager_->template root<Tree>("map")),
        order_(order) {
    if (is_damaged) return;
    if (!manager().read(named(), [](const Tree& t) { return t.keeps_versions(); })) return;
    if (!manager().read(named(), [](const Tree& t) { return t.keeps_sound_versions(); })) {
      throw corruption(pool.path(), "what the tree '" + std::string(name) +
                                        "' keeps for snapshots is damaged; restore a backup");
    }
    auto all = std::make_unique<held>();
    all->which = manager().update(named(), [](Tree& t) { return t.close_all_snapshots(); });
    all->is_closed = true;
    if (all->which.holder != 0) dropped_->drop(std::move(all));
  }

  /// Adds an entry. Returns false, without a change, if the key exists. Durable at return, as are
  /// put(), update() and erase(). Throws out_of_space without effect, as all of these do.
  bool insert(view_of<key_type> key, view_of<mapped_type> value) {
    return change([key = key_type(key), value = mapped_type(value), order = order_](Tree& t) {
      return t.insert(key, value, order);
    });
  }
  bool put(view_of<key_type> key, view_of<mapped_type> value) {
    return change([key = key_type(key), value = mapped_type(value), order = order_](Tree& t) {
      return t.put(key, value, order);
    });
  }
  bool update(view_of<key_type> key, view_of<mapped_type> value) {
    return change([key = key_type(key), value = mapped_type(value), order = order_](Tree& t) {
      return t.update(key, value, order);
    });
  }
  bool erase(view_of<key_type> key) {
    return change([key = key_type(key), order = order_](Tree& t) { return t.erase(key, order); });
  }
  /// Runs f(Tree&) as one operation, for several changes together. See Manager::update().
  template <std::invocable<Tree&> F>
  auto change(F&& f) {
    using answer = std::invoke_result_t<F&, Tree&>;
    static_assert(tx::detail::is_result<std::remove_cvref_t<answer>>,
                  "a transaction answers with a trivially copyable value that is no view");
    if (tx::detail::current() != nullptr) return manager().update(named(), std::forward<F>(f));
    reclaim_some();
    const auto run = [&](auto&& each) {
      return manager().update(named(), counted(std::forward<decltype(each)>(each)));
    };
    const auto done = [&] {
      if (!dropped_->any()) return run(std::forward<F>(f));
      return retry_after_reclaim([&] {
        if constexpr (requires { requires Manager::runs_after_return; }) {
          return run(f);  // a copy
        } else {
          return run(std::ref(f));
        }
      });
    }();
    if (done.retired != 0) retired_.fetch_add(done.retired, std::memory_order_relaxed);
    if constexpr (!std::is_void_v<answer>) return done.value;
  }

  [[nodiscard]] bool contains(view_of<key_type> key) {
    return read([&](const Tree& t) { return t.contains(key, order_); });
  }
  [[nodiscard]] std::optional<mapped_type> get(view_of<key_type> key) {
    std::optional<mapped_type> found;
    read([&](const Tree& t) {
      if (const auto there = t.get(key, order_)) found.emplace(*there);
    });
    return found;
  }
  /// Calls `visit(key, value)` for each key, as of one point in time. Views are valid during the
  /// call.
  template <class Visit>
  void for_each(Visit&& visit) {
    read([&](const Tree& t) { t.for_each(visit, order_); });
  }
  /// Runs f(const Tree&) as one operation, on the caller's thread. See Manager::read().
  template <std::invocable<const Tree&> F>
  auto read(F&& f) {
    return manager().read(named(), std::forward<F>(f));
  }
  /// Returns the first violated invariant of the tree; "" if there is none. Visits all entries.
  [[nodiscard]] std::string check() {
    std::string wrong;
    read([&](const Tree& t) { wrong = t.check(order_); });
    return wrong;
  }
  [[nodiscard]] order_type order() const { return order_; }

  [[nodiscard]] std::size_t size() {
    return read([](const Tree& t) { return t.size(); });
  }
  /// Returns how many blocks of the manager's heap belong to no tree. Visits everything. Without
  /// other objects there are two: the tree's object and its name.
  [[nodiscard]] std::size_t blocks_besides() {
    return read([](const Tree& t) { return tx::heap(tx::running()).blocks_in_use() - t.blocks(); });
  }

  [[nodiscard]] Manager& manager() noexcept { return *manager_; }
  [[nodiscard]] tx::root<Tree> named() const noexcept { return tree_; }

  /// Returns a snapshot of the tree. Runs an update, which is durable at return, or a read if
  /// nothing has changed since the last snapshot. Throws out_of_space, std::bad_alloc, and
  /// error{refused} inside an operation, which could be undone.
  [[nodiscard]] snapshot take_snapshot();

  /// Frees all blocks that only dropped snapshots keep, in several updates. Returns false if there
  /// was no room for these. Does nothing inside an operation.
  bool collect() {
    if (tx::detail::current() != nullptr) return true;
    for (;;) {
      const reclaim_outcome one = reclaim(max_blocks_per_update, 0);
      if (one == reclaim_outcome::no_room) return false;
      if (one == reclaim_outcome::nothing_there) break;
    }
    if (manager().read(named(), [](const Tree& t) { return t.keeps_closed(); })) {
      manager().update(named(), [](Tree& t) { t.sweep_snapshots(0); });
    }
    return true;
  }

 private:
  static constexpr std::size_t blocks_per_update = 64;
  static constexpr std::size_t max_blocks_per_update = 1024;

  /// The result of a change, and the number of retired blocks that a snapshot sees.
  template <class T>
  struct counted_answer {
    T value;
    std::size_t retired;
  };
  struct counted_end {
    std::size_t retired;
  };
  /// Returns a function that calls `f`, and counts the blocks that it retires. Its call is const if
  /// that of `f` is.
  template <class F>
  static auto counted(F&& f) {
    using function = std::decay_t<F>;
    const auto call = [](auto& each, Tree& t) {
      const auto before = t.kept_now();
      if constexpr (std::is_void_v<std::invoke_result_t<decltype(each), Tree&>>) {
        each(t);
        return counted_end{t.kept_since(before)};
      } else {
        auto value = each(t);
        return counted_answer<decltype(value)>{value, t.kept_since(before)};
      }
    };
    if constexpr (std::is_invocable_v<const function&, Tree&>) {
      return [f = function(std::forward<F>(f)), call](Tree& t) { return call(f, t); };
    } else {
      return [f = function(std::forward<F>(f)), call](Tree& t) mutable { return call(f, t); };
    }
  }

  /// Calls `attempt`. If it lacks space that dropped snapshots have, frees that and tries again.
  template <class Attempt>
  auto retry_after_reclaim(Attempt&& attempt) {
    constexpr int max_attempts = 4;  // others may use what came back
    for (int i = 1;; ++i) {
      const std::uint64_t before = dropped_->rounds();
      try {
        return attempt();
      } catch (const out_of_space&) {
        collect();
        if (i == max_attempts || dropped_->rounds() == before) throw;
      }
    }
  }

  enum class reclaim_outcome { nothing_there, some_done, no_room };

  /// Frees blocks before an update, in proportion to the blocks that the last updates retired.
  void reclaim_some() {
    std::size_t retired = retired_.load(std::memory_order_relaxed);
    if (retired != 0) retired = retired_.exchange(0, std::memory_order_relaxed);
    if (dropped_->any())
      reclaim(blocks_per_update + 2 * retired, blocks_per_update + dropped_->open());
  }
  /// Closes dropped snapshots, and frees about `limit` blocks that they kept, in an update of its
  /// own. Frees fewer if there is no room for that.
  reclaim_outcome reclaim(std::size_t limit, std::size_t spare) {
    closing now(*dropped_);
    if (now.empty()) return reclaim_outcome::nothing_there;
    for (; limit != 0; limit /= 4) {
      try {
        now.note(manager().update(named(), [these = now.snapshots(), limit, spare](Tree& t) {
          return close_in(t, these, limit, spare);
        }));
        return reclaim_outcome::some_done;
      } catch (const out_of_space&) {
        continue;
      }
    }
    return reclaim_outcome::no_room;
  }
  static auto close_in(Tree& t, const typename closing::several& these, std::size_t limit,
                       std::size_t spare) {
    typename closing::progress made;
    for (; made.done < these.count && limit != 0; ++made.done) {
      const auto& each = these.of.at(made.done);
      made.is_next_closed = !t.release_snapshot(each.which, each.is_closed, limit);
      if (made.is_next_closed) break;
    }
    t.sweep_snapshots(spare);
    return made;
  }

  [[nodiscard]] std::shared_ptr<held> last_known();
  [[nodiscard]] std::shared_ptr<held> share(std::unique_ptr<held> one);

  std::unique_ptr<Manager> manager_;
  tx::root<Tree> tree_;
  [[no_unique_address]] order_type order_;
  std::shared_ptr<dropped> dropped_ = std::make_shared<dropped>();
  std::atomic<std::size_t> retired_{0};  // blocks that snapshots see, by the last updates
  std::mutex latest_mutex_;
  std::weak_ptr<held> latest_;
};

/// The keys and values at one point in time. Copies refer to the same snapshot.
template <class Manager, class Tree>
class managed_tree<Manager, Tree>::snapshot {
 public:
  /// Returns true if the snapshot has `key`. Wait-free if the manager's reads are, as are get() and
  /// read().
  [[nodiscard]] bool contains(view_of<key_type> key) const {
    return read([&](const auto& content) { return content.contains(key); });
  }
  [[nodiscard]] std::optional<mapped_type> get(view_of<key_type> key) const {
    std::optional<mapped_type> found;
    read([&](const auto& content) {
      if (const auto there = content.get(key)) found.emplace(*there);
    });
    return found;
  }
  /// Runs f(const Tree::content&) as one operation of the manager, without copies.
  template <class F>
  auto read(F&& f) const {
    return in_->read([&](const Tree& t) { return f(t.at(held_->which, in_->order())); });
  }
  [[nodiscard]] std::size_t size() const noexcept { return held_->which.count; }
  /// Returns an iterator at the first key.
  [[nodiscard]] iterator iterate() const {
    iterator made(*this);
    made.seek_to_first();
    return made;
  }

 private:
  friend managed_tree;
  friend iterator;

  snapshot(managed_tree& in, std::shared_ptr<held> which) : in_(&in), held_(std::move(which)) {}

  managed_tree* in_;
  std::shared_ptr<held> held_;
};

template <class Manager, class Tree>
auto managed_tree<Manager, Tree>::take_snapshot() -> snapshot {
  if (tx::detail::current() != nullptr) {
    throw error(errc::refused, "", "a snapshot is taken inside of a transaction; take it before");
  }
  std::shared_ptr<held> known = last_known();
  if (known != nullptr &&
      manager().read(named(), [&](const Tree& t) { return t.is_latest(known->which); })) {
    return {*this, std::move(known)};
  }
  reclaim_some();
  auto made = std::make_unique<held>();
  made->which = retry_after_reclaim(
      [this] { return manager().update(named(), [](Tree& t) { return t.open_snapshot(); }); });
  dropped_->note_open();
  return {*this, share(std::move(made))};
}

/// Returns the last snapshot if a handle has it, or if it is dropped and not closed yet; otherwise
/// nullptr.
template <class Manager, class Tree>
auto managed_tree<Manager, Tree>::last_known() -> std::shared_ptr<held> {
  {
    const std::lock_guard lock(latest_mutex_);
    if (std::shared_ptr<held> latest = latest_.lock()) return latest;
  }
  std::unique_ptr<held> last = dropped_->take_latest();
  return last == nullptr ? nullptr : share(std::move(last));
}

template <class Manager, class Tree>
auto managed_tree<Manager, Tree>::share(std::unique_ptr<held> one) -> std::shared_ptr<held> {
  std::shared_ptr<held> shared(
      one.release(), [to = dropped_](held* gone) { to->drop(std::unique_ptr<held>(gone)); });
  const std::lock_guard lock(latest_mutex_);
  latest_ = shared;
  return shared;
}

/// A position in a snapshot, which the iterator keeps open. It has copies of some entries around
/// the position in ordinary memory: at most 64, or as many as fit into 64 KiB. It holds no lock and
/// no replica.
template <class Manager, class Tree>
class managed_tree<Manager, Tree>::iterator {
 public:
  /// An iterator at no key.
  explicit iterator(const snapshot& of) : in_(of) {}

  /// Returns true if the iterator is at a key. Otherwise only seek functions may be called.
  [[nodiscard]] bool is_valid() const noexcept { return at_ < near_.size(); }
  /// Returns the key. The view is valid until the iterator is moved, as is that of value().
  [[nodiscard]] view_of<key_type> key() const { return near_.key(at_); }
  [[nodiscard]] view_of<mapped_type> value() const { return near_.value(at_); }

  void seek_to_first() {
    begin_seek();
    load_up([](const auto& content, auto& take) { content.ascend(take); });
  }
  void seek_to_last() {
    begin_seek();
    load_down([](const auto& content, auto& take) { content.descend(take); });
  }
  /// Moves to the first key that is not less than `key`.
  void seek(view_of<key_type> key) {
    begin_seek();
    load_up([&](const auto& content, auto& take) { content.ascend_from(key, take); });
  }
  /// Moves to the last key that is not greater than `key`.
  void seek_back(view_of<key_type> key) {
    begin_seek();
    load_down([&](const auto& content, auto& take) { content.descend_from(key, take); });
  }
  /// Moves to the next key, or to no key after the last one. Requires: is_valid().
  void next() {
    if (goes_down_ ? at_ > 0 : at_ + 1 < near_.size()) {
      at_ = goes_down_ ? at_ - 1 : at_ + 1;
      return;
    }
    const key_type last(near_.key(goes_down_ ? 0 : near_.size() - 1));
    load_up([&](const auto& content, auto& take) {
      content.ascend_after(last, take);
      require_order(last, last_read());
    });
  }
  /// Moves to the previous key, or to no key before the first one. Requires: is_valid().
  void prev() {
    if (goes_down_ ? at_ + 1 < near_.size() : at_ > 0) {
      at_ = goes_down_ ? at_ + 1 : at_ - 1;
      return;
    }
    const key_type first(near_.key(goes_down_ ? near_.size() - 1 : 0));
    load_down([&](const auto& content, auto& take) {
      content.descend_before(first, take);
      require_order(last_read(), first);
    });
  }

 private:
  static constexpr std::size_t min_entries = 4;
  static constexpr std::size_t max_entries = 64;
  static constexpr std::size_t max_bytes = std::size_t{64} << 10;

  void begin_seek() noexcept { entries_per_read_ = min_entries; }

  /// Reads the next entries in the direction of `walk`.
  template <class Walk>
  void load(Walk&& walk) {
    near_.clear();
    at_ = 0;
    auto take = [&](view_of<key_type> key, view_of<mapped_type> value) {
      near_.add(key, value);
      return near_.size() < entries_per_read_ && near_.bytes() < max_bytes;
    };
    try {
      in_.read([&](const auto& content) { walk(content, take); });
    } catch (...) {
      near_.clear();  // it is at no key
      throw;
    }
    entries_per_read_ = std::min(max_entries, 2 * entries_per_read_);
  }
  [[nodiscard]] std::optional<key_type> last_read() const {
    if (near_.size() == 0) return std::nullopt;
    return key_type(near_.key(near_.size() - 1));
  }
  /// Throws corruption if `low` is not less than `high`: in a damaged tree steps could run in a
  /// circle.
  void require_order(const std::optional<key_type>& low, const std::optional<key_type>& high) {
    if (!low || !high || in_.in_->order()(*low, *high)) return;
    tx::detail::refuse_damage("keys of a tree are out of order");
  }
  template <class Walk>
  void load_up(Walk&& walk) {
    load(walk);
    goes_down_ = false;
  }
  template <class Walk>
  void load_down(Walk&& walk) {
    load(walk);
    goes_down_ = true;
  }

  snapshot in_;
  detail::copied_entries<key_type, mapped_type> near_;  // in the order in which they were read
  bool goes_down_ = false;                              // they descend
  std::size_t at_ = 0;                                  // in near_
  std::size_t entries_per_read_ = min_entries;
};

}  // namespace outlast::containers
