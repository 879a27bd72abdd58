// The pages of the record engine's index, and the memory for them.
#pragma once

#include <outlast/base/anonymous_memory.hpp>
#include <outlast/base/cache_line.hpp>
#include <outlast/base/large_pages.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/spin_lock.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <src/db/records/kept_heap.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace outlast::store_detail::records {

/// Sizes of the record engine. The verifier uses smaller ones.
struct usual_shape {
  static constexpr unsigned leaf_slots = 48;
  static constexpr unsigned page_keys = 63;
  static constexpr std::size_t key_locks = 16384;
  static constexpr std::size_t min_segment_bytes = std::size_t{64} << 10;
  static constexpr std::size_t max_segment_bytes = std::size_t{4} << 20;
  /// Longer records are written without a copy in ordinary memory, in bytes.
  static constexpr std::size_t max_copied_record = std::size_t{64} << 10;
  // The cleaner:
  static constexpr unsigned fullest_percent = 78;  ///< works while less of the space counts
  static constexpr unsigned help_percent = 68;     ///< writers help while less of it counts
  static constexpr std::size_t help_after_bytes = std::size_t{16} << 10;
  static constexpr unsigned least_gain_percent = 5;      ///< of a victim, if there is no space
  static constexpr unsigned most_measured_victims = 16;  ///< in one attempt, if there is no space
  static constexpr std::int64_t few_tombstones = 1000;
  static constexpr std::size_t few_nodes = 1000;
  static constexpr bool large_pages = true;
  // Marks:
  static constexpr std::size_t mark_bytes = std::size_t{64} << 10;
  /// Writes are made durable by marks, also in a domain that is no disk: for the verifier.
  static constexpr bool groups_syncs = false;
};

/// An immutable string: a separator of two pages.
struct separator {
  std::uint32_t bytes;
  // In a list of removed separators:
  separator* before = nullptr;
  separator* after = nullptr;

  [[nodiscard]] std::string_view view() const noexcept {
    return {reinterpret_cast<const char*>(this + 1), bytes};
  }
  /// Throws std::bad_alloc.
  [[nodiscard]] static const separator* make(std::string_view text) {
    return make_in(::operator new(sizeof(separator) + text.size()), text);
  }
  [[nodiscard]] static const separator* make_in(void* memory, std::string_view text) {
    auto* const made = new (memory) separator{.bytes = static_cast<std::uint32_t>(text.size())};
    std::memcpy(made + 1, text.data(), text.size());
    return made;
  }
  static void destroy(const separator* text) noexcept {
    ::operator delete(const_cast<separator*>(text));
  }
};

/// Separators that were removed and that operations may still read. Frees them at its end.
/// Thread-safety: all members may be called concurrently, except the destructor.
template <domain::persistence_domain D>
class removed_separators {
 public:
  removed_separators() = default;
  removed_separators(const removed_separators&) = delete;
  removed_separators& operator=(const removed_separators&) = delete;
  ~removed_separators() {
    while (first_ != nullptr) separator::destroy(std::exchange(first_, first_->after));
  }

  void add(const separator* removed) noexcept {
    auto* const one = const_cast<separator*>(removed);
    const std::lock_guard lock(lock_);
    one->after = first_;
    if (first_ != nullptr) first_->before = one;
    first_ = one;
  }
  /// Takes one of them out. The caller frees it.
  void remove(separator* one) noexcept {
    const std::lock_guard lock(lock_);
    if (one->after != nullptr) one->after->before = one->before;
    (one->before != nullptr ? one->before->after : first_) = one->after;
  }
  /// Forgets all of them, which are in memory that outlives the object.
  void forget() noexcept { first_ = nullptr; }

 private:
  domain::spin_lock<D> lock_;
  separator* first_ = nullptr;
};

/// The common part of pages: what all keys have in common, and up to eight bytes of each key after
/// that. Readers are optimistic: they read a page, and compare its version before and after.
///
/// Invariant: all words are changed under the page's lock, which is bit 0 of its version.
template <domain::persistence_domain D>
struct alignas(base::cache_line_size) index_page {
  static constexpr std::size_t max_prefix_bytes = 40;
  static constexpr auto relaxed = std::memory_order_relaxed;

  explicit index_page(bool leaf) noexcept : is_leaf(leaf) {}

  domain::volatile_word<D, std::uint64_t> version;
  std::atomic<std::uint16_t> count{0};
  std::atomic<std::uint16_t> prefix_bytes{0};
  const bool is_leaf;
  std::uint8_t level = 0;  ///< 0: leaf; constant since before another thread finds the page
  std::array<std::atomic<std::uint64_t>, max_prefix_bytes / 8> prefix{};

  [[nodiscard]] std::size_t prefix_size() const noexcept {
    return std::min<std::size_t>(prefix_bytes.load(relaxed), max_prefix_bytes);
  }
  /// Returns a negative number, zero or a positive number if the keys of the page, by their prefix,
  /// are after `key`, may surround it, or are before it.
  [[nodiscard]] int compare_prefix(std::string_view key, std::size_t size) const noexcept {
    if (begins_with_prefix(key, size)) return 0;
    std::array<std::uint64_t, max_prefix_bytes / 8> copy;
    for (std::size_t i = 0; i * 8 < size; ++i) copy[i] = prefix[i].load(relaxed);
    const std::size_t n = std::min(size, key.size());
    const int order = std::memcmp(key.data(), copy.data(), n);
    if (order != 0) return order;
    return key.size() < size ? -1 : 0;
  }
  /// Returns true if the key begins with the prefix. May return false if the key is short.
  [[nodiscard]] bool begins_with_prefix(std::string_view key, std::size_t size) const noexcept {
    if constexpr (std::endian::native != std::endian::little) return false;
    std::uint64_t differ = 0;
    for (std::size_t at = 0; at < size; at += 8) {
      if (key.size() < at + 8) return false;
      std::uint64_t word = 0;
      std::memcpy(&word, key.data() + at, sizeof word);
      const std::size_t left = size - at;
      const std::uint64_t mask = left >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << left * 8) - 1;
      differ |= (word ^ prefix[at / 8].load(relaxed)) & mask;
    }
    return differ == 0;
  }
  void set_prefix_text(std::string_view text) noexcept {
    std::array<std::uint64_t, max_prefix_bytes / 8> copy{};
    std::memcpy(copy.data(), text.data(), text.size());
    for (std::size_t i = 0; i < copy.size(); ++i) prefix[i].store(copy[i], relaxed);
    prefix_bytes.store(static_cast<std::uint16_t>(text.size()), relaxed);
  }
  void copy_prefix(const index_page& from) noexcept {
    for (std::size_t i = 0; i < prefix.size(); ++i) {
      prefix[i].store(from.prefix[i].load(relaxed), relaxed);
    }
    prefix_bytes.store(from.prefix_bytes.load(relaxed), relaxed);
  }
};

/// Slots, ordered by their keys. The keys are in the records.
template <domain::persistence_domain D, class Shape>
struct leaf_page : index_page<D> {
  using head_type = std::uint32_t;
  static constexpr unsigned capacity = Shape::leaf_slots;
  static constexpr unsigned number = 0;  ///< of the type

  leaf_page() noexcept : index_page<D>(true) {}

  std::array<std::atomic<head_type>, capacity> heads{};
  std::array<domain::volatile_word<D, std::uint64_t>, capacity> slots{};
  std::atomic<const separator*> low{nullptr};   ///< keys are not before it; nullptr: no bound
  std::atomic<const separator*> high{nullptr};  ///< keys are before it; nullptr: no bound
};

/// Separators and one child more.
template <domain::persistence_domain D, class Shape>
struct inner_page : index_page<D> {
  using head_type = std::uint64_t;
  static constexpr unsigned capacity = Shape::page_keys;
  static constexpr unsigned number = 1;  ///< of the type

  inner_page() noexcept : index_page<D>(false) {}

  std::array<std::atomic<head_type>, capacity> heads{};
  std::array<std::atomic<const separator*>, capacity> keys{};
  std::array<std::atomic<index_page<D>*>, capacity + 1> children{};
};

/// Returns the first bytes of a key after `prefix` bytes, as a number in the order of the keys.
template <class Head>
[[nodiscard]] inline Head head_of(std::string_view key, std::size_t prefix) noexcept {
  Head head = 0;
  if (key.size() >= prefix + sizeof head) {
    std::memcpy(&head, key.data() + prefix, sizeof head);
  } else if (key.size() > prefix) {
    std::memcpy(&head, key.data() + prefix, key.size() - prefix);
  }
  if constexpr (std::endian::native == std::endian::big) return head;
  if constexpr (sizeof head == 8) {
    return __builtin_bswap64(head);
  } else {
    return __builtin_bswap32(head);
  }
}

/// Returns the number of bytes that both begin with, at most those that a page can record.
[[nodiscard]] inline std::size_t common_bytes(std::string_view a, std::string_view b,
                                              std::size_t limit) noexcept {
  const std::size_t n = std::min({a.size(), b.size(), limit});
  std::size_t i = 0;
  while (i < n && a[i] == b[i]) ++i;
  return i;
}

/// Memory for pages and separators, in chunks with large pages. Without `LargePages`, the memory of
/// each page is allocated and freed on its own, so that tools find wrong accesses. Pages that were
/// not destroyed end with the object, unless they are in a heap that outlives it.
/// Thread-safety: all members may be called concurrently, except the destructor.
template <domain::persistence_domain D, bool LargePages>
class page_memory {
 public:
  page_memory() = default;
  page_memory(const page_memory&) = delete;
  page_memory& operator=(const page_memory&) = delete;
  ~page_memory() {
    for (void* const page : single_) ::operator delete(page, std::align_val_t(alignment));
  }

  /// Takes all memory from `heap` from now on. Requires: no page exists, except in the heap.
  void use(kept_heap<D>& heap) noexcept { kept_ = &heap; }
  [[nodiscard]] bool is_kept() const noexcept { return kept_ != nullptr; }

  /// Returns memory for a `Page`. Throws std::bad_alloc, out_of_space.
  template <class Page>
  [[nodiscard]] Page* make() {
    static_assert(alignof(Page) <= alignment && std::is_trivially_destructible_v<Page>);
    void* const memory = kept_ != nullptr ? kept_->allocate(sizeof(Page))
                         : LargePages     ? take(sizeof(Page), free_[Page::number])
                                          : take_single(sizeof(Page));
    bytes_.fetch_add(sizeof(Page), std::memory_order_relaxed);
    return new (memory) Page;
  }
  template <class Page>
  void destroy(Page* page) noexcept {
    bytes_.fetch_sub(sizeof(Page), std::memory_order_relaxed);
    if (kept_ != nullptr) return kept_->free(page, sizeof(Page));
    const std::lock_guard lock(lock_);
    if constexpr (LargePages) {
      free_list& to = free_[Page::number];
      to.first = new (static_cast<void*>(page)) free_memory{to.first};
    } else {
      single_.erase(page);
      ::operator delete(page, std::align_val_t(alignment));
    }
  }
  /// Throws std::bad_alloc, out_of_space.
  [[nodiscard]] const separator* make_separator(std::string_view text) {
    const std::size_t bytes = sizeof(separator) + text.size();
    const separator* const made =
        kept_ != nullptr ? separator::make_in(kept_->allocate(bytes), text) : separator::make(text);
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    return made;
  }
  void destroy_separator(const separator* text) noexcept {
    const std::size_t bytes = sizeof(separator) + text->bytes;
    bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    if (kept_ != nullptr) return kept_->free(const_cast<separator*>(text), bytes);
    separator::destroy(text);
  }
  /// Counts an object that is destroyed later, for the case of a kill before that.
  void note_retired(std::size_t bytes) noexcept {
    if (kept_ != nullptr) kept_->note_retired(bytes);
  }
  void note_destroyed(std::size_t bytes) noexcept {
    if (kept_ != nullptr) kept_->note_freed(bytes);
  }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return kept_ != nullptr ? kept_->used() : bytes_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t first_chunk_bytes = std::size_t{256} << 10;
  /// Of the other chunks. Only what is used of them costs memory.
  static constexpr std::size_t chunk_bytes = std::size_t{32} << 20;
  static constexpr std::size_t alignment = base::cache_line_size;
  struct free_memory {
    free_memory* next;
  };
  struct free_list {
    free_memory* first = nullptr;
  };

  void* take(std::size_t bytes, free_list& from) {
    const std::lock_guard lock(lock_);
    if (from.first != nullptr) return std::exchange(from.first, from.first->next);
    if (left_ < bytes) {
      const std::size_t size = chunks_.empty() ? first_chunk_bytes : chunk_bytes;
      chunks_.emplace_back(size);
      base::request_large_pages(chunks_.back().data(), size);
      at_ = chunks_.back().data();
      left_ = size;
    }
    left_ -= bytes;
    return std::exchange(at_, at_ + bytes);
  }
  void* take_single(std::size_t bytes) {
    void* const memory = ::operator new(bytes, std::align_val_t(alignment));
    try {
      const std::lock_guard lock(lock_);
      single_.insert(memory);
    } catch (...) {
      ::operator delete(memory, std::align_val_t(alignment));
      throw;
    }
    return memory;
  }

  domain::spin_lock<D> lock_;
  std::vector<base::anonymous_memory> chunks_;
  std::byte* at_ = nullptr;
  std::size_t left_ = 0;
  std::array<free_list, 2> free_;
  std::set<void*> single_;  ///< without `LargePages`
  kept_heap<D>* kept_ = nullptr;
  std::atomic<std::size_t> bytes_{0};
};

}  // namespace outlast::store_detail::records
