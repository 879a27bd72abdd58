// Definitions of bplus_tree.hpp: reads of one version.
#pragma once

#include <outlast/containers/bplus_tree.hpp>

#include <cstddef>
#include <optional>

namespace outlast::containers {

/// The keys and values of one version of a tree. Valid inside the transaction.
template <class Key, class Value, class Less, std::size_t Fanout>
class bplus_tree<Key, Value, Less, Fanout>::content {
 public:
  struct entry {
    detail::copy_of<Key> key;
    detail::copy_of<Value> value;
  };

  [[nodiscard]] bool contains(key_view key) const { return find(key) != nullptr; }
  [[nodiscard]] std::optional<detail::copy_of<Value>> get(key_view key) const {
    const auto* const found = find(key);
    if (found == nullptr) return std::nullopt;
    return found->value();
  }
  /// Returns the entry with the stored key: an order may treat other keys as equal.
  [[nodiscard]] std::optional<entry> find_entry(key_view key) const {
    const auto* const found = find(key);
    if (found == nullptr) return std::nullopt;
    return entry{found->key(), found->value()};
  }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  /// Samples the keys from `from` on and before `to`: calls `visit(key, value, times)` in ascending
  /// order, where each key represents `times` keys. Visits all keys if they are few. Otherwise
  /// visits some pages of each height, evenly distributed over the range.
  template <class Visit>
  void visit_some(key_view from, key_view to, Visit&& visit) const {
    if (root_ == nullptr || !order_(from, to)) return;
    std::vector<seen_page> pages{{root_at(root_), 1}};
    while (!is_leaf(*pages.front().page)) {
      std::vector<seen_page> below;
      for (const seen_page& each : pages) {
        const inner& here = as_inner(each.page);
        std::size_t i = &each == &pages.front() ? child_of(here, from, order_) : 0;
        const std::size_t end =
            &each == &pages.back() ? child_of(here, to, order_) + 1 : here.size();
        for (; i < end; ++i) below.push_back({child_at(here, i), each.times});
      }
      pages = some_of(below);
    }
    for (const seen_page& each : pages) {
      const leaf& here = as_leaf(each.page);
      std::size_t i = &each == &pages.front() ? place_of(here, from, false, order_) : 0;
      const std::size_t end =
          &each == &pages.back() ? place_of(here, to, false, order_) : here.size();
      for (; i < end; ++i) visit(here.item(i).key(), here.item(i).value(), each.times);
    }
  }
  /// Returns the first entry whose key is not less than `key`.
  [[nodiscard]] std::optional<entry> lower_bound(key_view key) const {
    std::optional<entry> found;
    ascend_from(key, [&](key_view at, value_view value) {
      found.emplace(entry{at, value});
      return false;
    });
    return found;
  }

  /// Calls `visit(key, value)` for each key in ascending order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    ascend([&](key_view key, value_view value) {
      visit(key, value);
      return true;
    });
  }
  /// The same while `visit` returns true: for all keys, for those from `key` on, and for those
  /// after `key`.
  template <class Visit>
  void ascend(Visit&& visit) const {
    walk_up_all(nullptr, visit);
  }
  template <class Visit>
  void ascend_from(key_view key, Visit&& visit) const {
    const bound from{key, false};
    walk_up_all(&from, visit);
  }
  template <class Visit>
  void ascend_after(key_view key, Visit&& visit) const {
    const bound from{key, true};
    walk_up_all(&from, visit);
  }
  /// The same in descending order: for all keys, for those up to `key`, and for those before `key`.
  template <class Visit>
  void descend(Visit&& visit) const {
    walk_down_all(nullptr, visit);
  }
  template <class Visit>
  void descend_from(key_view key, Visit&& visit) const {
    const bound from{key, true};
    walk_down_all(&from, visit);
  }
  template <class Visit>
  void descend_before(key_view key, Visit&& visit) const {
    const bound from{key, false};
    walk_down_all(&from, visit);
  }

 private:
  friend bplus_tree;

  /// A bound before a key, or after it.
  struct bound {
    key_view key;
    bool beyond;
  };

  content(const header* root, std::size_t count, Less order)
      : root_(root), count_(count), order_(order) {}

  [[nodiscard]] const detail::leaf_item<Key, Value>* find(key_view key) const {
    if (root_ == nullptr) return nullptr;
    const header* at = root_at(root_);
    while (!is_leaf(*at)) at = child_at(as_inner(at), child_of(as_inner(at), key, order_), true);
    const leaf& last = as_leaf(at);
    const std::size_t i = find_in(last, key, order_);
    return i == last.size() ? nullptr : &last.item(i);
  }

  /// A page that represents so many of its height.
  struct seen_page {
    const header* page;
    double times;
  };
  /// The maximum number of pages visited between the first and the last page of a range.
  static constexpr std::size_t max_between = 64;
  static std::vector<seen_page> some_of(const std::vector<seen_page>& pages) {
    if (pages.size() <= max_between + 2) return pages;
    const std::size_t between = pages.size() - 2;
    std::vector<seen_page> some{pages.front()};
    for (std::size_t i = 0; i < max_between; ++i) {
      const seen_page& one = pages[1 + (2 * i + 1) * between / (2 * max_between)];
      some.push_back({one.page, one.times * static_cast<double>(between) / max_between});
    }
    some.push_back(pages.back());
    return some;
  }

  template <class Visit>
  void walk_up_all(const bound* from, Visit& visit) const {
    if (root_ != nullptr) walk_up(root_at(root_), from, visit);
  }
  template <class Visit>
  void walk_down_all(const bound* from, Visit& visit) const {
    if (root_ != nullptr) walk_down(root_at(root_), from, visit);
  }

  template <class Visit>
  bool walk_up(const header* at, const bound* from, Visit& visit) const {
    if (is_leaf(*at)) {
      const leaf& here = as_leaf(at);
      std::size_t i = from == nullptr ? 0 : place_of(here, from->key, from->beyond, order_);
      for (; i < here.size(); ++i) {
        if (i + ahead < here.size()) here.item(i + ahead).expect();
        if (!visit(here.item(i).key(), here.item(i).value())) return false;
      }
      return true;
    }
    const inner& here = as_inner(at);
    for (std::size_t i = from == nullptr ? 0 : child_of(here, from->key, order_); i < here.size();
         ++i) {
      if (!walk_up(child_at(here, i), from, visit)) return false;
      from = nullptr;
    }
    return true;
  }

  template <class Visit>
  bool walk_down(const header* at, const bound* from, Visit& visit) const {
    if (is_leaf(*at)) {
      const leaf& here = as_leaf(at);
      std::size_t i =
          from == nullptr ? here.size() : place_of(here, from->key, from->beyond, order_);
      for (; i > 0; --i) {
        if (i > ahead) here.item(i - 1 - ahead).expect();
        if (!visit(here.item(i - 1).key(), here.item(i - 1).value())) return false;
      }
      return true;
    }
    const inner& here = as_inner(at);
    for (std::size_t i = from == nullptr ? here.size() : child_of(here, from->key, order_) + 1;
         i > 0; --i) {
      if (!walk_down(child_at(here, i - 1), from, visit)) return false;
      from = nullptr;
    }
    return true;
  }

  static constexpr std::size_t ahead = 6;  // entries that are prefetched while one is visited

  const header* root_;
  std::size_t count_;
  [[no_unique_address]] Less order_;
};

}  // namespace outlast::containers
