// Makes the record engine's index of ascending keys, and checks an index.
#pragma once

#include <src/db/records/ordered_index.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::store_detail::records {

template <domain::persistence_domain D, class Shape, class KeyOf>
template <class WordAt>
void ordered_index<D, Shape, KeyOf>::make_leaves(std::size_t count, WordAt&& word_at,
                                                 std::vector<built_page>& made) {
  // A few slots stay free, so that the first insertions do not split all leaves.
  constexpr std::size_t full = std::max<std::size_t>(leaf::capacity - leaf::capacity / 6, 2);
  made.reserve(made.size() + count / full + 1);
  for (std::size_t i = 0; i < count; i += full) {
    const auto n = static_cast<unsigned>(std::min(full, count - i));
    leaf* const one = memory_.template make<leaf>();
    made.push_back({one, nullptr});
    for (unsigned k = 0; k < n; ++k) one->slots[k].store(word_at(i + k), relaxed);
    one->count.store(static_cast<std::uint16_t>(n), relaxed);
    const std::string_view first = key_at(*one, 0);
    if (i != 0) {
      made.back().low = memory_.make_separator(order_.between(key_of_(word_at(i - 1)), first));
    }
    if (!order_.is_by_bytes()) continue;
    const std::size_t one_key = first.size() > sizeof(typename leaf::head_type)
                                    ? first.size() - sizeof(typename leaf::head_type)
                                    : 0;
    const std::size_t common =
        n == 1 ? std::min(one_key, page::max_prefix_bytes)
               : common_bytes(first, key_at(*one, n - 1), page::max_prefix_bytes);
    set_prefix(*one, n, first.substr(0, common));
  }
}

template <domain::persistence_domain D, class Shape, class KeyOf>
void ordered_index<D, Shape, KeyOf>::build(std::vector<std::vector<built_page>>& parts) {
  std::vector<built_page> level;
  std::vector<built_page> above;
  std::size_t placed = 0;  // of the level, in pages of the level above
  try {
    join_parts(parts, level);
    constexpr std::size_t full = inner::capacity - inner::capacity / 6 + 1;  // children
    while (level.size() > 1) {
      above.reserve(level.size() / full + 1);
      while (placed < level.size()) {
        std::size_t n = std::min(full, level.size() - placed);
        if (level.size() - placed - n == 1) --n;  // no page has one child only
        above.push_back({make_parent(&level[placed], n), level[placed].low});
        placed += n;
      }
      level.swap(above);
      above.clear();
      placed = 0;
    }
  } catch (...) {
    level.erase(level.begin(), level.begin() + static_cast<std::ptrdiff_t>(placed));
    destroy_built(level);
    destroy_built(above);
    throw;
  }
  if (level.empty()) return;
  destroy(root_->load(relaxed));
  root_->store(level[0].what, release);
}

/// Moves all leaves to `level`, and sets their bounds.
template <domain::persistence_domain D, class Shape, class KeyOf>
void ordered_index<D, Shape, KeyOf>::join_parts(std::vector<std::vector<built_page>>& parts,
                                                std::vector<built_page>& level) {
  std::size_t leaves = 0;
  for (const std::vector<built_page>& part : parts) leaves += part.size();
  level.reserve(leaves);
  for (std::vector<built_page>& part : parts) {
    if (part.empty()) continue;
    if (!level.empty()) {
      const auto& last = static_cast<const leaf&>(*level.back().what);
      const std::string_view before = key_at(last, count_of(last) - 1);
      part[0].low = memory_.make_separator(
          order_.between(before, key_at(static_cast<const leaf&>(*part[0].what), 0)));
    }
    level.insert(level.end(), part.begin(), part.end());
    part.clear();
  }
  for (std::size_t i = 0; i < level.size(); ++i) {
    auto& one = static_cast<leaf&>(*level[i].what);
    one.low.store(level[i].low, relaxed);
    one.high.store(i + 1 < level.size() ? level[i + 1].low : nullptr, relaxed);
  }
}

/// Returns a page with these children.
template <domain::persistence_domain D, class Shape, class KeyOf>
auto ordered_index<D, Shape, KeyOf>::make_parent(const built_page* children, std::size_t count)
    -> inner* {
  inner* const made = memory_.template make<inner>();
  made->level = static_cast<std::uint8_t>(children[0].what->level + 1);
  for (std::size_t k = 0; k < count; ++k) {
    made->children[k].store(children[k].what, relaxed);
    if (k != 0) made->keys[k - 1].store(children[k].low, relaxed);
  }
  made->count.store(static_cast<std::uint16_t>(count - 1), relaxed);
  if (order_.is_by_bytes()) {
    const std::string_view first = key_at(*made, 0);
    const auto keys = static_cast<unsigned>(count - 1);
    const std::size_t common =
        keys == 1 ? 0 : common_bytes(first, key_at(*made, keys - 1), page::max_prefix_bytes);
    set_prefix(*made, keys, first.substr(0, common));
  }
  return made;
}

template <domain::persistence_domain D, class Shape, class KeyOf>
void ordered_index<D, Shape, KeyOf>::check_page(const page* at, const bound& low, const bound& high,
                                                std::string& wrong) const {
  if (!wrong.empty()) return;
  if (is_locked(at->version.load(relaxed))) {
    wrong = "a page of the index is locked";
    return;
  }
  if (at->is_leaf) return check_leaf(static_cast<const leaf&>(*at), low, high, wrong);
  const auto& in = static_cast<const inner&>(*at);
  const unsigned count = count_of(in);
  for (unsigned i = 0; i <= count && wrong.empty(); ++i) {
    const bound from = i == 0 ? low : bound(key_at(in, i - 1));
    const bound to = i == count ? high : bound(key_at(in, i));
    if (from && to && compare(*from, *to) >= 0) wrong = "separators of the index are not in order";
    check_page(in.children[i].load(relaxed), from, to, wrong);
  }
}

template <domain::persistence_domain D, class Shape, class KeyOf>
void ordered_index<D, Shape, KeyOf>::check_leaf(const leaf& in, const bound& low, const bound& high,
                                                std::string& wrong) const {
  const auto differ = [](const bound& a, const bound& b) {
    return a.has_value() != b.has_value() || (a && *a != *b);
  };
  if (differ(bound_of(in.low.load(relaxed)), low) ||
      differ(bound_of(in.high.load(relaxed)), high)) {
    wrong = "the bounds of a leaf of the index are not those of its place";
    return;
  }
  const unsigned count = count_of(in);
  for (unsigned i = 0; i < count; ++i) {
    const std::string_view key = key_at(in, i);
    const bool is_inside = (!low || compare(key, *low) >= 0) && (!high || compare(key, *high) < 0);
    const bool ascends = i == 0 || compare(key_at(in, i - 1), key) < 0;
    if (!is_inside || !ascends) {
      wrong = "a key of the index is not at its place";
      return;
    }
    if (!order_.is_by_bytes()) continue;
    const std::size_t prefix = in.prefix_size();
    if (in.compare_prefix(key, prefix) != 0 ||
        in.heads[i].load(relaxed) != head_of<typename leaf::head_type>(key, prefix)) {
      wrong = "the head of a key of the index is not that of the key";
      return;
    }
  }
}

}  // namespace outlast::store_detail::records
