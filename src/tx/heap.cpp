#include <outlast/base/large_pages.hpp>
#include <outlast/hw/flush.hpp>
#include <outlast/tx/heap.hpp>

#include <algorithm>
#include <cstring>

namespace outlast::tx {

using detail::heap_header;
using detail::recent_blocks;
using detail::recent_classes;
using detail::run_lists;

namespace {

/// The unit, in bytes, of the places of recent blocks. All strides are multiples of it.
constexpr std::size_t recent_unit = 8;

/// The number of free runs of a list that a search visits, and again as many once one fits:
/// thousands can be a page too small. If no page is left that was never in use, a search visits all
/// runs.
constexpr std::uint32_t max_looked_at = 32;
constexpr std::uint32_t looked_at_besides = 4;
constexpr std::uint32_t all_of_them = ~std::uint32_t{0};

/// In regions of this size the pages begin at a large page of the system.
constexpr std::size_t large_region_bytes = std::size_t{256} << 20;

/// Prefetches the blocks after `block`, which are likely to be allocated next, in this replica and
/// later in others. The write set copies their content before they are written.
void ask_for_blocks(const std::byte* block, std::size_t stride) noexcept {
  constexpr std::size_t most = 4 * base::cache_line_size;
  const std::size_t asked = std::min(stride, most);
  for (std::size_t at = 0; at < asked; at += base::cache_line_size) {
    hw::prefetch_for_write(block + 2 * stride + at);
  }
}

}  // namespace

void detail::refuse_damage(const char* what) {
  throw corruption("", std::string("the memory of its transactions is damaged: ") + what +
                           "; repair the file, or restore a backup");
}

std::size_t heap::pages_begin(std::size_t bytes, std::size_t page_bytes) noexcept {
  const std::size_t pages = (bytes - sizeof(heap_header)) / (page_bytes + sizeof(page_state));
  const std::size_t align = bytes < large_region_bytes ? page_bytes : base::large_page_bytes;
  return base::round_up(sizeof(heap_header) + pages * sizeof(page_state), align);
}

void heap::format(std::size_t page_bytes) {
  in_.declare(&header_, sizeof(heap_header));
  ::new (static_cast<void*>(&header_)) heap_header;
  const std::size_t pages = (in_.bytes() - sizeof(heap_header)) / (page_bytes + sizeof(page_state));
  const std::size_t first = pages_begin(in_.bytes(), page_bytes);
  header_.page_shift = static_cast<std::uint32_t>(std::countr_zero(page_bytes));
  header_.first_page = first;
  header_.pages = static_cast<page_index>(std::min(pages, (in_.bytes() - first) / page_bytes));
}

std::string heap::damage(const heap_header& header, std::size_t bytes) {
  const std::uint32_t shift = header.page_shift;
  if (shift >= 64 || std::uint64_t{1} << shift > max_page_bytes ||
      std::uint64_t{1} << shift < min_page_bytes) {
    return "names pages of 2^" + std::to_string(shift) + " bytes";
  }
  if (bytes < sizeof(heap_header) ||
      header.first_page != pages_begin(bytes, std::size_t{1} << shift)) {
    return "has its pages elsewhere than a heap of its size";
  }
  if (header.first_page > bytes || header.pages > (bytes - header.first_page) >> shift) {
    return "names more pages than the region has";
  }
  if (header.touched > header.pages) return "uses more pages than it has";
  const std::uint64_t pages_end = header.first_page + (std::uint64_t{header.touched} << shift);
  for (const recent_blocks& each : header.recent) {
    if (each.count > recent_blocks::most) return "remembers more blocks than it has places for";
    for (std::uint32_t i = 0; i < each.count; ++i) {
      const std::uint64_t block = std::uint64_t{each.at[i]} * recent_unit;
      if (block < header.first_page || block >= pages_end) {
        return "remembers a block outside of its pages";
      }
    }
  }
  return "";
}

/// Checks the header, on whose words all other checks depend. The opening has checked the current
/// replica; other replicas are checked here, which is cheap.
void heap::require_header() const {
  const std::uint32_t shift = header_.page_shift;
  const std::size_t first = header_.first_page;
  const std::size_t pages = header_.pages;
  const bool is_right = shift < 32 && std::size_t{1} << shift <= max_page_bytes &&
                        first <= in_.bytes() && pages <= (in_.bytes() - first) >> shift &&
                        header_.touched <= pages &&
                        sizeof(heap_header) + pages * sizeof(page_state) <= first;
  if (!is_right) [[unlikely]]
    detail::refuse_damage("its header is invalid");
}

// ---- Lists ----

void heap::link(field<page_index>& head, page_index page) {
  page_state& mine = state(page);
  mine.prev = 0;
  mine.next = head.get();
  if (head != 0) state(head - 1).prev = page + 1;
  head = page + 1;
}

void heap::unlink(field<page_index>& head, page_index page) {
  const page_state& mine = state(page);
  const page_index next = mine.next;
  const page_index prev = mine.prev;
  const bool is_there = (next == 0 || state(next - 1).prev == page + 1) &&
                        (prev == 0 ? head == page + 1 : state(prev - 1).next == page + 1);
  if (!is_there) [[unlikely]]
    detail::refuse_damage("a page is in no list of its kind");
  if (next != 0) state(next - 1).prev = prev;
  if (prev != 0) {
    state(prev - 1).next = next;
  } else {
    head = next;
  }
}

// ---- Runs of pages ----

void heap::require_run(page_index first, page_index pages) const {
  if (!is_run(first, pages)) [[unlikely]]
    detail::refuse_damage("a run has more pages than there are");
}

heap::page_index heap::take_run(page_index pages) {
  if (const page_index found = find_run(pages, max_looked_at); found != no_page) return found;
  if (pages <= header_.pages - header_.touched) return touch_run(pages);
  settle();
  if (const page_index found = find_run(pages, all_of_them); found != no_page) return found;
  if (pages > header_.pages - header_.touched) refuse_run(pages);
  return touch_run(pages);
}

/// Returns free pages that were in use: the best fit among the first `limit` runs of each list.
heap::page_index heap::find_run(page_index pages, page_index limit) {
  for (std::size_t list = list_for(pages); list < run_lists; ++list) {
    const page_index found = best_of(header_.runs[list], pages, limit);
    if (found == no_page) continue;
    const page_index there = state(found).pages;
    unlink(header_.runs[list], found);
    if (there > pages) add_free_run(found + pages, there - pages);
    return found;
  }
  return no_page;
}

/// Returns the best fit among the first `limit` runs of a list; no_page if none has enough pages.
heap::page_index heap::best_of(page_index first, page_index pages, page_index limit) const {
  page_index best = no_page;
  page_index fewest = ~page_index{0};  // of the runs that have enough
  page_index left = header_.touched;
  for (page_index at = first; at != 0 && limit != 0; at = state(at - 1).next, --limit) {
    const page_index there = state(at - 1).pages;
    if (state(at - 1).kind != page_kind::free_run || left-- == 0) [[unlikely]]
      detail::refuse_damage("a list of free pages leads to others, or in a circle");
    require_run(at - 1, there);
    if (there < pages || there >= fewest) continue;
    if (there == pages) return at - 1;
    if (best == no_page) limit = std::min(limit, looked_at_besides + 1);
    best = at - 1;
    fewest = there;
  }
  return best;
}

/// Returns pages that were never in use.
heap::page_index heap::touch_run(page_index pages) {
  const page_index first = header_.touched;
  in_.provide(header_.first_page + (std::size_t{first + pages} << header_.page_shift));
  header_.touched = first + pages;
  return first;
}

void heap::refuse_run(page_index pages) {
  const region_full full("the region of transactions is full: " + std::to_string(pages) +
                         " pages of " + std::to_string(page_bytes()) + " bytes requested, " +
                         std::to_string(header_.pages - header_.touched) + " left of " +
                         std::to_string(header_.pages.get()) +
                         "; free something, or copy what its " + std::to_string(in_.bytes()) +
                         " bytes hold to transactions of more options.replica_bytes");
  in_.region_is_full(std::make_exception_ptr(full));
  throw full;
}

void heap::add_free_run(page_index first, page_index pages) {
  page_state& begin = state(first);
  begin.kind = page_kind::free_run;
  begin.pages = pages;
  if (pages > 1) {
    page_state& end = state(first + pages - 1);
    end.kind = page_kind::free_end;
    end.pages = pages;
  }
  link(header_.runs[list_for(pages)], first);
}

/// Frees a run, and merges it with the free runs before and after it: boundary tags.
void heap::give_back_run(page_index first, page_index pages) {
  require_run(first, pages);
  const page_index behind = first + pages;
  if (behind < header_.touched && state(behind).kind == page_kind::free_run) {
    const page_index more = state(behind).pages;
    require_run(behind, more);
    unlink(header_.runs[list_for(more)], behind);
    pages += more;
  }
  if (first > 0) {
    const page_state& before = state(first - 1);
    const bool one = before.kind == page_kind::free_run && before.pages == 1;
    if (one || before.kind == page_kind::free_end) {
      const page_index more = before.pages;
      if (more == 0 || more > first || state(first - more).pages != more) [[unlikely]]
        detail::refuse_damage("the ends of a run of free pages do not fit");
      first -= more;
      unlink(header_.runs[list_for(more)], first);
      pages += more;
    }
  }
  if (first + pages == header_.touched) {
    header_.touched = first;
  } else {
    add_free_run(first, pages);
  }
}

// ---- Blocks ----

void* heap::allocate(std::size_t bytes, std::size_t align) {
  require_header();
  if (align > page_bytes() || !std::has_single_bit(align)) {
    throw error(errc::bad_argument, "",
                "an alignment of " + std::to_string(align) + " bytes; pages have " +
                    std::to_string(page_bytes()));
  }
  if (bytes > in_.bytes()) {
    throw region_full("a block of " + std::to_string(bytes) +
                      " bytes is larger than its region of " + std::to_string(in_.bytes()));
  }
  const std::size_t wanted = base::round_up(std::max<std::size_t>(bytes, 1), align);
  if (wanted <= std::min(alloc::largest_small, max_pages_of_small * page_bytes())) {
    return allocate_small(alloc::class_of(wanted), align);
  }
  const auto pages = static_cast<page_index>((wanted + page_bytes() - 1) >> header_.page_shift);
  const page_index first = take_run(pages);
  state(first).kind = page_kind::large;
  state(first).pages = pages;
  if (pages > 1) state(first + pages - 1).kind = page_kind::inside;
  return address(first);
}

void* heap::allocate_small(alloc::class_index index, std::size_t align) {
  if (index > recent_classes) return take_block(index);
  recent_blocks& recent = header_.recent[index - 1U];
  const std::uint32_t count = recent.count;
  if (count == 0) return take_block(index);
  if (count > recent_blocks::most) [[unlikely]]
    detail::refuse_damage("more blocks are remembered than there are places for");
  recent.count = count - 1;
  const std::size_t at = std::size_t{recent.at[count - 1]} * recent_unit;
  const std::size_t end = header_.first_page + (std::size_t{header_.touched} << header_.page_shift);
  if (at < header_.first_page || at + alloc::stride_of(index) > end || at % align != 0) [[unlikely]]
    detail::refuse_damage("a block is remembered that is none");
  return in_.replica() + at;
}

void* heap::take_block(alloc::class_index index) {
  const page_index head = header_.slabs[index];
  const page_index slab = head != 0 ? head - 1 : make_slab(index);
  page_state& mine = state(slab);
  const auto stride = static_cast<std::uint32_t>(alloc::stride_of(index));
  const page_index blocks = blocks_of(std::size_t{mine.pages} << header_.page_shift, stride);
  const std::uint32_t number = mine.free != 0 ? mine.free - 1 : mine.touched.get();
  const std::uint32_t known = mine.free != 0 ? mine.touched.get() : blocks;
  if (mine.kind != page_kind::slab || mine.stride != stride || !is_run(slab, mine.pages) ||
      mine.used >= blocks || known > blocks || number >= known) [[unlikely]] {
    detail::refuse_damage("a slab with room has none, or is another one's");
  }
  std::byte* const block = address(slab) + std::size_t{number} * stride;
  if (mine.free != 0) {
    std::uint32_t next = 0;
    std::memcpy(&next, block, sizeof next);
    mine.free = next;
  } else {
    ++mine.touched;
    ask_for_blocks(block, stride);
  }
  ++mine.used;
  if (mine.used == blocks) unlink(header_.slabs[index], slab);
  return block;
}

heap::page_index heap::make_slab(alloc::class_index index) {
  const auto stride = static_cast<std::uint32_t>(alloc::stride_of(index));
  const page_index pages = slab_pages(stride);
  const page_index first = take_run(pages);
  for (page_index page = first + 1; page < first + pages; ++page) {
    state(page).kind = page_kind::inside;
    state(page).next = first;
  }
  page_state& mine = state(first);
  mine.kind = page_kind::slab;
  mine.pages = pages;
  mine.stride = stride;
  mine.used = 0;
  mine.free = 0;
  mine.touched = 0;
  link(header_.slabs[index], first);
  return first;
}

void heap::free(void* block, errc reason) {
  if (block == nullptr) return;
  require_header();
  auto* const at = static_cast<std::byte*>(block);
  const page_index page = page_of(at, reason);
  const page_state& mine = state(page);
  switch (mine.kind.get()) {
    case page_kind::slab: return free_small(page, at, reason);
    case page_kind::inside: return free_small(mine.next, at, reason);
    case page_kind::large:
      if (at == address(page)) return give_back_run(page, mine.pages);
      break;
    default: break;
  }
  refuse_block(reason);
}

void heap::free_small(page_index slab, std::byte* block, errc reason) {
  if (!is_block(slab, block)) refuse_block(reason);
  const alloc::class_index index = alloc::class_of(state(slab).stride);
  const bool is_near = in_.offset_of(block) / recent_unit <= ~std::uint32_t{0};
  if (index > recent_classes || !is_near) return give_back_block(slab, block);
  recent_blocks& recent = header_.recent[index - 1U];
  const auto at = static_cast<std::uint32_t>(in_.offset_of(block) / recent_unit);
  for (std::uint32_t i = 0; i < std::min(recent.count.get(), recent_blocks::most); ++i) {
    if (recent.at[i] == at) refuse_block(reason);
  }
  remember(recent, block);
}

/// Returns true if `slab` is a slab, and `block` one of its blocks that has been in use. Both may
/// be anything.
bool heap::is_block(page_index slab, const std::byte* block) const {
  if (slab >= header_.touched) return false;
  const page_state& mine = state(slab);
  const std::uint32_t stride = mine.stride;
  if (mine.kind != page_kind::slab || alloc::class_with_stride(stride) == 0) return false;
  const auto offset = static_cast<std::size_t>(block - address(slab));
  const auto number = static_cast<std::uint32_t>(offset / stride);
  return is_run(slab, mine.pages) && number < mine.touched && mine.used != 0 &&
         mine.touched <= blocks_of(std::size_t{mine.pages} << header_.page_shift, stride) &&
         offset == std::size_t{number} * stride;
}

void heap::remember(recent_blocks& recent, std::byte* block) {
  if (recent.count >= recent_blocks::most) {
    give_back_oldest(recent, (recent_blocks::most + 1) / 2);
  }
  const auto at = static_cast<std::uint32_t>(in_.offset_of(block) / recent_unit);
  const std::uint32_t count = recent.count;
  recent.at[count] = at;
  recent.count = count + 1;
}

void heap::give_back_oldest(recent_blocks& recent, std::uint32_t count) {
  if (recent.count > recent_blocks::most || recent.count < count) [[unlikely]]
    detail::refuse_damage("more blocks are remembered than there are places for");
  for (std::uint32_t i = 0; i < count; ++i) {
    std::byte* const block = in_.replica() + std::size_t{recent.at[i]} * recent_unit;
    const page_index slab = slab_of(page_of(block, errc::corrupted));
    if (!is_block(slab, block)) [[unlikely]]
      detail::refuse_damage("a block is remembered that is none");
    give_back_block(slab, block);
  }
  const std::uint32_t left = recent.count - count;
  for (std::uint32_t i = 0; i < left; ++i) recent.at[i] = recent.at[count + i].get();
  recent.count = left;
}

void heap::settle() {
  require_header();
  for (recent_blocks& each : header_.recent) {
    if (each.count != 0) give_back_oldest(each, each.count);
  }
}

/// Returns `block`, which is one of the slab's, to the slab.
void heap::give_back_block(page_index slab, std::byte* block) {
  page_state& mine = state(slab);
  const std::uint32_t stride = mine.stride;
  const auto number = static_cast<std::uint32_t>((block - address(slab)) / stride);
  field<page_index>& head = header_.slabs[alloc::class_of(stride)];
  const page_index blocks = blocks_of(std::size_t{mine.pages} << header_.page_shift, stride);
  if (mine.used > blocks) [[unlikely]]
    detail::refuse_damage("a slab has more blocks in use than it has");
  if (mine.used == blocks) link(head, slab);
  --mine.used;
  if (mine.used == 0) {
    unlink(head, slab);
    return give_back_run(slab, mine.pages);
  }
  const std::uint32_t next = mine.free;
  in_.store(block, &next, sizeof next);
  mine.free = number + 1;
}

heap::page_index heap::slab_of(page_index page) const {
  const page_state& mine = state(page);
  return mine.kind == page_kind::inside ? mine.next.get() : page;
}

heap::page_index heap::page_of(const std::byte* block, errc reason) const {
  const std::size_t offset = in_.offset_of(block);
  const std::size_t first = header_.first_page;
  if (offset < first || (offset - first) >> header_.page_shift >= header_.touched) {
    refuse_block(reason);
  }
  return static_cast<page_index>((offset - first) >> header_.page_shift);
}

void heap::refuse_block(errc reason) {
  if (reason == errc::corrupted)
    detail::refuse_damage("a link names a block that is not allocated");
  throw error(reason, "",
              "free(): the address is not that of an allocated block, possibly freed twice");
}

std::size_t heap::bytes_of(const void* block) const {
  require_header();
  const auto* const at = static_cast<const std::byte*>(block);
  const page_index page = page_of(at, errc::corrupted);
  if (state(page).kind == page_kind::large && at == address(page)) {
    return std::size_t{state(page).pages} << header_.page_shift;
  }
  const page_index slab = slab_of(page);
  if (!is_block(slab, at)) refuse_block(errc::corrupted);
  return state(slab).stride;
}

std::size_t heap::bytes_in_use() const {
  std::size_t bytes = 0;
  for (page_index page = 0; page < header_.touched; page += state(page).pages) {
    const page_state& mine = state(page);
    require_run(page, mine.pages);
    if (mine.kind == page_kind::slab) bytes += std::size_t{mine.used} * mine.stride;
    if (mine.kind == page_kind::large) bytes += std::size_t{mine.pages} << header_.page_shift;
  }
  for (std::size_t i = 0; i < recent_classes; ++i) {
    bytes -= header_.recent[i].count * alloc::stride_of(static_cast<alloc::class_index>(i + 1));
  }
  return bytes;
}

std::size_t heap::blocks_in_use() const {
  std::size_t blocks = 0;
  for (page_index page = 0; page < header_.touched; page += state(page).pages) {
    const page_state& mine = state(page);
    require_run(page, mine.pages);
    if (mine.kind == page_kind::slab) blocks += mine.used;
    if (mine.kind == page_kind::large) ++blocks;
  }
  for (const recent_blocks& each : header_.recent) blocks -= each.count;
  return blocks;
}

}  // namespace outlast::tx
