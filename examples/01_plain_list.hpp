// A lock-free sorted set of numbers, written for volatile memory. (Harris, 2001)
// 01_durable_list.hpp is the same source made durable; compare the two.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

struct node {
  node(std::uint64_t its_key, node* its_next) : key(its_key), next(its_next) {}

  std::uint64_t key;
  std::atomic<node*> next;  // lowest bit: this node is deleted
};

inline bool deleted(node* link) { return (reinterpret_cast<std::uintptr_t>(link) & 1) != 0; }
inline node* marked(node* link) {
  return reinterpret_cast<node*>(reinterpret_cast<std::uintptr_t>(link) | 1);
}
inline node* unmarked(node* link) {
  return reinterpret_cast<node*>(reinterpret_cast<std::uintptr_t>(link) & ~std::uintptr_t{1});
}

/// `Memory` creates nodes with make(key, next), and frees unlinked nodes with unmake(node).
template <class Memory>
class number_set {
 public:
  number_set(Memory& memory, node& head) : memory_(memory), head_(head) {}

  bool insert(std::uint64_t key) {
    for (;;) {
      auto [before, at] = search(key);
      if (at != nullptr && at->key == key) return false;
      node* const fresh = memory_.make(key, at);
      if (before->next.compare_exchange_strong(at, fresh)) return true;
      memory_.unmake(fresh);
    }
  }

  bool erase(std::uint64_t key) {
    for (;;) {
      auto [before, at] = search(key);
      if (at == nullptr || at->key != key) return false;
      node* next = at->next.load();
      if (deleted(next) || !at->next.compare_exchange_strong(next, marked(next))) continue;
      if (!before->next.compare_exchange_strong(at, next)) search(key);
      return true;
    }
  }

  bool contains(std::uint64_t key) {
    node* at = head_.next.load();
    while (at != nullptr && at->key < key) at = unmarked(at->next.load());
    return at != nullptr && at->key == key && !deleted(at->next.load());
  }

 private:
  /// Returns the first node that is not deleted and not before `key`, and its predecessor. Unlinks
  /// deleted nodes on the way.
  std::pair<node*, node*> search(std::uint64_t key) {
    for (;;) {
      node* before = &head_;
      node* at = before->next.load();
      bool lost = false;
      while (at != nullptr && !lost) {
        node* const next = at->next.load();
        if (deleted(next)) {
          lost = !before->next.compare_exchange_strong(at, unmarked(next));
          if (!lost) at = unmarked(next);
        } else if (at->key < key) {
          before = at;
          at = next;
        } else {
          return {before, at};
        }
      }
      if (!lost) return {before, nullptr};
    }
  }

  Memory& memory_;
  node& head_;
};
