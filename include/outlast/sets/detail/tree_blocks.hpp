// The allocation of a search tree's internal nodes in volatile memory, and of their copies of keys.
#pragma once

#include <outlast/sets/detail/stored_bytes.hpp>
#include <outlast/sets/detail/volatile_blocks.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

namespace outlast::sets::detail {

/// Bytes of any number, which are taken and given back. The destructor frees all memory, taken or
/// not. Thread-safety: take() and give() may be called concurrently. Progress: as volatile_blocks;
/// for more than `greatest` bytes threads may wait for one another.
template <domain::persistence_domain D>
class volatile_bytes {
  struct large {
    large* next;
    large* before;
  };

 public:
  volatile_bytes() {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      blocks_[i] = std::make_unique<volatile_blocks<blank, D>>(sizes[i]);
    }
  }
  ~volatile_bytes() {
    for (large* at = large_; at != nullptr;) std::free(std::exchange(at, at->next));
  }
  volatile_bytes(const volatile_bytes&) = delete;
  volatile_bytes& operator=(const volatile_bytes&) = delete;

  /// Throws std::bad_alloc.
  [[nodiscard]] void* take(std::size_t bytes) {
    return bytes <= greatest ? of(bytes).take() : take_large(bytes);
  }
  /// Gives back the result of a take() of the same number of bytes.
  void give(void* taken, std::size_t bytes) noexcept {
    bytes <= greatest ? of(bytes).give(taken) : give_large(taken, bytes);
  }

  /// Returns the bytes of all threads, used or not. For statistics.
  [[nodiscard]] std::size_t reserved_bytes() const {
    std::size_t sum = large_bytes_.load(std::memory_order_relaxed);
    for (const auto& each : blocks_) sum += each->reserved_bytes();
    return sum;
  }

 private:
  /// Only its size matters.
  struct blank {
    void* words[2];
  };
  static constexpr std::array<std::size_t, 12> sizes = {16,  32,  48,  64,  96,  128,
                                                        192, 256, 384, 512, 768, 1024};
  static constexpr std::size_t greatest = sizes.back();

  [[nodiscard]] volatile_blocks<blank, D>& of(std::size_t bytes) const noexcept {
    const auto* const size = std::lower_bound(sizes.begin(), sizes.end(), bytes);
    return *blocks_[static_cast<std::size_t>(size - sizes.begin())];
  }

  void* take_large(std::size_t bytes) {
    void* const made = std::malloc(sizeof(large) + bytes);
    if (made == nullptr) throw std::bad_alloc();
    const std::lock_guard lock(mutex_);
    large_ = ::new (made) large{large_, nullptr};
    if (large_->next != nullptr) large_->next->before = large_;
    large_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    return large_ + 1;
  }
  void give_large(void* taken, std::size_t bytes) noexcept {
    large* const gone = static_cast<large*>(taken) - 1;
    {
      const std::lock_guard lock(mutex_);
      (gone->before == nullptr ? large_ : gone->before->next) = gone->next;
      if (gone->next != nullptr) gone->next->before = gone->before;
      large_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    }
    std::free(gone);
  }

  std::array<std::unique_ptr<volatile_blocks<blank, D>>, sizes.size()> blocks_;
  std::mutex mutex_;
  large* large_ = nullptr;
  std::atomic<std::size_t> large_bytes_{0};
};

/// The memory of key copies that need none: nothing.
template <class Key, domain::persistence_domain D>
class key_copies {
 public:
  using copy = copied_bytes<Key>;

  [[nodiscard]] copy make(typename reading<Key>::view key) { return copy(key); }
  void free(const copy&) noexcept {}
  [[nodiscard]] std::size_t reserved_bytes() const noexcept { return 0; }
};

/// The bytes of strings that outlive those from which they were copied. As volatile_bytes.
template <domain::persistence_domain D>
class key_copies<std::string, D> {
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
    auto* const bytes = static_cast<char*>(memory_.take(key.size()));
    std::memcpy(bytes, key.data(), key.size());
    return copy({bytes, key.size()});
  }
  void free(const copy& gone) noexcept {
    if (gone.get().empty()) return;
    memory_.give(const_cast<char*>(gone.get().data()), gone.get().size());
  }
  /// For statistics.
  [[nodiscard]] std::size_t reserved_bytes() const { return memory_.reserved_bytes(); }

 private:
  volatile_bytes<D> memory_;
};

/// Internal nodes of type Node: Node(copy of a key, left, right), which are made and given back.
/// The destructor frees all memory. Thread-safety: make() and give() may be called concurrently.
/// Progress: as volatile_blocks, and key_copies.
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
  /// Gives back a node that no thread uses.
  void give(Node* gone) noexcept {
    copies_.free(gone->key);
    blocks_.give(gone);
  }

  /// For statistics.
  [[nodiscard]] std::size_t reserved_bytes() const {
    return blocks_.reserved_bytes() + copies_.reserved_bytes();
  }

 private:
  volatile_blocks<Node, D> blocks_;
  key_copies<Key, D> copies_;
};

}  // namespace outlast::sets::detail
