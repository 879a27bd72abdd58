// Definitions of bplus_tree.hpp: changes and checks. Pages are split or merged on the way down,
// before they are entered. So there is no work on the way up, and pages have no link to their
// parent.
#pragma once

#include <outlast/containers/bplus_tree.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace outlast::containers {

// ---- Keys and values ----

/// Sets the value of a key. Returns true if the key is new.
template <class Key, class Value, class Less, std::size_t Fanout>
bool bplus_tree<Key, Value, Less, Fanout>::enter(key_view key, value_view value, Less order) {
  versions_.change();
  if (root_ == nullptr) return enter_first(key, value, order);
  header* at = own_root(order);
  const inner* above = nullptr;
  std::size_t place = 0;
  while (!is_leaf(*at)) {
    place = child_of(as_inner(at), key, order);
    above = &as_inner(at);
    at = own_child(as_inner(at), place, order);
  }
  leaf* last = &as_leaf(at);
  if (const std::size_t i = find_in(*last, key, order); i < last->size()) {
    last->item(i).set_value(versions_, value);
    return false;
  }
  std::size_t shared = above == nullptr ? 0 : shared_below(*above, place);
  if (last->size() == Fanout) {
    last = &split_way_to(key, order);
    shared = 0;
  }
  last->insert(place_of(*last, key, false, order, 0, shared),
               detail::head_rules(is_by_bytes(order), shared), versions_, key, value);
  ++count_;
  return true;
}

/// Makes the first leaf of an empty tree.
template <class Key, class Value, class Less, std::size_t Fanout>
bool bplus_tree<Key, Value, Less, Fanout>::enter_first(key_view key, value_view value, Less order) {
  leaf* const first = leaf::make(versions_, 0);
  root_ = first;
  first->insert(0, is_by_bytes(order), versions_, key, value);
  ++count_;
  return true;
}

/// Returns the leaf of `key`, with room for one more item. No snapshot sees the pages on the path.
template <class Key, class Value, class Less, std::size_t Fanout>
auto bplus_tree<Key, Value, Less, Fanout>::split_way_to(key_view key, Less order) -> leaf& {
  header* at = root_at(root_.get());
  if (size_of(at) == Fanout) at = raise(order);
  while (!is_leaf(*at)) {
    inner& here = as_inner(at);
    const std::size_t i = child_of(here, key, order);
    at = child_at(here, i);
    if (size_of(at) < Fanout) continue;
    split(here, i, order);
    at = child_at(here, child_of(here, key, order));
  }
  return as_leaf(at);
}

/// Removes a key that exists.
template <class Key, class Value, class Less, std::size_t Fanout>
void bplus_tree<Key, Value, Less, Fanout>::remove(key_view key, Less order) {
  versions_.change();
  leaf& last = own_way_to(key, order);
  const std::size_t i = place_of(last, key, false, order);
  if (i >= last.size()) [[unlikely]]
    refuse();  // it was there
  last.item(i).retire(versions_);
  last.remove(i);
  --count_;
  if (last.size() != 0) return;
  versions_.retire(&last, last.born);  // it was the root
  root_ = nullptr;
}

/// Returns the leaf of `key`. All pages on the path have one item more than the minimum.
template <class Key, class Value, class Less, std::size_t Fanout>
auto bplus_tree<Key, Value, Less, Fanout>::own_way_to(key_view key, Less order) -> leaf& {
  header* at = own_root(order);
  while (!is_leaf(*at)) {
    inner& here = as_inner(at);
    std::size_t i = child_of(here, key, order);
    if (size_of(child_at(here, i)) <= least) {
      combine(here, i + 1 < here.size() ? i : i - 1, order);
      i = child_of(here, key, order);
    }
    at = own_child(here, i, order);
    if (root_ != &here || here.size() > 1) continue;
    root_ = at;
    versions_.retire(&here, here.born);
  }
  return as_leaf(at);
}

// ---- Pages ----

/// Makes a new root above one that is full.
template <class Key, class Value, class Less, std::size_t Fanout>
auto bplus_tree<Key, Value, Less, Fanout>::raise(Less order) -> header* {
  inner* const made = inner::make(versions_, root_->level + 1);
  made->append(is_by_bytes(order), detail::versioned<Key>(), root_.get());
  root_ = made;
  split(*made, 0, order);
  return made;
}

/// Splits the child at place `i`, which is full, and which no snapshot sees.
template <class Key, class Value, class Less, std::size_t Fanout>
void bplus_tree<Key, Value, Less, Fanout>::split(inner& above, std::size_t i, Less order) {
  header* const child = child_at(above, i);
  const bool by_bytes = is_by_bytes(order);
  if (is_leaf(*child)) {
    leaf* const high = leaf::make(versions_, 0);
    as_leaf(child).move_tail(Fanout / 2, *high, by_bytes);
    const detail::versioned<Key> separator(versions_, between(as_leaf(child), *high, order));
    above.insert(i + 1, by_bytes, separator, high);
  } else {
    inner* const high = inner::make(versions_, child->level);
    as_inner(child).move_tail(Fanout / 2, *high, by_bytes);
    above.insert(i + 1, by_bytes, high->item(0).separator, high);
    high->item(0).separator.clear();
  }
}

/// Merges the children at places `i` and `i` + 1, or makes them equally large.
template <class Key, class Value, class Less, std::size_t Fanout>
void bplus_tree<Key, Value, Less, Fanout>::combine(inner& above, std::size_t i, Less order) {
  header* const low = own_child(above, i, order);
  if (is_leaf(*low)) {
    combine(above, i, as_leaf(low), order);
  } else {
    combine(above, i, as_inner(low), order);
  }
}

template <class Key, class Value, class Less, std::size_t Fanout>
template <class Page>
void bplus_tree<Key, Value, Less, Fanout>::combine(inner& above, std::size_t i, Page& low,
                                                   Less order) {
  Page& high = *static_cast<Page*>(child_at(above, i + 1));
  if (low.size() + high.size() <= Fanout) {
    merge(above, i, low, high, order);
  } else {
    balance(above, i, low, *static_cast<Page*>(own_child(above, i + 1, order)), order);
  }
}

template <class Key, class Value, class Less, std::size_t Fanout>
template <class Page>
void bplus_tree<Key, Value, Less, Fanout>::merge(inner& above, std::size_t i, Page& low, Page& high,
                                                 Less order) {
  const bool by_bytes = is_by_bytes(order);
  auto& separator = above.item(i + 1).separator;
  if constexpr (std::is_same_v<Page, inner>) {
    low.append(by_bytes, separator, high.item(0).child.get());
  } else {
    separator.retire(versions_);
    low.append(by_bytes, std::as_const(high.item(0)));
  }
  for (std::size_t each = 1; each < high.size(); ++each) {
    low.append(by_bytes, std::as_const(high.item(each)));
  }
  above.remove(i + 1);
  versions_.retire(&high, high.born);
}

template <class Key, class Value, class Less, std::size_t Fanout>
template <class Page>
void bplus_tree<Key, Value, Less, Fanout>::balance(inner& above, std::size_t i, Page& low,
                                                   Page& high, Less order) {
  constexpr bool are_inner = std::is_same_v<Page, inner>;
  const bool by_bytes = is_by_bytes(order);
  const detail::versioned<Key> before = above.item(i + 1).separator;
  if constexpr (are_inner) high.item(0).separator = before;
  const std::size_t has = low.size();
  const std::size_t half = (has + high.size()) / 2;
  for (std::size_t each = has; each < half; ++each) {
    low.append(by_bytes, std::as_const(high.item(0)));
    high.remove(0);
  }
  for (std::size_t each = has; each > half; --each) {
    high.insert(0, by_bytes, std::as_const(low.item(each - 1)));
    low.remove(each - 1);
  }
  header* const child = above.item(i + 1).child;
  above.remove(i + 1);
  if constexpr (are_inner) {
    above.insert(i + 1, by_bytes, high.item(0).separator, child);
    high.item(0).separator.clear();
  } else {
    const detail::versioned<Key> separator(versions_, between(low, high, order));
    above.insert(i + 1, by_bytes, separator, child);
    detail::versioned<Key>(before).retire(versions_);
  }
}

// ---- Checking ----

template <class Key, class Value, class Less, std::size_t Fanout>
std::size_t bplus_tree<Key, Value, Less, Fanout>::blocks_below(const header* at) {
  std::size_t all = 1;
  for (std::size_t i = 0; i < size_of(at); ++i) {
    if (is_leaf(*at)) {
      all += as_leaf(at).item(i).blocks();
    } else {
      all += as_inner(at).item(i).separator.blocks() + blocks_below(child_at(as_inner(at), i));
    }
  }
  return all;
}

/// The bounds of the keys of a page.
template <class Key, class Value, class Less, std::size_t Fanout>
struct bplus_tree<Key, Value, Less, Fanout>::range {
  std::optional<detail::copy_of<Key>> from;
  std::optional<detail::copy_of<Key>> to;  ///< this one is not among them
};

template <class Key, class Value, class Less, std::size_t Fanout>
template <class Visit>
void bplus_tree<Key, Value, Less, Fanout>::visit_readable(const header* at,
                                                          const detail::bytes_of_replica& in,
                                                          std::uint64_t above,
                                                          std::size_t& pages_left, Visit& visit) {
  if (pages_left == 0 || !in.template hold<header>(at) || at->level >= above) return;
  --pages_left;
  if (is_leaf(*at)) {
    if (!in.template hold<leaf>(at) || !as_leaf(at).is_sound()) return;
    const leaf& here = as_leaf(at);
    for (std::size_t i = 0; i < here.size(); ++i) {
      const auto& item = here.item(i);
      if (item.lies_in(in)) visit(item.key(), item.value());
    }
  } else if (in.template hold<inner>(at) && as_inner(at).is_sound()) {
    const inner& here = as_inner(at);
    for (std::size_t i = 0; i < here.size(); ++i) {
      visit_readable(here.item(i).child.get(), in, at->level, pages_left, visit);
    }
  }
}

template <class Key, class Value, class Less, std::size_t Fanout>
std::string bplus_tree<Key, Value, Less, Fanout>::check(Less order) const {
  std::string wrong;
  if (!versions_.is_sound()) return "what is kept for snapshots leads out of the replica";
  const std::size_t keys = root_ == nullptr ? 0 : check_below(root_, {}, false, order, wrong);
  if (root_ != nullptr && wrong.empty() && size_of(root_) < (is_leaf(*root_) ? 1 : 2))
    wrong = "I3: the root";
  if (wrong.empty() && keys != count_) wrong = "the count is wrong";
  return wrong;
}

/// Returns true if the page, which may be damaged, is a page with strings inside the replica.
template <class Key, class Value, class Less, std::size_t Fanout>
bool bplus_tree<Key, Value, Less, Fanout>::can_be_read(const header* at) {
  const detail::bytes_of_replica in = detail::pages_of_replica();
  if (!in.template hold<header>(at) || at->level >= max_levels) return false;
  if (is_leaf(*at)) {
    if (!in.template hold<leaf>(at) || !as_leaf(at).is_whole()) return false;
    for (std::size_t i = 0; i < as_leaf(at).size(); ++i) {
      if (!as_leaf(at).item(i).lies_in(in)) return false;
    }
    return true;
  }
  if (!in.template hold<inner>(at) || !as_inner(at).is_whole()) return false;
  for (std::size_t i = 1; i < as_inner(at).size(); ++i) {
    if (!as_inner(at).item(i).separator.lies_in(in)) return false;
  }
  return true;
}

/// Returns the number of keys below `at`. `seen`: a snapshot sees the page above.
template <class Key, class Value, class Less, std::size_t Fanout>
std::size_t bplus_tree<Key, Value, Less, Fanout>::check_below(const header* at, const range& keys,
                                                              bool seen, Less order,
                                                              std::string& wrong) const {
  if (!can_be_read(at)) {
    wrong = "I2: what should be a page is none";
    return 0;
  }
  const bool is_seen = versions_.is_seen(at->born);
  if (seen && !is_seen) wrong = "I4: a page that was changed below one that was not";
  if (at != root_.get() && size_of(at) < least) wrong = "I3: a page with too few items";
  if (is_leaf(*at)) {
    const leaf& here = as_leaf(at);
    if (is_by_bytes(order) && !here.has_right_heads()) wrong = "I5: the heads of a leaf";
    for (std::size_t i = 0; i < here.size(); ++i) {
      const key_view key = here.item(i).key();
      if (keys.from && order(key, *keys.from)) wrong = "I1: a key less than the page's";
      if (keys.to && !order(key, *keys.to)) wrong = "I1: a key of a later page";
      if (i > 0 && !order(here.item(i - 1).key(), key)) wrong = "I1: keys out of order";
    }
    return here.size();
  }
  const inner& here = as_inner(at);
  if (is_by_bytes(order) && !here.has_right_heads()) wrong = "I5: the heads of a page";
  std::size_t found = 0;
  for (std::size_t i = 0; i < here.size(); ++i) {
    range below = keys;
    if (i > 0) below.from.emplace(here.item(i).key());
    if (i + 1 < here.size()) below.to.emplace(here.item(i + 1).key());
    const header* const child = here.item(i).child;
    if (can_be_read(child) && child->level + 1 != at->level) {
      wrong = "I2: a page at another height";
      return found;  // the links may be a circle
    }
    found += check_below(child, below, is_seen, order, wrong);
  }
  return found;
}

}  // namespace outlast::containers
