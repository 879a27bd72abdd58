// The allocator inside a replica: sequential code, whose own words are fields of the transaction.
//
// A replica begins with a heap_header, a table with one entry per page, and then the pages. Blocks
// of up to four pages have the allocator's size classes, and come from slabs of one class. An empty
// slab becomes a run of free pages again. Adjacent free runs are merged, and split when needed. The
// header remembers the small blocks that were freed last, which are reused first: a free and an
// allocation together write only one more line. Allocations and frees are undone with their
// operation, and a crash leaks nothing.
//
// No checksum protects the replica, so a damaged file can contain any values. The heap therefore
// compares page numbers, links and sizes with the bounds of the replica before it uses them. A
// value out of bounds throws corruption, and the operation has no effect.
#pragma once

#include <outlast/alloc/size_classes.hpp>
#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/tx/field.hpp>
#include <outlast/tx/transaction.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

namespace outlast::tx {

/// A named object. On media: docs/formats/tx.md.
struct alignas(base::cache_line_size) root_entry {
  using text = std::array<char, 40>;

  pointer<root_entry> next;
  field<std::uint64_t> fingerprint;
  pointer<std::byte> object;
  field<text> name;
};
static_assert(sizeof(root_entry) == 64 && sizeof(pointer<int>) == 8);

namespace detail {

using page_index = std::uint32_t;

enum class page_kind : std::uint32_t {
  inside = 0,    ///< of a run, not its first
  free_run = 1,  ///< the first of free pages
  free_end = 2,  ///< the last of them, if they are several
  slab = 3,      ///< the first of a slab of one size class
  large = 4,     ///< the first of a block of whole pages
};

/// The state of a page. Pages other than the first of a run have only the link to the first.
/// On media: docs/formats/tx.md.
struct page_state {
  field<page_kind> kind;
  field<page_index> pages;       ///< of the run
  field<page_index> next;        ///< in a list of runs or slabs, plus 1; inside a slab: its first
  field<page_index> prev;        ///< in the list, plus 1
  field<std::uint32_t> stride;   ///< of a slab's blocks
  field<std::uint32_t> used;     ///< blocks of the slab that are in use
  field<std::uint32_t> free;     ///< the free block given back last, plus 1
  field<std::uint32_t> touched;  ///< blocks before this one have been in use
};
static_assert(sizeof(page_state) == 32);

inline constexpr std::size_t run_lists = 32;

/// The blocks of one size class that were freed last, the newest at the end, in units of 8 bytes
/// from the beginning of the replica. Their slabs count them as used.
struct recent_blocks {
  static constexpr std::uint32_t most = 7;

  field<std::uint32_t> count;
  std::array<field<std::uint32_t>, most> at;
};
static_assert(sizeof(recent_blocks) == 32);

/// The number of classes, from the first one, with recent blocks: up to 288 bytes.
inline constexpr std::size_t recent_classes = 20;

/// On media: docs/formats/tx.md.
struct alignas(base::cache_line_size) heap_header {
  field<std::uint32_t> page_shift;
  field<page_index> pages;    ///< that there are
  field<page_index> touched;  ///< pages before this one have been in use
  field<std::uint32_t> reserved;
  pointer<root_entry> roots;
  field<std::uint64_t> first_page;                ///< where pages begin, in the replica
  std::array<field<page_index>, run_lists> runs;  ///< by size, plus 1
  std::array<field<page_index>, alloc::class_count + 1> slabs;  ///< with room, by class, plus 1
  /// From class 1 on.
  alignas(base::cache_line_size) std::array<recent_blocks, recent_classes> recent;
};
static_assert(sizeof(heap_header) == 1152 && offsetof(heap_header, runs) == 32 &&
              offsetof(heap_header, slabs) == 160 && offsetof(heap_header, recent) == 512);

/// Throws corruption for an impossible value in the replica of the running transaction. The manager
/// adds the path of the pool.
[[noreturn, gnu::cold, gnu::noinline]] void refuse_damage(const char* what);

/// Returns the number of bytes from `at`, an address found in the replica of `in`, to the end of
/// the replica. Returns 0 if `at` is outside the heap's pages, or misaligned for objects with
/// fields.
[[nodiscard]] inline std::size_t room_at(const transaction& in, const void* at) noexcept {
  const std::size_t offset = in.offset_of(at);
  const std::size_t first = reinterpret_cast<const heap_header*>(in.replica())->first_page;
  const bool is_there = offset >= first && offset < in.bytes() && offset % 8 == 0;
  return is_there ? in.bytes() - offset : 0;
}

}  // namespace detail

/// The replicas of a manager are full, even if their pool has room.
class region_full final : public out_of_space {
 public:
  using out_of_space::out_of_space;
};

/// The heap of the replica on which `in` works.
/// Thread-safety: that of the transaction.
class heap {
  using page_index = detail::page_index;
  using page_kind = detail::page_kind;
  using page_state = detail::page_state;

 public:
  explicit heap(transaction& in) noexcept
      : in_(in), header_(*reinterpret_cast<detail::heap_header*>(in.replica())) {}

  static constexpr std::size_t min_page_bytes = 256;
  static constexpr std::size_t max_page_bytes = std::size_t{1} << 20;

  /// Makes the whole replica an empty heap. `page_bytes`: a power of two.
  void format(std::size_t page_bytes);
  /// Returns the offset of the pages in a heap of `bytes` bytes.
  [[nodiscard]] static std::size_t pages_begin(std::size_t bytes, std::size_t page_bytes) noexcept;
  /// Returns a description of a contradiction in the header of a heap of `bytes` bytes; "" if there
  /// is none.
  [[nodiscard]] static std::string damage(const detail::heap_header& header, std::size_t bytes);

  // Members that change the heap throw corruption if its words contradict each other.

  /// Returns a block, aligned to `align`, with any content. Throws out_of_space,
  /// error{bad_argument}.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t align);
  /// Frees a block. Does nothing for nullptr. Throws error{`reason`} if the address is not that of
  /// an allocated block; `reason` should be `corrupted` for a pointer that was read from the
  /// replica.
  void free(void* block, errc reason = errc::bad_argument);
  /// Returns the recent blocks, at most 140, to their slabs, so that all adjacent free runs are
  /// merged. An allocation that finds no room does this itself.
  void settle();

  /// The parts of a replica that were ever in use, which a copy must copy: the bytes before
  /// `table_end`, and the pages from `pages_begin` to `pages_end`.
  struct extent {
    std::size_t table_end;
    std::size_t pages_begin;
    std::size_t pages_end;
  };
  [[nodiscard]] static extent used(const detail::heap_header& header) noexcept {
    const std::size_t touched = header.touched;
    return {sizeof(detail::heap_header) + touched * sizeof(page_state), header.first_page,
            header.first_page + (touched << header.page_shift)};
  }
  /// The bytes of all pages, in use or not.
  [[nodiscard]] std::size_t capacity() const noexcept {
    return std::size_t{header_.pages} << header_.page_shift;
  }
  /// Returns the size of an allocated block, as it was rounded up. Throws corruption if `block` is
  /// not allocated.
  [[nodiscard]] std::size_t bytes_of(const void* block) const;
  /// Returns the bytes of all allocated blocks, as they were rounded up. Visits all pages.
  [[nodiscard]] std::size_t bytes_in_use() const;
  /// Returns the number of allocated blocks. Visits all pages.
  [[nodiscard]] std::size_t blocks_in_use() const;

 private:
  static constexpr std::size_t max_pages_of_small = 4;
  static constexpr page_index no_page = ~page_index{0};

  /// Returns the state of a page. Throws corruption if the page was never in use.
  [[nodiscard]] page_state& state(page_index page) const {
    if (page >= header_.touched) [[unlikely]]
      detail::refuse_damage("a page that was never in use is named");
    return reinterpret_cast<page_state*>(in_.replica() + sizeof(detail::heap_header))[page];
  }
  /// Returns true if these pages are or were in use.
  [[nodiscard]] bool is_run(page_index first, page_index pages) const noexcept {
    return first < header_.touched && pages != 0 && pages <= header_.touched - first;
  }
  [[nodiscard]] std::byte* address(page_index page) const noexcept {
    return in_.replica() + header_.first_page + (std::size_t{page} << header_.page_shift);
  }
  [[nodiscard]] std::size_t page_bytes() const noexcept {
    return std::size_t{1} << header_.page_shift;
  }
  [[nodiscard]] static std::size_t list_for(page_index pages) noexcept {
    return static_cast<std::size_t>(std::bit_width(pages)) - 1;
  }
  [[nodiscard]] page_index slab_pages(std::size_t stride) const noexcept {
    return static_cast<page_index>(std::max<std::size_t>(1, 4 * stride >> header_.page_shift));
  }
  [[nodiscard]] static page_index blocks_of(std::size_t bytes, std::size_t stride) noexcept {
    return static_cast<page_index>(bytes / stride);
  }

  void require_header() const;
  void link(field<page_index>& head, page_index page);
  void unlink(field<page_index>& head, page_index page);
  [[nodiscard]] page_index take_run(page_index pages);
  [[nodiscard]] page_index find_run(page_index pages, page_index limit);
  [[nodiscard]] page_index best_of(page_index first, page_index pages, page_index limit) const;
  [[nodiscard]] page_index touch_run(page_index pages);
  [[noreturn]] void refuse_run(page_index pages);
  void add_free_run(page_index first, page_index pages);
  void give_back_run(page_index first, page_index pages);
  void require_run(page_index first, page_index pages) const;
  [[nodiscard]] void* allocate_small(alloc::class_index index, std::size_t align);
  [[nodiscard]] void* take_block(alloc::class_index index);
  [[nodiscard]] page_index make_slab(alloc::class_index index);
  void free_small(page_index slab, std::byte* block, errc reason);
  void remember(detail::recent_blocks& recent, std::byte* block);
  void give_back_oldest(detail::recent_blocks& recent, std::uint32_t count);
  void give_back_block(page_index slab, std::byte* block);
  [[nodiscard]] page_index slab_of(page_index page) const;
  [[nodiscard]] bool is_block(page_index slab, const std::byte* block) const;
  [[nodiscard]] page_index page_of(const std::byte* block, errc reason) const;
  [[noreturn]] static void refuse_block(errc reason);

  transaction& in_;
  detail::heap_header& header_;
};

/// Creates a `T` in the running transaction. Requires: the members of `T` are fields, pointers, or
/// classes of these. The constructor may run several times. Throws out_of_space, and the exceptions
/// of the constructor. An exception that leaves the operation undoes it.
template <class T, class... Args>
[[nodiscard]] T* alloc(Args&&... args) {
  static_assert(std::is_trivially_destructible_v<T>,
                "no destructor runs for objects in a pool: free() what they own before them");
  void* const block = heap(running()).allocate(sizeof(T), alignof(T));
  running().declare(block, sizeof(T));
  if constexpr (sizeof...(Args) == 0) {
    return ::new (block) T;  // T() might write zeros first, past the fields
  } else {
    return ::new (block) T(std::forward<Args>(args)...);
  }
}

/// Creates an array of `count` objects without arguments. Throws the exceptions of alloc().
template <class T>
[[nodiscard]] T* alloc_array(std::size_t count) {
  static_assert(std::is_trivially_destructible_v<T>,
                "no destructor runs for objects in a pool: free() what they own before them");
  if (count > running().bytes() / sizeof(T)) throw region_full("an array larger than its region");
  T* const first = static_cast<T*>(heap(running()).allocate(count * sizeof(T), alignof(T)));
  running().declare(first, std::max<std::size_t>(1, count * sizeof(T)));
  std::uninitialized_default_construct_n(first, count);
  return first;
}

/// Allocates `size` bytes, which write_bytes() must write.
[[nodiscard]] inline std::byte* alloc_bytes(std::size_t size) {
  return static_cast<std::byte*>(heap(running()).allocate(size, 1));
}
/// Writes `size` bytes as part of the running transaction.
inline void write_bytes(void* to, const void* from, std::size_t size) {
  if (size != 0) running().store(to, from, size);
}

/// Frees a block of alloc(), alloc_array() or alloc_bytes(). Does nothing for nullptr.
inline void free(void* block) { heap(running()).free(block); }
/// Frees a block whose address was read from the replica. Throws error{corrupted} if it is not an
/// allocated block.
inline void free_found(void* block) { heap(running()).free(block, errc::corrupted); }

}  // namespace outlast::tx
