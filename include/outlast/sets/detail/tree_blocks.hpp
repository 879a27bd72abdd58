// Where the internal nodes of a search tree in volatile memory come from, and their copies of keys.
#pragma once

#include <outlast/sets/detail/stored_bytes.hpp>
#include <outlast/sets/detail/volatile_blocks.hpp>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory_resource>
#include <new>
#include <string>
#include <type_traits>

namespace outlast::sets::detail {

/// What copies of keys need beside themselves: nothing.
template <class Key>
class key_copies {
 public:
  using copy = copied_bytes<Key>;

  [[nodiscard]] copy make(typename reading<Key>::view key) { return copy(key); }
  void free(const copy&) noexcept {}
  [[nodiscard]] std::size_t reserved_bytes() const noexcept { return 0; }
};

/// The bytes of strings, which outlive those that they were copied from. All memory is given back
/// with the object. Thread-safety: make() and free() may be called concurrently; threads may wait
/// for one another there.
template <>
class key_copies<std::string> {
 public:
  class copy {
   public:
    [[nodiscard]] reading<std::string>::view get() const noexcept { return bytes_; }

   private:
    friend key_copies;
    explicit copy(reading<std::string>::view bytes) : bytes_(bytes) {}
    reading<std::string>::view bytes_;
  };

  /// Throws std::bad_alloc.
  [[nodiscard]] copy make(reading<std::string>::view key) {
    if (key.empty()) return copy({});
    auto* const bytes = static_cast<char*>(memory_.allocate(key.size(), 1));
    std::memcpy(bytes, key.data(), key.size());
    return copy({bytes, key.size()});
  }
  void free(const copy& gone) noexcept {
    if (gone.get().empty()) return;
    memory_.deallocate(const_cast<char*>(gone.get().data()), gone.get().size(), 1);
  }
  /// For statistics.
  [[nodiscard]] std::size_t reserved_bytes() const noexcept { return source_.bytes(); }

 private:
  /// The run-time library's allocator, counted.
  class counted_source final : public std::pmr::memory_resource {
   public:
    [[nodiscard]] std::size_t bytes() const noexcept {
      return bytes_.load(std::memory_order_relaxed);
    }

   private:
    void* do_allocate(std::size_t bytes, std::size_t align) override {
      void* const made = std::pmr::new_delete_resource()->allocate(bytes, align);
      bytes_.fetch_add(bytes, std::memory_order_relaxed);
      return made;
    }
    void do_deallocate(void* memory, std::size_t bytes, std::size_t align) override {
      std::pmr::new_delete_resource()->deallocate(memory, bytes, align);
      bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    }
    [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
      return this == &other;
    }

    std::atomic<std::size_t> bytes_{0};
  };

  counted_source source_;
  std::pmr::synchronized_pool_resource memory_{&source_};
};

/// Internal nodes of type Node: Node(copy of a key, left, right), which come and go. All memory is
/// given back with the object.
/// Thread-safety: make() and give() may be called concurrently. Progress: as volatile_blocks, and
/// key_copies.
template <class Node, class Key, domain::persistence_domain D>
class tree_blocks {
  static_assert(std::is_trivially_destructible_v<Node>);

 public:
  /// Throws std::bad_alloc.
  template <class Edge>
  [[nodiscard]] Node* make(typename reading<Key>::view key, Edge left, Edge right) {
    void* const block = blocks_.take();
    try {
      return ::new (block) Node(copies_.make(key), left, right);
    } catch (...) {
      blocks_.give(block);
      throw;
    }
  }
  /// Nobody uses the node any more.
  void give(Node* gone) {
    copies_.free(gone->key);
    blocks_.give(gone);
  }

  /// For statistics.
  [[nodiscard]] std::size_t reserved_bytes() const {
    return blocks_.reserved_bytes() + copies_.reserved_bytes();
  }

 private:
  volatile_blocks<Node, D> blocks_;
  key_copies<Key> copies_;
};

}  // namespace outlast::sets::detail
