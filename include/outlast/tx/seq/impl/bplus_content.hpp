// Definitions of bplus_tree.hpp: what is read of a moment.
#pragma once

#include <outlast/tx/seq/bplus_tree.hpp>

#include <cstddef>
#include <optional>

namespace outlast::tx::seq {

/// The keys and values of one moment of a tree. Valid inside of the transaction.
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
  /// The key itself, as it is kept: an order may take others for equal.
  [[nodiscard]] std::optional<entry> find_entry(key_view key) const {
    const auto* const found = find(key);
    if (found == nullptr) return std::nullopt;
    return entry{found->key(), found->value()};
  }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  /// About which part of the keys are less than `key`, from 0 to 1: as if pages of one height had
  /// as much below them. Not less for a greater key. Visits one page of each height.
  [[nodiscard]] double part_before(key_view key) const {
    double before = 0;
    double below = 1;
    if (root_ == nullptr) return 0;
    const header* at = root_at(root_);
    while (!is_leaf(*at)) {
      const inner& here = as_inner(at);
      const std::size_t i = child_of(here, key, order_);
      below /= static_cast<double>(here.size());
      before += below * static_cast<double>(i);
      at = child_at(here, i);
    }
    const leaf& last = as_leaf(at);
    return before + below * static_cast<double>(place_of(last, key, false, order_)) /
                        static_cast<double>(last.size());
  }
  /// The first key that is not less than `key`.
  [[nodiscard]] std::optional<entry> lower_bound(key_view key) const {
    std::optional<entry> found;
    ascend_from(key, [&](key_view at, value_view value) {
      found.emplace(entry{at, value});
      return false;
    });
    return found;
  }

  /// Calls `visit(key, value)` in ascending order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    ascend([&](key_view key, value_view value) {
      visit(key, value);
      return true;
    });
  }
  /// The same while it answers true; of all keys, of those from `key` on, of those behind it.
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
  /// The same in descending order; of all keys, of those up to `key`, of those before it.
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

  /// Before a key, or beyond it.
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

  static constexpr std::size_t ahead = 6;  // entries that are on their way while one is visited

  const header* root_;
  std::size_t count_;
  [[no_unique_address]] Less order_;
};

}  // namespace outlast::tx::seq
