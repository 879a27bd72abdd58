// Splits pages of the record engine's index that are full.
#pragma once

#include <src/db/records/ordered_index.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace outlast::store_detail::records {

/// Returns true if the leaf has been split, or needs no split any more.
template <domain::persistence_domain D, class Shape, class KeyOf>
bool ordered_index<D, Shape, KeyOf>::try_to_split(std::string_view key, note* by) {
  inner* parent = nullptr;
  std::uint64_t of_parent = 0;
  unsigned which = 0;
  page* at = root_->load(acquire);
  std::uint64_t version = version_of(*at);
  if (at != root_->load(acquire)) return false;
  while (count_of(*at) < (at->is_leaf ? leaf::capacity : inner::capacity)) {
    if (at->is_leaf) return still(*at, version);
    auto& in = static_cast<inner&>(*at);
    const std::optional<unsigned> chosen = child_for(in, version, key, false);
    if (!chosen) return false;
    page* const child = in.children[*chosen].load(acquire);
    if (!still(in, version)) return false;
    const std::uint64_t of_child = version_of(*child);
    if (!still(in, version)) return false;
    parent = &in;
    of_parent = version;
    which = *chosen;
    at = child;
    version = of_child;
  }
  struct ending {
    note* by;
    ~ending() { end(by); }
  } const ends{by};
  if (parent != nullptr) begin(by, *parent);
  begin(by, *at);
  if (parent != nullptr && !try_lock(*parent, of_parent)) return false;
  if (!try_lock(*at, version)) {
    if (parent != nullptr) unlock_unchanged(*parent);
    return false;
  }
  const bool is_leaf = at->is_leaf;
  split_locked(parent, which, *at, key, by);
  return is_leaf;
}
/// Splits a locked page under its locked parent, or the root, and unlocks both.
template <domain::persistence_domain D, class Shape, class KeyOf>
void ordered_index<D, Shape, KeyOf>::split_locked(inner* parent, unsigned which, page& full,
                                                  std::string_view key, note* by) {
  inner* top = nullptr;
  page* right = nullptr;
  const separator* between = nullptr;
  try {
    if (parent == nullptr) {
      top = memory_.template make<inner>();
      top->level = static_cast<std::uint8_t>(full.level + 1);
    }
    if (by != nullptr) by->save_with_root(parent == nullptr ? &full : nullptr);
    right = full.is_leaf ? split(static_cast<leaf&>(full), key, between)
                         : split(static_cast<inner&>(full), between);
  } catch (...) {
    commit(by);  // nothing has changed
    if (top != nullptr) memory_.destroy(top);
    unlock_unchanged(full);
    if (parent != nullptr) unlock_unchanged(*parent);
    throw;
  }
  if (parent != nullptr) {
    insert_child(*parent, which, between, right);
  } else {
    top->children[0].store(&full, relaxed);
    insert_child(*top, 0, between, right);
    root_->store(top, release);
  }
  commit(by);
  if (parent != nullptr) unlock(*parent);
  unlock(full);
}
template <domain::persistence_domain D, class Shape, class KeyOf>
auto ordered_index<D, Shape, KeyOf>::split(leaf& full, std::string_view key,
                                           const separator*& between) -> page* {
  constexpr unsigned count = leaf::capacity;
  // Keys that arrive in ascending order fill their leaves.
  const bool ascends = compare(key, key_at(full, count - 1)) > 0;
  const unsigned kept = ascends ? count - 1 : count / 2;
  leaf* const right = memory_.template make<leaf>();
  try {
    between = memory_.make_separator(order_.between(key_at(full, kept - 1), key_at(full, kept)));
  } catch (...) {
    memory_.destroy(right);
    throw;
  }
  right->copy_prefix(full);
  for (unsigned i = kept; i < count; ++i) {
    right->heads[i - kept].store(full.heads[i].load(relaxed), relaxed);
    right->slots[i - kept].store(full.slots[i].load(relaxed), relaxed);
  }
  right->count.store(static_cast<std::uint16_t>(count - kept), relaxed);
  right->low.store(between, relaxed);
  right->high.store(full.high.load(relaxed), relaxed);
  narrow(*right, count - kept);
  full.high.store(between, release);
  full.count.store(static_cast<std::uint16_t>(kept), relaxed);
  narrow(full, kept);
  return right;
}
template <domain::persistence_domain D, class Shape, class KeyOf>
auto ordered_index<D, Shape, KeyOf>::split(inner& full, const separator*& between) -> page* {
  constexpr unsigned count = inner::capacity;
  constexpr unsigned kept = count / 2;
  constexpr unsigned moved = count - kept - 1;
  inner* const right = memory_.template make<inner>();
  right->level = full.level;
  between = full.keys[kept].load(relaxed);
  right->copy_prefix(full);
  for (unsigned i = 0; i < moved; ++i) {
    right->heads[i].store(full.heads[kept + 1 + i].load(relaxed), relaxed);
    right->keys[i].store(full.keys[kept + 1 + i].load(relaxed), relaxed);
  }
  for (unsigned i = 0; i <= moved; ++i) {
    right->children[i].store(full.children[kept + 1 + i].load(relaxed), relaxed);
  }
  right->count.store(static_cast<std::uint16_t>(moved), relaxed);
  narrow(*right, moved);
  full.count.store(static_cast<std::uint16_t>(kept), relaxed);
  narrow(full, kept);
  return right;
}

}  // namespace outlast::store_detail::records
