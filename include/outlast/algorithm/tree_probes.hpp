// Probes for a search tree, and the ranges of its walks.
#pragma once

namespace outlast::algorithm {

// Internal nodes and leaves may have nothing in common but `key`.

/// Looks for a key.
template <class Key, class Compare>
struct tree_probe {
  const Key& key;

  template <class Entry>
  [[nodiscard]] bool goes_left(const Entry& at) const {
    return Compare{}(key, at.key.get());
  }
  template <class Leaf>
  [[nodiscard]] bool matches(const Leaf& at) const {
    return !Compare{}(key, at.key.get()) && !Compare{}(at.key.get(), key);
  }
};

/// Looks for the least or the greatest key.
template <bool Least>
struct to_the_end {
  template <class Entry>
  [[nodiscard]] bool goes_left(const Entry&) const noexcept {
    return Least;
  }
  template <class Leaf>
  [[nodiscard]] bool matches(const Leaf&) const noexcept {
    return true;
  }
};

/// All keys.
template <class Compare>
struct whole_tree {
  template <class Leaf>
  [[nodiscard]] static bool precedes(const Leaf& one, const Leaf& other) {
    return Compare{}(one.key.get(), other.key.get());
  }
  template <class Entry>
  [[nodiscard]] bool begins_before(const Entry&) const noexcept {
    return true;
  }
  template <class Entry>
  [[nodiscard]] bool ends_before(const Entry&) const noexcept {
    return false;
  }
  template <class Entry>
  [[nodiscard]] bool begins_at_or_before(const Entry&) const noexcept {
    return true;
  }
  template <class Leaf>
  [[nodiscard]] bool contains(const Leaf&) const noexcept {
    return true;
  }
};

/// The keys that are not less than `from` and less than `to`.
template <class Key, class Compare>
struct tree_range : whole_tree<Compare> {
  const Key& from;
  const Key& to;

  tree_range(const Key& its_begin, const Key& its_end) : from(its_begin), to(its_end) {}
  template <class Entry>
  [[nodiscard]] bool begins_before(const Entry& at) const {
    return Compare{}(from, at.key.get());
  }
  template <class Entry>
  [[nodiscard]] bool ends_before(const Entry& at) const {
    return !Compare{}(at.key.get(), to);
  }
  template <class Entry>
  [[nodiscard]] bool begins_at_or_before(const Entry& at) const {
    return !Compare{}(at.key.get(), from);
  }
  template <class Leaf>
  [[nodiscard]] bool contains(const Leaf& at) const {
    return begins_at_or_before(at) && !ends_before(at);
  }
};

}  // namespace outlast::algorithm
