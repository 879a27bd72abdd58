// Memory for small objects of a store that readers may still use after they were removed.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/domain/spin_lock.hpp>
#include <src/db/records/kept_index.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace outlast::store_detail::records {

/// Objects of the given types. Their memory is returned to the system with the object_memory,
/// unless it is that of an index that outlives the process. So a store that ends without a close
/// leaves nothing, although a reclaimer has objects of it. The first word of an object that is free
/// is 0.
/// Thread-safety: all members may be called concurrently, except use() and the following ones.
template <domain::persistence_domain D, class Shape, class... Types>
class object_memory {
  using kept_type = kept_index<D, Shape>;
  using chunk = typename kept_type::object_chunk;

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
    free_in(from, object);
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

  // ---- an index that outlives the process ----

  /// Makes objects in `kept` from now on. Requires: no object exists.
  void use(kept_type& kept) noexcept { kept_ = &kept; }
  /// Calls `visit(object)` for the objects that an earlier life has left. Some of them may have
  /// been freed.
  template <class T, class Visit>
  void for_each_left(Visit&& visit) {
    for_each_cell<T>([&](typename store<T>::cell& at) {
      std::uint64_t first = 0;
      std::memcpy(&first, &at, sizeof first);
      if (first != 0) visit(*std::launder(reinterpret_cast<T*>(&at)));
    });
  }
  /// Frees all objects that an earlier life has left.
  void free_left() { (free_left_in(std::get<store<Types>>(stores_)), ...); }

 private:
  struct free_memory {
    free_memory* next;
  };
  template <class T>
  struct store {
    static constexpr std::size_t per_chunk = 64;
    static constexpr std::size_t cell_bytes =
        std::max(sizeof(T), sizeof(std::uint64_t) + sizeof(free_memory));
    struct alignas(T) alignas(free_memory) cell {
      std::array<std::byte, cell_bytes> is;
    };

    domain::spin_lock<D> lock;
    free_memory* first = nullptr;
    std::atomic<std::size_t> count{0};
    std::vector<std::unique_ptr<cell[]>> chunks;
  };

  template <class T>
  static constexpr unsigned kind_of() noexcept {
    unsigned kind = 0;
    static_cast<void>(((std::is_same_v<T, Types> ? true : (++kind, false)) || ...));
    return kind;
  }
  static_assert(sizeof...(Types) <= kept_type::kinds_of_objects);

  template <class T>
  static free_memory* link_of(void* cell) noexcept {
    constexpr std::size_t at = sizeof(typename store<T>::cell) - sizeof(free_memory);
    return reinterpret_cast<free_memory*>(static_cast<std::byte*>(cell) + at);
  }
  template <class T>
  static void free_in(store<T>& to, void* cell) noexcept {
    new (cell) std::uint64_t{0};
    to.first = new (link_of<T>(cell)) free_memory{to.first};
  }
  template <class T>
  void free_left_in(store<T>& to) {
    for_each_cell<T>([&](typename store<T>::cell& at) { free_in(to, &at); });
  }
  template <class T, class Visit>
  void for_each_cell(Visit&& visit) {
    using cell = typename store<T>::cell;
    chunk* at = kept_->chunks(kind_of<T>()).load(std::memory_order_relaxed);
    for (; at != nullptr; at = at->next) {
      auto* const cells = reinterpret_cast<cell*>(first_cell(at));
      for (std::size_t i = 0; i < store<T>::per_chunk; ++i) visit(cells[i]);
    }
  }
  static std::byte* first_cell(chunk* of) noexcept {
    return reinterpret_cast<std::byte*>(of) + base::cache_line_size;
  }

  template <class T>
  void* take() {
    store<T>& from = std::get<store<T>>(stores_);
    const std::lock_guard lock(from.lock);
    if (from.first == nullptr) add_chunk(from);
    from.count.store(from.count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    free_memory* const link = std::exchange(from.first, from.first->next);
    constexpr std::size_t at = sizeof(typename store<T>::cell) - sizeof(free_memory);
    return reinterpret_cast<std::byte*>(link) - at;
  }
  template <class T>
  void add_chunk(store<T>& to) {
    using cell = typename store<T>::cell;
    if (kept_ != nullptr) return add_kept_chunk(to);
    auto& made = to.chunks.emplace_back();
    try {
      made = std::make_unique<cell[]>(store<T>::per_chunk);
    } catch (...) {
      to.chunks.pop_back();
      throw;
    }
    bytes_.fetch_add(sizeof(cell) * store<T>::per_chunk, std::memory_order_relaxed);
    for (std::size_t i = store<T>::per_chunk; i-- > 0;) free_in(to, &made[i]);
  }
  template <class T>
  void add_kept_chunk(store<T>& to) {
    using cell = typename store<T>::cell;
    static_assert(alignof(cell) <= base::cache_line_size);
    constexpr std::size_t bytes = base::cache_line_size + sizeof(cell) * store<T>::per_chunk;
    std::atomic<chunk*>& all = kept_->chunks(kind_of<T>());
    auto* const made = new (kept_->heap().allocate(bytes)) chunk{all.load(), bytes};
    auto* const cells = reinterpret_cast<cell*>(first_cell(made));
    for (std::size_t i = store<T>::per_chunk; i-- > 0;) free_in(to, &cells[i]);
    all.store(made, std::memory_order_release);
  }

  std::tuple<store<Types>...> stores_;
  kept_type* kept_ = nullptr;
  std::atomic<std::size_t> bytes_{0};
};

}  // namespace outlast::store_detail::records
