// An ordered map with wide nodes, of which snapshots keep what they see.
//
//   using ledger = outlast::containers::bplus_tree<std::string, std::string>;
//   const auto then = bank.update(all, [](ledger& at) { return at.open_snapshot(); });
//   bank.update(all, [](ledger& at) { at.put("key", "other"); });
//   bank.read(all, [=](const ledger& at) { at.at(then).for_each(show); });  // what was before
//
// When to use: ranges in order, or reading what was while others write; containers/managed_tree.hpp
// makes handles and iterators of it. When not: hash_map finds a key with fewer cache misses, and
// red_black_tree moves no separators.
//
// Byte strings of a leaf lie in blocks of their own, key and value in one. Pages keep four bytes of
// each key beside each other, behind what all of them begin with: most searches look at one key.
//
// Without snapshots pages are changed in place. A snapshot is a number: pages born before it are
// copied before they are changed, from the root down, once; what they were, and what strings were,
// is kept by the snapshot and freed when nobody sees it any more: detail/versions.hpp.
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

/// So that the order of a page's items fits into its first line.
template <class Key>
inline constexpr std::size_t default_fanout = std::is_same_v<Key, std::string> ? 47 : 31;

}  // namespace detail

/// Sequential; an object of a transaction manager. Key and Value are trivially copyable, or
/// std::string for less than 4 GiB of bytes, given and shown as std::string_view. A view is valid
/// inside of the transaction, until the tree changes. `Less` orders keys; of strings, by unsigned
/// bytes. Pages have up to `Fanout` items.
///
/// An order that is known at run time only is an object of `Less`, the last argument of what needs
/// it; a `Less` without a default constructor cannot be forgotten. It is volatile, copied into
/// closures, and has to be the same order each time: check() finds out if it is not. With a member
/// `between(low, high)`, a view of a key k with low < k and not high < k, it shortens separators.
///
/// Invariants:
///   I1  keys strictly increase in a leaf, and lie between those of the pages above it.
///   I2  all leaves are equally far from the root.
///   I3  a page but the root has at least a quarter of `Fanout` items; an inner root has two.
///   I4  what a page that a snapshot sees leads to is seen by it too.
///   I5  pages whose keys are ordered by their bytes know the heads of these.
/// A tree may be damaged where no checksum tells. What is found in it is compared with what a page
/// can be before it is followed: all members throw corruption where they meet what cannot be.
/// What throws out_of_space may have done half of its work: the operation has to end with it, which
/// takes everything back. While snapshots are open erase() may throw it as well.
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

  /// A moment of the tree that stays readable. Trivially copyable; means nothing outside of the
  /// manager, and after close_snapshot() or a reopening.
  struct snapshot {
    std::uint64_t at = 0;      ///< the moment
    std::uint64_t holder = 0;  ///< in a replica
    std::uint64_t root = 0;    ///< in a replica; 0: it is empty
    std::uint64_t count = 0;   ///< of keys
  };

  /// False, and no change, if the key is there. Throws out_of_space.
  bool insert(key_view key, value_view value, Less order = Less()) {
    if (contains(key, order)) return false;
    enter(detail::steady<Key>(key), detail::steady<Value>(value), order);
    return true;
  }
  /// The key has the value; true if it is new. Throws out_of_space.
  bool put(key_view key, value_view value, Less order = Less()) {
    return enter(detail::steady<Key>(key), detail::steady<Value>(value), order);
  }
  /// Another value for a key; false if it is not there. Throws out_of_space.
  bool update(key_view key, value_view value, Less order = Less()) {
    if (!contains(key, order)) return false;
    enter(detail::steady<Key>(key), detail::steady<Value>(value), order);
    return true;
  }
  /// False if it is not there. Throws out_of_space.
  bool erase(key_view key, Less order = Less()) {
    if (!contains(key, order)) return false;
    remove(detail::steady<Key>(key), order);
    return true;
  }

  /// What it holds now, until it changes.
  [[nodiscard]] content now(Less order = Less()) const { return {root_, count_, order}; }
  /// What it held when the snapshot was opened; that must not be closed yet.
  [[nodiscard]] content at(const snapshot& of, Less order = Less()) const {
    const std::byte* const replica = tx::running().replica();
    return {of.root == 0 ? nullptr : reinterpret_cast<const header*>(replica + of.root), of.count,
            order};
  }

  // As of now().
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

  /// A snapshot of now. It costs a block of 32 bytes, and from then on a copy of each page, and the
  /// block of each string, that it sees and that is changed; nothing else, however many there are.
  /// Throws out_of_space.
  [[nodiscard]] snapshot open_snapshot() {
    detail::holder* const opened = versions_.open();
    return {opened->at(), offset_of(opened), root_ == nullptr ? 0 : offset_of(root_), count_};
  }
  /// Once for each open_snapshot(). What it alone has kept is given back by reap().
  void close_snapshot(const snapshot& of) {
    versions_.close(*reinterpret_cast<detail::holder*>(tx::running().replica() + of.holder));
  }
  /// Closes one, and frees what it alone has kept, in parts: takes from `limit` what that costs, in
  /// blocks. Returns false if something is left: the caller then calls again with `is_closed`, and
  /// does not call reap() before. The cost does not depend on how many are open. Throws
  /// out_of_space.
  bool release_snapshot(const snapshot& of, bool is_closed, std::size_t& limit) {
    auto& at = *reinterpret_cast<detail::holder*>(tx::running().replica() + of.holder);
    return versions_.release(at, is_closed, limit);
  }
  /// release_snapshot() leaves 32 bytes where newer ones are open: frees these if they are more
  /// than `spare` times that. Visits all that are open.
  void sweep_snapshots(std::size_t spare) { versions_.sweep(spare); }
  /// May sweep_snapshots() have something to free?
  [[nodiscard]] bool keeps_closed() const noexcept { return versions_.any_closed(); }
  /// Closes all: those who had them are gone. The first thing to do after a reopening, where a
  /// crash may have left some. What they have kept is given back by reap(), or by
  /// release_snapshot() of what this answers, which is closed; its holder is 0 if there is nothing.
  snapshot close_all_snapshots() {
    const detail::holder* const left = versions_.close_all();
    return left == nullptr ? snapshot{} : snapshot{left->at(), offset_of(left), 0, 0};
  }
  /// Frees about `limit` blocks that only closed snapshots have kept. True if there may be more.
  /// Visits all that are open. Throws out_of_space.
  bool reap(std::size_t limit) { return versions_.reap(limit); }
  /// Are there snapshots, open or not reaped yet?
  [[nodiscard]] bool keeps_versions() const noexcept { return versions_.any(); }
  /// Can what is kept for them be walked? Of a tree that may be damaged.
  [[nodiscard]] bool keeps_sound_versions() const { return versions_.is_sound(); }
  /// How many blocks has the running operation retired, since `then`, that a snapshot sees?
  [[nodiscard]] detail::versions::mark kept_now() const { return versions_.kept_now(); }
  [[nodiscard]] std::size_t kept_since(const detail::versions::mark& then) const {
    return versions_.kept_since(then);
  }
  /// Has nothing changed since it was opened?
  [[nodiscard]] bool is_latest(const snapshot& of) const noexcept {
    return versions_.is_latest(of.at);
  }

  /// The first violated invariant; "" if there is none. Visits everything, and believes no pointer
  /// out of the replica.
  [[nodiscard]] std::string check(Less order = Less()) const;
  /// Calls `visit(key, value)`, ascending if nothing is damaged, for all that can be reached where
  /// pages or strings may be damaged: follows no pointer out of the replica, and none in circles.
  template <class Visit>
  void visit_readable(Visit&& visit) const {
    std::size_t pages_left = tx::running().bytes() / sizeof(leaf);
    visit_readable(root_.get(), detail::pages_of_replica(), max_levels, pages_left, visit);
  }
  /// Blocks of the heap that it has in use: its own, and those that are kept for snapshots. Visits
  /// everything.
  [[nodiscard]] std::size_t blocks() const {
    return versions_.blocks() + (root_ == nullptr ? 0 : blocks_below(root_at(root_.get())));
  }
  /// Bytes of those that are kept for snapshots, until these are closed and reap() has been there.
  /// Visits them.
  [[nodiscard]] std::size_t bytes_kept() const { return versions_.bytes(); }

 private:
  static constexpr std::size_t least = Fanout / 4;
  /// More than any tree has.
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

  // What a link leads to, if it is a page of the height that is expected there: so no way down runs
  // in a circle, and none is longer than a tree is high.

  [[noreturn, gnu::cold, gnu::noinline]] static void refuse() {
    tx::detail::refuse_damage("what should be a page of a tree is none");
  }
  template <class Header>
  static Header* require_page(Header* at, std::uint32_t level) {
    if (at->level != level || size_of(at) == 0) [[unlikely]]
      refuse();
    return at;
  }
  /// The page will be searched: its lines are asked for before it is looked at.
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

  /// Are keys ordered by their bytes, so that pages keep their heads?
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
  /// With how many bytes all keys begin that belong into the child at place `i`, and all between
  /// them: those of what they lie between.
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

  /// The page `at`, to which `link` leads, after it has become one that no snapshot sees.
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
