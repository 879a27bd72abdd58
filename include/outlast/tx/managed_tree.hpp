// A B+-tree in a manager of its own, with snapshots and iterators that hold no lock and no replica.
//
//   outlast::tx::managed_tree<outlast::tx::left_right<>,
//       outlast::tx::seq::bplus_tree<std::string, std::string>> all(pool, "all");
//   all.put("key", "value");
//   const auto then = all.take_snapshot();
//   all.erase("key");
//   for (auto at = then.iterate(); at.is_valid(); at.next()) show(at.key(), at.value());
//
// What a snapshot sees: the keys and values of one moment between the call and the return of
// take_snapshot(), whatever is done afterwards. How long: until its last copy and its last iterator
// are gone, and no longer than the tree's object; a crash or a reopening ends all.
//
// What it costs: one update, unless nothing has changed since the last one: then a read. Then for
// each page that it sees the first change afterwards copies that, and a string above 16 bytes
// that is replaced or erased stays where it was. So the space of what it sees and the tree does not
// hold any more, once, however many snapshots see it. Reading it flushes nothing and waits for
// nobody, if the manager's reads do not: each step of an iterator is one of these, or a look at
// what the last one has brought.
//
// When its space comes back: the updates that follow the end of a snapshot give back 64 blocks
// each, collect() all at once. What the snapshots of a process held when it ended, or crashed,
// comes back in the same way from the next opening on.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/base/fork_locks.hpp>
#include <outlast/tx/detail/copied_entries.hpp>
#include <outlast/tx/managed_map.hpp>
#include <outlast/tx/options.hpp>
#include <outlast/tx/seq/detail/stored.hpp>
#include <outlast/tx/transaction.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::tx {

namespace detail {

/// The snapshots of a tree that nobody has any more, until an update closes them.
/// Thread-safety: all members may be called concurrently.
template <class Snapshot>
class dropped_snapshots {
 public:
  /// A snapshot that somebody has. Made before it is opened: to drop it takes no memory.
  struct held {
    Snapshot which;
    std::unique_ptr<held> next;
  };

  dropped_snapshots() = default;
  ~dropped_snapshots() {
    if (is_parents()) {
      (void)first_.release();
      return;
    }
    while (take_one() != nullptr) continue;  // not one by the destructor of the one before
  }
  dropped_snapshots(const dropped_snapshots&) = delete;
  dropped_snapshots& operator=(const dropped_snapshots&) = delete;

  void drop(std::unique_ptr<held> gone) noexcept {
    if (is_parents()) {
      (void)gone.release();
      return;
    }
    const std::lock_guard lock(mutex_);
    gone->next = std::move(first_);
    first_ = std::move(gone);
    any_.store(true, std::memory_order_relaxed);
  }
  /// Null: there is none.
  [[nodiscard]] std::unique_ptr<held> take_one() noexcept {
    if (is_parents()) return nullptr;
    const std::lock_guard lock(mutex_);
    std::unique_ptr<held> taken = std::move(first_);
    if (taken != nullptr) first_ = std::move(taken->next);
    return taken;
  }

  /// May there be some, or blocks that such have kept?
  [[nodiscard]] bool any() const noexcept { return any_.load(std::memory_order_relaxed); }
  void set_any(bool any) noexcept { any_.store(any, std::memory_order_relaxed); }

 private:
  /// In the child of a fork, where the mutex may be held for ever.
  [[nodiscard]] bool is_parents() const noexcept { return made_in_ != base::forks_until_now(); }

  std::uint64_t made_in_ = base::forks_until_now();
  std::mutex mutex_;
  std::unique_ptr<held> first_;
  std::atomic<bool> any_{false};
};

}  // namespace detail

/// `Tree` is a seq::bplus_tree, `Manager` an engine; the rest as managed_map.
///
/// An order of run time is given when the tree is attached; what it refers to lives as long as the
/// tree's object. Another one than the tree's own finds keys no more: check() tells.
///
/// Thread-safety: all members may be called concurrently; so may those of one snapshot. An iterator
/// is used by one thread at a time. Progress: the manager's, but that a snapshot locks mutexes when
/// it is taken and when it ends; the first one after a change is taken by an update. Durability:
/// the manager's. Snapshots are volatile.
template <class Manager, class Tree>
class managed_tree : private managed_map<Manager, Tree> {
  using base_type = managed_map<Manager, Tree>;
  using dropped = detail::dropped_snapshots<typename Tree::snapshot>;
  using held = typename dropped::held;
  template <class T>
  using view_of = seq::detail::view_of<T>;

 public:
  using typename base_type::key_type;
  using typename base_type::mapped_type;
  using typename base_type::policy_type;
  using typename base_type::pool_type;
  using order_type = typename Tree::order_type;
  class snapshot;
  class iterator;

  /// Attaches the manager `name`; creates it if there is none. Snapshots of an earlier process are
  /// closed; what they kept is given back by the updates that follow. Not so if `is_damaged`: then
  /// it is only to be read, with visit_readable(). Throws what Manager's constructor, root() and
  /// update() throw.
  managed_tree(pool_type& pool, std::string_view name, const options& wanted = {},
               order_type order = order_type(), bool is_damaged = false)
      : base_type(pool, name, wanted), order_(order) {
    if (is_damaged) return;
    if (!manager().read(named(), [](const Tree& t) { return t.keeps_versions(); })) return;
    if (!manager().read(named(), [](const Tree& t) { return t.keeps_sound_versions(); })) {
      throw corruption(pool.path(), "what the tree '" + std::string(name) +
                                        "' keeps for snapshots is damaged; restore a backup");
    }
    manager().update(named(), [](Tree& t) { t.close_all_snapshots(); });
    dropped_->set_any(true);
  }

  /// As the tree's. Durable at return. Throw out_of_space without effect.
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
  /// f(Tree&) as one operation, for several changes at once. As Manager::update().
  template <std::invocable<Tree&> F>
  auto change(F&& f) {
    tidy();
    return manager().update(named(), std::forward<F>(f));
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
  /// Calls `visit(key, value)` for each key of one moment; views are valid during the call.
  template <class Visit>
  void for_each(Visit&& visit) {
    read([&](const Tree& t) { t.for_each(visit, order_); });
  }
  /// f(const Tree&) as one operation, on the caller's thread. As Manager::read().
  template <std::invocable<const Tree&> F>
  auto read(F&& f) {
    return manager().read(named(), std::forward<F>(f));
  }
  /// The first invariant of the tree that is violated; "" if there is none. Visits everything.
  [[nodiscard]] std::string check() {
    std::string wrong;
    read([&](const Tree& t) { wrong = t.check(order_); });
    return wrong;
  }
  [[nodiscard]] order_type order() const { return order_; }

  using base_type::blocks_besides;
  using base_type::manager;
  using base_type::named;
  using base_type::size;

  /// What it holds now, to be read later. Takes an update, which is durable at return, unless
  /// nothing has changed since the last one: then a read. Throws out_of_space, std::bad_alloc;
  /// inside of an operation, which could be taken back, error{refused}.
  [[nodiscard]] snapshot take_snapshot();

  /// Gives back all that only dropped snapshots have kept, in several updates. False if there was
  /// no room for what it takes to hand a block on to an older snapshot. Does nothing inside of an
  /// operation.
  bool collect() {
    while (dropped_->any() && detail::current() == nullptr) {
      if (!tidy()) return false;
    }
    return true;
  }

 private:
  /// Closes snapshots that were dropped, and gives back some of what they kept, in an update of its
  /// own. Nothing happens, and it answers false, where there is no room for it.
  bool tidy() {
    if (!dropped_->any() || detail::current() != nullptr) return true;
    dropped_->set_any(false);
    closing now(*dropped_);
    try {
      const bool more = manager().update(named(), [these = now.snapshots()](Tree& t) {
        for (std::size_t i = 0; i < these.count; ++i) t.close_snapshot(these.of.at(i));
        return t.reap(at_once);
      });
      now.closed();
      if (more) dropped_->set_any(true);
      return true;
    } catch (const out_of_space&) {
      dropped_->set_any(true);
      return false;
    } catch (...) {
      dropped_->set_any(true);
      throw;
    }
  }

  [[nodiscard]] std::shared_ptr<held> last_known();
  [[nodiscard]] std::shared_ptr<held> share(std::unique_ptr<held> one);

  static constexpr std::size_t at_once = 64;

  struct several {
    std::size_t count = 0;
    std::array<typename Tree::snapshot, 16> of{};
  };

  /// Dropped snapshots that are being closed. Those that are not closed are dropped again.
  class closing {
   public:
    explicit closing(dropped& from) : from_(from) {
      while (count_ < taken_.size() && (taken_.at(count_) = from_.take_one()) != nullptr) ++count_;
    }
    ~closing() {
      const bool full = count_ == taken_.size();
      for (std::unique_ptr<held>& each : taken_) {
        if (each != nullptr) from_.drop(std::move(each));
      }
      if (full) from_.set_any(true);  // there may be others
    }
    closing(const closing&) = delete;
    closing& operator=(const closing&) = delete;

    [[nodiscard]] several snapshots() const {
      several all{.count = count_};
      for (std::size_t i = 0; i < count_; ++i) all.of.at(i) = taken_.at(i)->which;
      return all;
    }
    void closed() noexcept {
      for (std::unique_ptr<held>& each : taken_) each.reset();
    }

   private:
    dropped& from_;
    std::array<std::unique_ptr<held>, 16> taken_;
    std::size_t count_ = 0;
  };

  [[no_unique_address]] order_type order_;
  std::shared_ptr<dropped> dropped_ = std::make_shared<dropped>();
  std::mutex latest_mutex_;
  std::weak_ptr<held> latest_;
};

/// The keys and values of one moment. Copies are the same snapshot.
template <class Manager, class Tree>
class managed_tree<Manager, Tree>::snapshot {
 public:
  /// Wait-free if the manager's reads are.
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
  /// f(const Tree::content&) as one operation of the manager, without copies.
  template <class F>
  auto read(F&& f) const {
    return in_->read([&](const Tree& t) { return f(t.at(held_->which, in_->order())); });
  }
  [[nodiscard]] std::size_t size() const noexcept { return held_->which.count; }
  /// An iterator at the first key.
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
  if (detail::current() != nullptr) {
    throw error(errc::refused, "", "a snapshot is taken inside of a transaction; take it before");
  }
  std::shared_ptr<held> known = last_known();
  if (known != nullptr &&
      manager().read(named(), [&](const Tree& t) { return t.is_latest(known->which); })) {
    return {*this, std::move(known)};
  }
  tidy();
  auto made = std::make_unique<held>();
  made->which = manager().update(named(), [](Tree& t) { return t.open_snapshot(); });
  return {*this, share(std::move(made))};
}

/// One that somebody has, or had and is not closed yet. Null: nobody has.
template <class Manager, class Tree>
auto managed_tree<Manager, Tree>::last_known() -> std::shared_ptr<held> {
  {
    const std::lock_guard lock(latest_mutex_);
    if (std::shared_ptr<held> latest = latest_.lock()) return latest;
  }
  std::unique_ptr<held> last = dropped_->take_one();
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

/// A place in a snapshot, which it keeps. It holds copies of some entries about that place, at most
/// 64 or as many as have 64 KiB, in ordinary memory, and nothing else: no lock, and no replica.
template <class Manager, class Tree>
class managed_tree<Manager, Tree>::iterator {
 public:
  /// Nowhere.
  explicit iterator(const snapshot& of) : in_(of) {}

  /// Is it at a key? Otherwise only seeking is allowed.
  [[nodiscard]] bool is_valid() const noexcept { return at_ < near_.size(); }
  /// Valid until the iterator is moved.
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
  /// To the first key that is not less than `key`.
  void seek(view_of<key_type> key) {
    begin_seek();
    load_up([&](const auto& content, auto& take) { content.ascend_from(key, take); });
  }
  /// To the last key that is not greater than `key`.
  void seek_back(view_of<key_type> key) {
    begin_seek();
    load_down([&](const auto& content, auto& take) { content.descend_from(key, take); });
  }
  /// To the key behind, or nowhere.
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
  /// To the key before, or nowhere.
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
  static constexpr std::size_t fewest = 4;
  static constexpr std::size_t most = 64;
  static constexpr std::size_t most_bytes = std::size_t{64} << 10;

  void begin_seek() noexcept { at_once_ = fewest; }

  /// Reads the next entries in the direction of `walk`.
  template <class Walk>
  void load(Walk&& walk) {
    near_.clear();
    at_ = 0;
    auto take = [&](view_of<key_type> key, view_of<mapped_type> value) {
      near_.add(key, value);
      return near_.size() < at_once_ && near_.bytes() < most_bytes;
    };
    try {
      in_.read([&](const auto& content) { walk(content, take); });
    } catch (...) {
      near_.clear();  // it is nowhere
      throw;
    }
    at_once_ = std::min(most, 2 * at_once_);
  }
  [[nodiscard]] std::optional<key_type> last_read() const {
    if (near_.size() == 0) return std::nullopt;
    return key_type(near_.key(near_.size() - 1));
  }
  /// In a tree whose keys are out of order steps could run in a circle.
  void require_order(const std::optional<key_type>& low, const std::optional<key_type>& high) {
    if (!low || !high || in_.in_->order()(*low, *high)) return;
    detail::refuse_damage("keys of a tree are out of order");
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
  std::size_t at_once_ = fewest;
};

}  // namespace outlast::tx
