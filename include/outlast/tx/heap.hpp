// Memory inside a replica: sequential code, whose own words are fields of the transaction.
//
// A replica begins with a heap_header, a line or two per page, and then the pages. Blocks up to
// four pages come in the allocator's size classes, from slabs of one class; a slab that is empty
// becomes a run of free pages again, runs that meet are merged, and are split as they are needed.
// The small blocks that were given back last are remembered in the header, and are the first to be
// used again: what frees one and allocates another one writes one line besides it. What an
// operation allocates or frees is undone with it, and a crash leaks nothing.
//
// A file may be damaged where no checksum tells. So nothing that was found in a replica leads out
// of it: numbers of pages, links and sizes are compared with what there is before they are used,
// and what contradicts that is corruption; the operation has then not happened.
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

/// What the heap knows of a page; of all pages but the first of a run, what it needs to find that.
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

/// Blocks of one size class that were given back last, the newest behind: in units of 8 bytes
/// from the beginning of the replica. Their slabs take them for used.
struct recent_blocks {
  static constexpr std::uint32_t most = 7;

  field<std::uint32_t> count;
  std::array<field<std::uint32_t>, most> at;
};
static_assert(sizeof(recent_blocks) == 32);

/// Classes of which recent blocks are remembered, from the first one: up to 288 bytes.
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

/// Something in the replica of the running transaction cannot be. Throws corruption without a path:
/// the manager adds that of the pool.
[[noreturn, gnu::cold, gnu::noinline]] void refuse_damage(const char* what);

/// How many bytes there are in the replica of `in` from `at` on, which was found there; 0 if that
/// is not in the heap's pages, or lies as no object with fields does.
[[nodiscard]] inline std::size_t room_at(const transaction& in, const void* at) noexcept {
  const std::size_t offset = in.offset_of(at);
  const std::size_t first = reinterpret_cast<const heap_header*>(in.replica())->first_page;
  const bool is_there = offset >= first && offset < in.bytes() && offset % 8 == 0;
  return is_there ? in.bytes() - offset : 0;
}

}  // namespace detail

/// The replicas of a manager are full, whatever room there is in their pool.
class region_full final : public out_of_space {
 public:
  using out_of_space::out_of_space;
};

/// The memory of the replica on which `in` works.
/// Thread-safety: as the transaction.
class heap {
  using page_index = detail::page_index;
  using page_kind = detail::page_kind;
  using page_state = detail::page_state;

 public:
  explicit heap(transaction& in) noexcept
      : in_(in), header_(*reinterpret_cast<detail::heap_header*>(in.replica())) {}

  static constexpr std::size_t min_page_bytes = 256;
  static constexpr std::size_t max_page_bytes = std::size_t{1} << 20;

  /// Makes a heap of the whole replica. `page_bytes`: a power of two.
  void format(std::size_t page_bytes);
  /// Where the pages of a heap begin that has been made of `bytes` bytes, in these.
  [[nodiscard]] static std::size_t pages_begin(std::size_t bytes, std::size_t page_bytes) noexcept;
  /// What contradicts itself in the header of a heap in `bytes` bytes; "" if nothing does.
  [[nodiscard]] static std::string damage(const detail::heap_header& header, std::size_t bytes);

  // All that change something throw corruption where the heap contradicts itself.

  /// A block, aligned to `align`, with any content. Throws out_of_space, error{bad_argument}.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t align);
  /// Gives a block back. Null: nothing. Throws error{`reason`} for what is seen to be no block:
  /// corrupted for a pointer that was found in the replica.
  void free(void* block, errc reason = errc::bad_argument);
  /// Gives the blocks that are remembered back to their slabs, at most 140 of them: then all that
  /// is free and adjacent is merged. An allocation that finds no room does so itself.
  void settle();

  /// Bytes at the beginning of a replica besides which nothing was ever in use, and where its
  /// used pages begin and end: what a copy has to copy.
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
  /// Bytes of all pages, in use or not.
  [[nodiscard]] std::size_t capacity() const noexcept {
    return std::size_t{header_.pages} << header_.page_shift;
  }
  /// Bytes of a block in use, as they were rounded up. Throws corruption for what is none.
  [[nodiscard]] std::size_t bytes_of(const void* block) const;
  /// Bytes of blocks in use, as they were rounded up. Visits all pages.
  [[nodiscard]] std::size_t bytes_in_use() const;
  /// How many these are. Visits all pages.
  [[nodiscard]] std::size_t blocks_in_use() const;

 private:
  static constexpr std::size_t max_pages_of_small = 4;
  static constexpr page_index no_page = ~page_index{0};

  /// Of a page that is or was in use. Throws corruption for others.
  [[nodiscard]] page_state& state(page_index page) const {
    if (page >= header_.touched) [[unlikely]]
      detail::refuse_damage("a page that was never in use is named");
    return reinterpret_cast<page_state*>(in_.replica() + sizeof(detail::heap_header))[page];
  }
  /// Are these pages in use, or were?
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

/// A `T` in the running transaction. Its members are fields, pointers, or of such. Its constructor
/// may run several times. Throws out_of_space and what the constructor throws; the operation is
/// then undone.
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

/// `count` objects made without arguments, one after the other. Throws as alloc().
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

/// `size` bytes, to be written by write_bytes().
[[nodiscard]] inline std::byte* alloc_bytes(std::size_t size) {
  return static_cast<std::byte*>(heap(running()).allocate(size, 1));
}
inline void write_bytes(void* to, const void* from, std::size_t size) {
  if (size != 0) running().store(to, from, size);
}

/// Gives back what alloc(), alloc_array() or alloc_bytes() gave. Null: nothing.
inline void free(void* block) { heap(running()).free(block); }
/// The same where the pointer was found in the replica: what is no block is corruption.
inline void free_found(void* block) { heap(running()).free(block, errc::corrupted); }

}  // namespace outlast::tx
