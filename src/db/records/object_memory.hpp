// Memory for small objects of a store that readers may still use after they were removed.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/domain/spin_lock.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace outlast::store_detail::records {

/// Objects of the given types. Their memory is returned to the system with the object_memory. So a
/// store that ends without a close leaves nothing, although a reclaimer has objects of it.
/// Thread-safety: all members may be called concurrently.
template <domain::persistence_domain D, class... Types>
class object_memory {
 public:
  object_memory() = default;
  object_memory(const object_memory&) = delete;
  object_memory& operator=(const object_memory&) = delete;

  /// Returns a new object. Throws std::bad_alloc.
  template <class T>
  [[nodiscard]] T* make() {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (take<T>()) T();
  }
  /// Returns the memory of an object. Requires: no thread uses it.
  template <class T>
  void destroy(T* object) noexcept {
    store<T>& from = std::get<store<T>>(stores_);
    const std::lock_guard lock(from.lock);
    from.first = new (static_cast<void*>(object)) free_memory{from.first};
    from.count.store(from.count.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  }
  /// Returns the number of objects of a type.
  template <class T>
  [[nodiscard]] std::size_t count() const noexcept {
    return std::get<store<T>>(stores_).count.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return bytes_.load(std::memory_order_relaxed);
  }

 private:
  struct free_memory {
    free_memory* next;
  };
  template <class T>
  struct store {
    static constexpr std::size_t per_chunk = 64;
    struct alignas(T) alignas(free_memory) cell {
      std::array<std::byte, sizeof(T) < sizeof(free_memory) ? sizeof(free_memory) : sizeof(T)> is;
    };

    domain::spin_lock<D> lock;
    free_memory* first = nullptr;
    std::atomic<std::size_t> count{0};
    std::vector<std::unique_ptr<cell[]>> chunks;
  };

  template <class T>
  void* take() {
    store<T>& from = std::get<store<T>>(stores_);
    const std::lock_guard lock(from.lock);
    if (from.first == nullptr) add_chunk(from);
    from.count.store(from.count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return std::exchange(from.first, from.first->next);
  }
  template <class T>
  void add_chunk(store<T>& to) {
    using cell = typename store<T>::cell;
    auto& made = to.chunks.emplace_back();
    try {
      made = std::make_unique<cell[]>(store<T>::per_chunk);
    } catch (...) {
      to.chunks.pop_back();
      throw;
    }
    bytes_.fetch_add(sizeof(cell) * store<T>::per_chunk, std::memory_order_relaxed);
    for (std::size_t i = store<T>::per_chunk; i-- > 0;) {
      to.first = new (static_cast<void*>(&made[i])) free_memory{to.first};
    }
  }

  std::tuple<store<Types>...> stores_;
  std::atomic<std::size_t> bytes_{0};
};

}  // namespace outlast::store_detail::records
