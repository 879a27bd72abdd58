// Joins pages of the record engine's index that have few entries.
#pragma once

#include <src/db/records/ordered_index.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace outlast::store_detail::records {

/// Joins the first page on the way to a key that has few entries, and whose neighbour has room.
/// Returns true if there is none. Locks are only tried, from the root towards the leaves: a thread
/// that finds a page changed begins again.
template <domain::persistence_domain D, class Shape, class KeyOf>
template <class Retire>
bool ordered_index<D, Shape, KeyOf>::try_to_join(std::string_view key, Retire& retire, note* by) {
  page* at = root_->load(acquire);
  std::uint64_t version = version_of(*at);
  if (at != root_->load(acquire)) return false;
  if (!at->is_leaf && count_of(*at) == 0) {
    // The root has one child, which becomes the root.
    begin(by, *at);
    if (!try_lock(*at, version)) {
      end(by);
      return false;
    }
    auto& top = static_cast<inner&>(*at);
    root_->store(top.children[0].load(relaxed), release);
    unlock(top);
    end(by);
    retire_page(top, retire);
    return false;
  }
  while (!at->is_leaf) {
    auto& in = static_cast<inner&>(*at);
    const std::optional<unsigned> which = child_for(in, version, key, false);
    if (!which) return false;
    page* const child = in.children[*which].load(acquire);
    const unsigned keys = count_of(in);
    if (!still(in, version)) return false;
    const std::uint64_t of_child = version_of(*child);
    if (!still(in, version)) return false;
    const unsigned few = (child->is_leaf ? leaf::capacity : inner::capacity) / 4;
    if (keys != 0 && count_of(*child) <= few) {
      bool joined = false;
      const bool is_done = child->is_leaf
                               ? join_children(in, version, *which, static_cast<leaf&>(*child),
                                               of_child, joined, retire, by)
                               : join_children(in, version, *which, static_cast<inner&>(*child),
                                               of_child, joined, retire, by);
      if (!is_done || joined) return false;
    }
    at = child;
    version = of_child;
  }
  return true;
}

/// Joins a child with its left neighbour, or with its right one if it is the first child. Returns
/// false if one of the pages has changed. `joined`: set if the neighbour has room.
template <domain::persistence_domain D, class Shape, class KeyOf>
template <class Page, class Retire>
bool ordered_index<D, Shape, KeyOf>::join_children(inner& parent, std::uint64_t of_parent,
                                                   unsigned which, Page& small,
                                                   std::uint64_t version, bool& joined,
                                                   Retire& retire, note* by) {
  struct ending {
    note* by;
    ~ending() { end(by); }
  } const ends{by};
  begin(by, parent);
  if (!try_lock(parent, of_parent)) return false;
  const unsigned key = which == 0 ? 0 : which - 1;
  auto& left = static_cast<Page&>(*parent.children[key].load(relaxed));
  auto& right = static_cast<Page&>(*parent.children[key + 1].load(relaxed));
  Page& beside = &left == &small ? right : left;
  begin(by, beside);
  begin(by, small);
  const std::uint64_t of_beside = beside.version.load(seq_cst);
  if (is_locked(of_beside) || !try_lock(beside, of_beside)) {
    unlock_unchanged(parent);
    return false;
  }
  if (!try_lock(small, version)) {
    unlock_unchanged(beside);
    unlock_unchanged(parent);
    return false;
  }
  joined = can_join(left, right);
  if (!joined) {
    unlock_unchanged(small);
    unlock_unchanged(beside);
    unlock_unchanged(parent);
    return true;
  }
  const separator* const between = parent.keys[key].load(relaxed);
  save(by);
  append(left, right, between);
  remove_child(parent, key);
  commit(by);
  // The version of the removed page changes, too: threads that have found it begin again.
  unlock(right);
  unlock(left);
  unlock(parent);
  retire_page(right, retire);
  if constexpr (std::is_same_v<Page, leaf>) {
    removed_.add(between);
    memory_.note_retired(sizeof(separator) + between->bytes);
    retire(const_cast<separator*>(between));
  }
  return true;
}

template <domain::persistence_domain D, class Shape, class KeyOf>
bool ordered_index<D, Shape, KeyOf>::can_join(const leaf& left, const leaf& right) {
  const bool is_empty = count_of(left) == 0 || count_of(right) == 0;
  return count_of(left) + count_of(right) <= leaf::capacity - (is_empty ? 0 : leaf::capacity / 4);
}
template <domain::persistence_domain D, class Shape, class KeyOf>
bool ordered_index<D, Shape, KeyOf>::can_join(const inner& left, const inner& right) {
  const unsigned keys = count_of(left) + count_of(right) + 1;
  const bool has_single_child = count_of(left) == 0 || count_of(right) == 0;
  return keys <= inner::capacity - (has_single_child ? 0 : inner::capacity / 4);
}

/// Moves the slots of a leaf to the leaf before it. Both are locked.
template <domain::persistence_domain D, class Shape, class KeyOf>
void ordered_index<D, Shape, KeyOf>::append(leaf& to, leaf& from, const separator*) {
  const unsigned there = to.count.load(relaxed);
  const unsigned more = from.count.load(relaxed);
  for (unsigned i = 0; i < more; ++i) {
    to.slots[there + i].store(from.slots[i].load(relaxed), release);
  }
  to.count.store(static_cast<std::uint16_t>(there + more), relaxed);
  to.high.store(from.high.load(relaxed), release);
  choose_prefix(to, there + more);
}
/// Moves the children of a page, and the separator between the pages, to the page before it.
template <domain::persistence_domain D, class Shape, class KeyOf>
void ordered_index<D, Shape, KeyOf>::append(inner& to, inner& from, const separator* between) {
  const unsigned there = to.count.load(relaxed);
  const unsigned more = from.count.load(relaxed);
  to.keys[there].store(between, release);
  for (unsigned i = 0; i < more; ++i) {
    to.keys[there + 1 + i].store(from.keys[i].load(relaxed), release);
  }
  for (unsigned i = 0; i <= more; ++i) {
    to.children[there + 1 + i].store(from.children[i].load(relaxed), release);
  }
  to.count.store(static_cast<std::uint16_t>(there + 1 + more), relaxed);
  choose_prefix(to, there + 1 + more);
}

/// Sets the prefix and the heads of a page with these keys.
template <domain::persistence_domain D, class Shape, class KeyOf>
template <class Page>
void ordered_index<D, Shape, KeyOf>::choose_prefix(Page& of, unsigned count) {
  if (!order_.is_by_bytes() || count == 0) return of.set_prefix_text({});
  constexpr std::size_t head = sizeof(typename Page::head_type);
  const std::string_view first = key_at(of, 0);
  std::size_t common = common_bytes(first, key_at(of, count - 1), page::max_prefix_bytes);
  if (common == first.size()) common -= std::min(common, head);
  set_prefix(of, count, first.substr(0, common));
}

/// Removes a key of a page and the child after it.
template <domain::persistence_domain D, class Shape, class KeyOf>
void ordered_index<D, Shape, KeyOf>::remove_child(inner& from, unsigned key) {
  const unsigned count = from.count.load(relaxed);
  for (unsigned i = key; i + 1 < count; ++i) {
    from.heads[i].store(from.heads[i + 1].load(relaxed), relaxed);
    from.keys[i].store(from.keys[i + 1].load(relaxed), release);
    from.children[i + 1].store(from.children[i + 2].load(relaxed), release);
  }
  from.count.store(static_cast<std::uint16_t>(count - 1), relaxed);
}

}  // namespace outlast::store_detail::records
