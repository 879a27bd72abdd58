// An ordered map in transactions, as a B+-tree with snapshots: multi-version concurrency control.
//
//   using ledger = outlast::containers::bplus_tree<std::string, std::string>;
//   const auto then = bank.update(all, [](ledger& at) { return at.open_snapshot(); });
//   bank.update(all, [](ledger& at) { at.put("key", "other"); });
//   bank.read(all, [=](const ledger& at) { at.at(then).for_each(show); });  // the old value
//
// When to use: ranges in order, or reads of old versions during updates; managed_tree.hpp has
// handles and iterators for both. When not to: hash_map finds a key with fewer cache misses, and
// red_black_tree moves no separators.
//
// A leaf has its byte strings in blocks of their own, key and value in one block. A page has an
// array of four bytes of each key, those after the common prefix of all keys: most searches read
// only one whole key.
//
// Without snapshots pages are changed in place. A snapshot is a version number: pages of an older
// version are copied once before they are changed, from the root down (copy-on-write). The snapshot
// keeps the old pages and strings, which are freed when no snapshot sees them: detail/versions.hpp.
#pragma once

#include <outlast/containers/detail/bplus_page.hpp>
#include <outlast/containers/detail/stored.hpp>
#include <outlast/containers/detail/stored_names.hpp>
#include <outlast/containers/detail/versions.hpp>
#include <outlast/root/storable.hpp>
#include <outlast/tx/field.hpp>
#include <outlast/tx/transaction.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace outlast::containers {

namespace detail {

/// The maximum for which the order of a page's items fits into its first line.
template <class Key>
inline constexpr std::size_t default_fanout = std::is_same_v<Key, std::string> ? 47 : 31;

}  // namespace detail

/// Sequential code, an object of a transaction manager. Key and Value are trivially copyable, or
/// std::string for byte strings of less than 4 GiB. Strings are passed and returned as
/// std::string_view. A view is valid inside the transaction, until the tree changes. `Less` orders
/// keys; the default orders strings as unsigned bytes. Pages have up to `Fanout` items.
///
/// An order that is chosen at run time is an object of `Less`, the last argument of the members
/// that need it. A `Less` without a default constructor makes the argument mandatory. It is
/// volatile, and copied into closures. Requires: it is the same order each time; check() reports a
/// difference. A member `between(low, high)` shortens separators: it returns a view of a key k with
/// low < k and not high < k.
///
/// Invariants:
///   I1  keys strictly increase in a leaf, and are between the separators of the pages above it.
///   I2  all leaves are equally far from the root.
///   I3  each page except the root has at least a quarter of `Fanout` items; an inner root has two.
///   I4  a snapshot that sees a page sees all pages and strings below it.
///   I5  pages whose keys are ordered by their bytes have the heads of their keys.
/// No checksum protects the tree, so a damaged file can contain any values. Each link is checked
/// before it is followed: all members throw corruption for a page that is impossible.
/// A member that throws out_of_space may have changed part of the tree. The operation must then end
/// with the exception, which undoes all its changes. While snapshots are open erase() can throw it.
template <class Key, class Value, class Less = roots::default_order<Key>,
          std::size_t Fanout = detail::default_fanout<Key>>
class bplus_tree {
  using key_view = detail::view_of<Key>;
  using value_view = detail::view_of<Value>;
  using header = detail::page_header;
  using leaf = detail::leaf_page<Key, Value, Fanout>;
  using inner = detail::inner_page<Key, Fanout>;

 public:
  using key_type = Key;
  using mapped_type = Value;
  using order_type = Less;
  class content;

  /// A version of the tree that stays readable. Trivially copyable. It is invalid outside the
  /// manager, and after close_snapshot() or a reopening.
  struct snapshot {
    std::uint64_t at = 0;      ///< the version
    std::uint64_t holder = 0;  ///< in a replica
    std::uint64_t root = 0;    ///< in a replica; 0: it is empty
    std::uint64_t count = 0;   ///< of keys
  };

  /// Adds an entry. Returns false, without a change, if the key exists. Throws out_of_space.
  bool insert(key_view key, value_view value, Less order = Less()) {
    if (contains(key, order)) return false;
    enter(detail::steady<Key>(key), detail::steady<Value>(value), order);
    return true;
  }
  /// Sets the value of a key. Returns true if the key is new. Throws out_of_space.
  bool put(key_view key, value_view value, Less order = Less()) {
    return enter(detail::steady<Key>(key), detail::steady<Value>(value), order);
  }
  /// Replaces the value of a key. Returns false if the key does not exist. Throws out_of_space.
  bool update(key_view key, value_view value, Less order = Less()) {
    if (!contains(key, order)) return false;
    enter(detail::steady<Key>(key), detail::steady<Value>(value), order);
    return true;
  }
  /// Removes a key. Returns false if it does not exist. Throws out_of_space.
  bool erase(key_view key, Less order = Less()) {
    if (!contains(key, order)) return false;
    remove(detail::steady<Key>(key), order);
    return true;
  }

  /// Returns the current content. It is valid until the tree changes.
  [[nodiscard]] content now(Less order = Less()) const { return {root_, count_, order}; }
  /// Returns the content of a snapshot. Requires: the snapshot is open.
  [[nodiscard]] content at(const snapshot& of, Less order = Less()) const {
    const std::byte* const replica = tx::running().replica();
    return {of.root == 0 ? nullptr : reinterpret_cast<const header*>(replica + of.root), of.count,
            order};
  }

  // The members of now().
  [[nodiscard]] bool contains(key_view key, Less order = Less()) const {
    return now(order).contains(key);
  }
  [[nodiscard]] std::optional<detail::copy_of<Value>> get(key_view key, Less order = Less()) const {
    return now(order).get(key);
  }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  template <class Visit>
  void for_each(Visit&& visit, Less order = Less()) const {
    now(order).for_each(visit);
  }

  /// Opens a snapshot. It costs a block of 32 bytes. Later it costs the old copy of each page, and
  /// the block of each string, that it sees and that is changed, once for all snapshots. Throws
  /// out_of_space.
  [[nodiscard]] snapshot open_snapshot() {
    detail::holder* const opened = versions_.open();
    return {opened->at(), offset_of(opened), root_ == nullptr ? 0 : offset_of(root_), count_};
  }
  /// Closes a snapshot. Must be called once for each open_snapshot(). reap() frees its blocks.
  void close_snapshot(const snapshot& of) {
    versions_.close(*reinterpret_cast<detail::holder*>(tx::running().replica() + of.holder));
  }
  /// Closes a snapshot, and frees up to `limit` blocks that only it has kept, and subtracts their
  /// number from `limit`. Returns false if some are left. The caller must then call again with
  /// `is_closed`, and must not call reap() before. The cost does not depend on the number of open
  /// snapshots. Throws out_of_space.
  bool release_snapshot(const snapshot& of, bool is_closed, std::size_t& limit) {
    auto& at = *reinterpret_cast<detail::holder*>(tx::running().replica() + of.holder);
    return versions_.release(at, is_closed, limit);
  }
  /// Frees the blocks of 32 bytes that release_snapshot() leaves while newer snapshots are open, if
  /// there are more than `spare`. Visits all open snapshots.
  void sweep_snapshots(std::size_t spare) { versions_.sweep(spare); }
  /// Returns true if sweep_snapshots() can have blocks to free.
  [[nodiscard]] bool keeps_closed() const noexcept { return versions_.any_closed(); }
  /// Closes all snapshots, which an earlier process has left. Must be called first after a
  /// reopening. Returns one closed snapshot that keeps the blocks of all; its holder is 0 if there
  /// are none. release_snapshot() with that snapshot, or reap(), frees these.
  snapshot close_all_snapshots() {
    const detail::holder* const left = versions_.close_all();
    return left == nullptr ? snapshot{} : snapshot{left->at(), offset_of(left), 0, 0};
  }
  /// Frees about `limit` blocks that only closed snapshots keep. Returns true if there may be more.
  /// Visits all open snapshots. Throws out_of_space.
  bool reap(std::size_t limit) { return versions_.reap(limit); }
  /// Returns true if there are snapshots that are open, or closed and not reaped yet.
  [[nodiscard]] bool keeps_versions() const noexcept { return versions_.any(); }
  /// Returns true if the lists of blocks that snapshots keep are sound. The tree may be damaged.
  [[nodiscard]] bool keeps_sound_versions() const { return versions_.is_sound(); }
  /// Returns how many blocks that a snapshot sees the running operation has retired since `then`.
  [[nodiscard]] detail::versions::mark kept_now() const { return versions_.kept_now(); }
  [[nodiscard]] std::size_t kept_since(const detail::versions::mark& then) const {
    return versions_.kept_since(then);
  }
  /// Returns true if nothing has changed since the snapshot was opened.
  [[nodiscard]] bool is_latest(const snapshot& of) const noexcept {
    return versions_.is_latest(of.at);
  }

  /// Returns the first violated invariant; "" if there is none. Visits all pages, and follows no
  /// pointer out of the replica.
  [[nodiscard]] std::string check(Less order = Less()) const;
  /// Calls `visit(key, value)` for each entry that can be reached although pages or strings may be
  /// damaged, in ascending order if none is. Follows no pointer out of the replica, or in a circle.
  template <class Visit>
  void visit_readable(Visit&& visit) const {
    std::size_t pages_left = tx::running().bytes() / sizeof(leaf);
    visit_readable(root_.get(), detail::pages_of_replica(), max_levels, pages_left, visit);
  }
  /// Returns the number of blocks of the tree, including those that snapshots keep. Visits all.
  [[nodiscard]] std::size_t blocks() const {
    return versions_.blocks() + (root_ == nullptr ? 0 : blocks_below(root_at(root_.get())));
  }
  /// Returns the bytes of the blocks that snapshots keep, until they are closed and reaped. Visits
  /// them.
  [[nodiscard]] std::size_t bytes_kept() const { return versions_.bytes(); }

 private:
  static constexpr std::size_t least = Fanout / 4;
  /// A height that no tree reaches.
  static constexpr std::uint32_t max_levels = 64;

  [[nodiscard]] static bool is_leaf(const header& at) noexcept { return at.level == 0; }
  [[nodiscard]] static leaf& as_leaf(header* at) noexcept { return *static_cast<leaf*>(at); }
  [[nodiscard]] static inner& as_inner(header* at) noexcept { return *static_cast<inner*>(at); }
  [[nodiscard]] static const leaf& as_leaf(const header* at) noexcept {
    return *static_cast<const leaf*>(at);
  }
  [[nodiscard]] static const inner& as_inner(const header* at) noexcept {
    return *static_cast<const inner*>(at);
  }
  [[nodiscard]] static std::size_t size_of(const header* at) {
    return is_leaf(*at) ? as_leaf(at).size() : as_inner(at).size();
  }
  [[nodiscard]] static std::uint64_t offset_of(const void* at) {
    return tx::running().offset_of(at);
  }

  // The page of a link, if it has the height that is expected there: so no path down runs in a
  // circle, or is longer than the height of the tree.

  [[noreturn, gnu::cold, gnu::noinline]] static void refuse() {
    tx::detail::refuse_damage("what should be a page of a tree is none");
  }
  template <class Header>
  static Header* require_page(Header* at, std::uint32_t level) {
    if (at->level != level || size_of(at) == 0) [[unlikely]]
      refuse();
    return at;
  }
  /// Prefetches the lines of a page that will be searched.
  template <class Header>
  static Header* page_at(Header* at, std::uint32_t level, bool is_searched = false) {
    const std::size_t room = tx::detail::room_at(tx::running(), at);
    if (room < (level == 0 ? sizeof(leaf) : sizeof(inner))) [[unlikely]]
      refuse();
    if (is_searched) level == 0 ? as_leaf(at).expect() : as_inner(at).expect();
    return require_page(at, level);
  }
  template <class Header>
  static Header* root_at(Header* at) {
    if (tx::detail::room_at(tx::running(), at) < sizeof(header) || at->level >= max_levels)
        [[unlikely]] {
      refuse();
    }
    return page_at(at, at->level);
  }
  /// The child at place `i`.
  [[nodiscard]] static header* child_at(const inner& in, std::size_t i, bool is_searched = false) {
    return page_at(in.item(i).child.get(), in.level - 1, is_searched);
  }

  /// Returns true if keys are ordered by their bytes, so that pages have their heads.
  [[nodiscard]] static bool is_by_bytes([[maybe_unused]] Less order) noexcept {
    if constexpr (!std::is_same_v<Key, std::string>) {
      return false;
    } else if constexpr (requires { order.is_by_bytes(); }) {
      return order.is_by_bytes();
    } else {
      return std::is_same_v<Less, roots::default_order<Key>>;
    }
  }

  /// The first place from `first` on whose key is not less than `key`; or greater than it, if
  /// `beyond`. The key begins with `shared` bytes of all the page's.
  template <class Page>
  [[nodiscard]] static std::size_t place_of(const Page& in, key_view key, bool beyond, Less order,
                                            std::size_t first = 0, std::size_t shared = 0) {
    if constexpr (Page::has_heads) {
      if (is_by_bytes(order))
        return place_in(in, in.narrow(key, first, shared), key, beyond, order);
    }
    return place_in(in, {first, in.size()}, key, beyond, order);
  }
  /// The same in some places.
  template <class Page>
  [[nodiscard]] static std::size_t place_in(const Page& in, detail::place_range of, key_view key,
                                            bool beyond, Less order) {
    while (of.first < of.last) {
      const std::size_t middle = of.first + (of.last - of.first) / 2;
      const key_view found = in.item(middle).key();
      if (beyond ? !order(key, found) : order(found, key)) {
        of.first = middle + 1;
      } else {
        of.last = middle;
      }
    }
    return of.first;
  }
  [[nodiscard]] static std::size_t child_of(const inner& in, key_view key, Less order) {
    return place_of(in, key, true, order, 1) - 1;
  }
  /// The length of the common prefix of all keys that belong into the child at place `i`: that of
  /// the separators around it.
  [[nodiscard]] static std::size_t shared_below([[maybe_unused]] const inner& in,
                                                [[maybe_unused]] std::size_t i) {
    if constexpr (leaf::has_heads) {
      if (i > 0 && i + 1 < in.size()) {
        const key_view from = in.item(i).key();
        return detail::common_prefix(from, in.item(i + 1).key(), from.size());
      }
    }
    return 0;
  }
  /// Where the key is; size() if it is not there.
  [[nodiscard]] static std::size_t find_in(const leaf& in, key_view key, Less order) {
    detail::place_range of{0, in.size()};
    if constexpr (leaf::has_heads) {
      if (is_by_bytes(order)) of = in.alike(key);
    }
    if (of.first == of.last) return in.size();
    in.item(of.first).expect();
    const std::size_t i = place_in(in, of, key, false, order);
    return i == of.last || order(key, in.item(i).key()) ? in.size() : i;
  }

  bool enter(key_view key, value_view value, Less order);
  bool enter_first(key_view key, value_view value, Less order);
  [[nodiscard]] leaf& split_way_to(key_view key, Less order);
  void remove(key_view key, Less order);
  [[nodiscard]] leaf& own_way_to(key_view key, Less order);

  /// Returns the page `at` of `link`, or the copy that replaces it if a snapshot sees it.
  header* own(tx::pointer<header>& link, header* at, Less order) {
    if (!versions_.is_seen(at->born)) return at;
    header* const made = is_leaf(*at) ? copy_of(as_leaf(at), order) : copy_of(as_inner(at), order);
    link = made;
    versions_.retire(at, at->born);
    return made;
  }
  header* own_root(Less order) { return own(root_, root_at(root_.get()), order); }
  header* own_child(inner& in, std::size_t i, Less order) {
    header* const child = child_at(in, i, true);
    return own(in.item(i).child, child, order);
  }
  template <class Page>
  [[nodiscard]] header* copy_of(const Page& from, Less order) {
    Page* const made = Page::make(versions_, from.level);
    made->copy_from(from, 0, is_by_bytes(order));
    return made;
  }

  header* raise(Less order);
  void split(inner& above, std::size_t i, Less order);
  void combine(inner& above, std::size_t i, Less order);
  template <class Page>
  void combine(inner& above, std::size_t i, Page& low, Less order);
  template <class Page>
  void merge(inner& above, std::size_t i, Page& low, Page& high, Less order);
  template <class Page>
  void balance(inner& above, std::size_t i, Page& low, Page& high, Less order);

  /// A key above all of `low` and not above any of `high`; of strings, as short as possible.
  [[nodiscard]] static key_view between(const leaf& low, const leaf& high,
                                        [[maybe_unused]] Less order) {
    const key_view below = low.item(low.size() - 1).key();
    const key_view first = high.item(0).key();
    if constexpr (requires { order.between(below, first); }) {
      return order.between(below, first);
    } else if constexpr (std::is_same_v<Key, std::string> && std::is_same_v<Less, std::less<>>) {
      const std::size_t shorter = std::min(below.size(), first.size());
      const auto differ = std::mismatch(first.begin(), first.begin() + shorter, below.begin());
      return first.substr(0, static_cast<std::size_t>(differ.first - first.begin()) + 1);
    } else {
      return first;
    }
  }

  /// Below pages of the height `above`.
  template <class Visit>
  static void visit_readable(const header* at, const detail::bytes_of_replica& in,
                             std::uint64_t above, std::size_t& pages_left, Visit& visit);
  [[nodiscard]] static std::size_t blocks_below(const header* at);
  struct range;
  [[nodiscard]] static bool can_be_read(const header* at);
  [[nodiscard]] std::size_t check_below(const header* at, const range& keys, bool seen, Less order,
                                        std::string& wrong) const;

  tx::pointer<header> root_;
  tx::field<std::uint64_t> count_;
  detail::versions versions_;
};

}  // namespace outlast::containers

#include <outlast/containers/impl/bplus_content.hpp>
#include <outlast/containers/impl/bplus_tree.hpp>
