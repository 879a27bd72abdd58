// A hash map that grows.
#pragma once

#include <outlast/base/hash.hpp>
#include <outlast/tx/field.hpp>
#include <outlast/tx/heap.hpp>
#include <outlast/tx/seq/detail/stored.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace outlast::tx::seq {

/// Sequential; an object of a transaction manager. Key and Value are trivially copyable, or
/// std::string for bytes of any number, which are given and shown as std::string_view: a view is
/// valid inside of the transaction, until its entry changes. An insertion that finds twice as many
/// keys as buckets doubles these, in its own transaction.
///
/// What throws out_of_space may have done half of its work: the operation has to end with it, which
/// takes everything back.
template <class Key, class Value, class Hash = base::default_hash<Key>>
class hash_map {
  using key_view = detail::view_of<Key>;
  using value_view = detail::view_of<Value>;

 public:
  using key_type = Key;
  using mapped_type = Value;

  /// False, and no change, if the key is there. Throws out_of_space.
  bool insert(key_view key, value_view value) {
    if (find(key) != nullptr) return false;
    add(key, value);
    return true;
  }
  /// The key has the value; true if it is new. Throws out_of_space.
  bool put(key_view key, value_view value) {
    if (update(key, value)) return false;
    add(key, value);
    return true;
  }
  /// Another value for a key; false if it is not there. Throws out_of_space, if values are strings.
  bool update(key_view key, value_view value) {
    node* const at = find(key);
    if (at == nullptr) return false;
    at->value.set(value);
    return true;
  }
  /// False if it is not there.
  bool erase(key_view key) {
    if (count_ == 0) return false;
    pointer<node>* link = &bucket_of(key);
    while (*link != nullptr && !(link->get()->key.get() == key)) link = &link->get()->next;
    node* const gone = *link;
    if (gone == nullptr) return false;
    *link = gone->next.get();
    --count_;
    gone->key.release();
    gone->value.release();
    free(gone);
    return true;
  }

  [[nodiscard]] bool contains(key_view key) const { return find(key) != nullptr; }
  [[nodiscard]] std::optional<detail::copy_of<Value>> get(key_view key) const {
    const node* const at = find(key);
    if (at == nullptr) return std::nullopt;
    return at->value.get();
  }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

  /// Calls `visit(key, value)` in no order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t i = 0; i < size_of_table_; ++i) {
      for (const node* at = table_.get()[i]; at != nullptr; at = at->next) {
        visit(at->key.get(), at->value.get());
      }
    }
  }

 private:
  struct node {
    node(key_view of, value_view held, node* behind) : key(of), value(held), next(behind) {}
    detail::stored<Key> key;
    detail::stored<Value> value;
    pointer<node> next;
  };
  static constexpr std::size_t least_buckets = 4;

  [[nodiscard]] pointer<node>& bucket_of(key_view key) const {
    return table_.get()[Hash{}(key) & (size_of_table_ - 1)];
  }
  [[nodiscard]] node* find(key_view key) const {
    if (count_ == 0) return nullptr;
    node* at = bucket_of(key);
    while (at != nullptr && !(at->key.get() == key)) at = at->next;
    return at;
  }
  void add(key_view key, value_view value) {
    if (count_ >= 2 * size_of_table_) grow();
    pointer<node>& head = bucket_of(key);
    head = alloc<node>(key, value, head.get());
    ++count_;
  }
  void grow() {
    const std::size_t before = size_of_table_;
    pointer<node>* const old = table_;
    const std::size_t size = before == 0 ? least_buckets : 2 * before;
    table_ = alloc_array<pointer<node>>(size);
    size_of_table_ = size;
    for (std::size_t i = 0; i < before; ++i) {
      for (node* at = old[i]; at != nullptr;) {
        node* const next = at->next;
        pointer<node>& head = bucket_of(at->key.get());
        at->next = head.get();
        head = at;
        at = next;
      }
    }
    free(old);
  }

  pointer<pointer<node>> table_;
  field<std::uint64_t> size_of_table_;
  field<std::uint64_t> count_;
};

}  // namespace outlast::tx::seq
