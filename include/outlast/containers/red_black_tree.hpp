// An ordered map in transactions, as a red-black tree.
#pragma once

#include <outlast/containers/detail/stored.hpp>
#include <outlast/containers/detail/stored_names.hpp>
#include <outlast/tx/field.hpp>
#include <outlast/tx/heap.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace outlast::containers {

/// Sequential code, an object of a transaction manager. Key and Value are trivially copyable, and
/// keys are ordered by <. Or they are std::string, for byte strings of any length. These are passed
/// and returned as std::string_view, and ordered as unsigned bytes. A view is valid inside the
/// transaction, until the tree changes.
///
/// A member that throws out_of_space may have changed part of the tree. The operation must then end
/// with the exception, which undoes all its changes.
///
/// Invariants:
///   I1  keys strictly increase from left to right.
///   I2  no red node has a red child, and the root is black.
///   I3  every path from the root to a missing child has equally many black nodes.
/// So no key is deeper than twice the logarithm of the number of keys. [CLRS, chapter 13]
template <class Key, class Value>
class red_black_tree {
  using key_view = detail::view_of<Key>;
  using value_view = detail::view_of<Value>;

 public:
  using key_type = Key;
  using mapped_type = Value;

  /// Adds an entry. Returns false, without a change, if the key exists. Throws out_of_space.
  bool insert(key_view key, value_view value) { return add(key, value, false); }
  /// Sets the value of a key. Returns true if the key is new. Throws out_of_space.
  bool put(key_view key, value_view value) { return add(key, value, true); }
  /// Replaces the value of a key. Returns false if the key does not exist. Throws out_of_space if
  /// values are strings.
  bool update(key_view key, value_view value) {
    node* const at = find(key);
    if (at == nullptr) return false;
    at->value.set(value);
    return true;
  }
  /// Removes a key. Returns false if it does not exist.
  bool erase(key_view key) {
    node* const at = find(key);
    if (at == nullptr) return false;
    remove(at);
    --count_;
    return true;
  }

  [[nodiscard]] bool contains(key_view key) const { return find(key) != nullptr; }
  [[nodiscard]] std::optional<detail::copy_of<Value>> get(key_view key) const {
    const node* const at = find(key);
    if (at == nullptr) return std::nullopt;
    return at->value.get();
  }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

  /// Calls `visit(key, value)` for each key in ascending order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const node* at = first(); at != nullptr; at = next_of(at)) {
      visit(at->key.get(), at->value.get());
    }
  }

  /// Returns the first violated invariant; "" if there is none. Visits all entries.
  [[nodiscard]] std::string check() const {
    if (is_red(root_)) return "I2: the root is red";
    std::size_t nodes = 0;
    std::string wrong;
    static_cast<void>(check_below(root_, nodes, wrong));
    if (wrong.empty() && nodes != count_) wrong = "the count is wrong";
    return wrong;
  }

 private:
  enum side : std::size_t { left = 0, right = 1 };
  struct node {
    node(key_view of, value_view held, node* above) : key(of), value(held), parent(above) {}
    detail::stored<Key> key;
    detail::stored<Value> value;
    tx::pointer<node> child[2];
    tx::pointer<node> parent;
    tx::field<bool> red{true};
  };

  static side other(side at) noexcept { return at == left ? right : left; }
  static bool is_red(const node* at) noexcept { return at != nullptr && at->red; }
  /// The side of `at` below its parent.
  static side side_of(const node* at) noexcept {
    return at->parent->child[left] == at ? left : right;
  }
  [[nodiscard]] tx::pointer<node>& link_to(node* at) {
    return at->parent == nullptr ? root_ : at->parent->child[side_of(at)];
  }

  [[nodiscard]] node* find(key_view key) const {
    node* at = root_;
    while (at != nullptr) {
      if (key < at->key.get()) {
        at = at->child[left];
      } else if (at->key.get() < key) {
        at = at->child[right];
      } else {
        break;
      }
    }
    return at;
  }

  bool add(key_view key, value_view value, bool replaces) {
    node* above = nullptr;
    tx::pointer<node>* link = &root_;
    while (*link != nullptr) {
      above = *link;
      if (key < above->key.get()) {
        link = &above->child[left];
      } else if (above->key.get() < key) {
        link = &above->child[right];
      } else {
        if (replaces) above->value.set(value);
        return false;
      }
    }
    node* const made = tx::alloc<node>(key, value, above);
    *link = made;
    ++count_;
    repair_red(made);
    return true;
  }

  /// Moves `at` down to the side `to`; its child on the other side takes its place.
  void rotate(node* at, side to) {
    node* const up = at->child[other(to)];
    node* const between = up->child[to];
    link_to(at) = up;
    up->parent = at->parent.get();
    at->child[other(to)] = between;
    if (between != nullptr) between->parent = at;
    up->child[to] = at;
    at->parent = up;
  }

  /// Restores I2 above `at`, which is red, if its parent is red too.
  void repair_red(node* at) {
    while (is_red(at->parent)) {
      node* const parent = at->parent;
      node* const above = parent->parent;
      const side mine = side_of(parent);
      node* const uncle = above->child[other(mine)];
      if (is_red(uncle)) {
        parent->red = false;
        uncle->red = false;
        above->red = true;
        at = above;
        continue;
      }
      if (side_of(at) != mine) {
        rotate(parent, mine);
        at = parent;
      }
      at->parent->red = false;
      above->red = true;
      rotate(above, other(mine));
    }
    if (root_->red) root_->red = false;
  }

  void remove(node* gone) {
    gone->key.release();
    gone->value.release();
    if (gone->child[left] != nullptr && gone->child[right] != nullptr) {
      node* next = gone->child[right];
      while (next->child[left] != nullptr) next = next->child[left];
      gone->key.take(next->key);
      gone->value.take(next->value);
      gone = next;
    }
    node* const below = gone->child[gone->child[left] != nullptr ? left : right];
    node* const parent = gone->parent;
    const side at = parent != nullptr ? side_of(gone) : left;
    link_to(gone) = below;
    if (below != nullptr) below->parent = parent;
    if (!gone->red) repair_black(parent, at);
    tx::free(gone);
  }

  /// Restores I3: on the side `at` of `parent` (nullptr: at the root) every path has one black node
  /// too few.
  void repair_black(node* parent, side at) {
    while (parent != nullptr && !is_red(parent->child[at])) {
      node* sibling = parent->child[other(at)];
      if (is_red(sibling)) {
        sibling->red = false;
        parent->red = true;
        rotate(parent, at);
        sibling = parent->child[other(at)];
      }
      if (!is_red(sibling->child[left]) && !is_red(sibling->child[right])) {
        sibling->red = true;
        if (parent->parent == nullptr) {
          parent->red = false;
          return;
        }
        const node* const done = parent;
        at = side_of(done);
        if (parent->red) {
          parent->red = false;
          return;
        }
        parent = parent->parent;
        continue;
      }
      if (!is_red(sibling->child[other(at)])) {
        sibling->child[at]->red = false;
        sibling->red = true;
        rotate(sibling, other(at));
        sibling = parent->child[other(at)];
      }
      sibling->red = parent->red.get();
      parent->red = false;
      sibling->child[other(at)]->red = false;
      rotate(parent, at);
      return;
    }
    node* const below = parent == nullptr ? root_.get() : parent->child[at].get();
    if (below != nullptr && below->red) below->red = false;
  }

  [[nodiscard]] const node* first() const {
    const node* at = root_;
    while (at != nullptr && at->child[left] != nullptr) at = at->child[left];
    return at;
  }
  [[nodiscard]] static const node* next_of(const node* at) {
    if (at->child[right] != nullptr) {
      at = at->child[right];
      while (at->child[left] != nullptr) at = at->child[left];
      return at;
    }
    while (at->parent != nullptr && side_of(at) == right) at = at->parent;
    return at->parent;
  }

  /// The number of black nodes on every path down from `at`, including its missing children.
  [[nodiscard]] std::size_t check_below(const node* at, std::size_t& nodes,
                                        std::string& wrong) const {
    if (at == nullptr) return 1;
    ++nodes;
    const node* const small = at->child[left];
    const node* const large = at->child[right];
    if (small != nullptr && !(small->key.get() < at->key.get())) wrong = "I1: left";
    if (large != nullptr && !(at->key.get() < large->key.get())) wrong = "I1: right";
    if (at->red && (is_red(small) || is_red(large))) wrong = "I2: red under red";
    if (small != nullptr && small->parent != at) wrong = "a parent is wrong";
    if (large != nullptr && large->parent != at) wrong = "a parent is wrong";
    const std::size_t black = check_below(small, nodes, wrong);
    if (check_below(large, nodes, wrong) != black) wrong = "I3: black nodes";
    return black + (at->red ? 0 : 1);
  }

  tx::pointer<node> root_;
  tx::field<std::uint64_t> count_;
};

}  // namespace outlast::containers
