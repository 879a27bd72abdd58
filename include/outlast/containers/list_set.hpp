// A set in transactions, as a list in ascending order.
#pragma once

#include <outlast/containers/detail/stored_names.hpp>
#include <outlast/tx/field.hpp>
#include <outlast/tx/heap.hpp>

#include <cstddef>

namespace outlast::containers {

/// Sequential code, an object of a transaction manager. `Key` is trivially copyable and ordered
/// by <. Operations visit all smaller keys.
template <class Key>
class list_set {
 public:
  /// Adds `key`. Returns false if it exists. Throws out_of_space.
  bool insert(const Key& key) {
    tx::pointer<node>& link = place_of(key);
    if (holds(link, key)) return false;
    link = tx::alloc<node>(key, link.get());
    return true;
  }

  /// Removes `key`. Returns false if it does not exist.
  bool erase(const Key& key) {
    tx::pointer<node>& link = place_of(key);
    if (!holds(link, key)) return false;
    node* const gone = link;
    link = gone->next.get();
    tx::free(gone);
    return true;
  }

  [[nodiscard]] bool contains(const Key& key) const {
    return holds(const_cast<list_set*>(this)->place_of(key), key);
  }
  /// Visits all keys: a counter would be one more line to write in every change.
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t all = 0;
    for_each([&all](const Key&) { ++all; });
    return all;
  }

  /// Calls `visit(key)` for each key in ascending order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const node* at = first_; at != nullptr; at = at->next) visit(at->key.get());
  }

 private:
  struct node {
    node(const Key& held, node* behind) : key(held), next(behind) {}
    tx::field<Key> key;
    tx::pointer<node> next;
  };

  /// The link after all smaller keys.
  [[nodiscard]] tx::pointer<node>& place_of(const Key& key) {
    tx::pointer<node>* link = &first_;
    while (*link != nullptr && (*link)->key.get() < key) link = &link->get()->next;
    return *link;
  }
  [[nodiscard]] static bool holds(const tx::pointer<node>& link, const Key& key) {
    return link != nullptr && !(key < link->key.get());
  }

  tx::pointer<node> first_;
};

}  // namespace outlast::containers
