// The pages that a writer and its readers in other processes share. docs/formats/readers.md has the
// meaning of each byte.
#pragma once

#include <outlast/pool/format.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace outlast::pool_detail {

inline constexpr std::uint64_t reader_magic = pool_format::word_of("OUTLREAD");
inline constexpr std::uint32_t reader_version = 1;
inline constexpr std::uint32_t most_readers = 4096;
/// Roots with a greater number cannot be read.
inline constexpr std::uint32_t most_readable_roots = 1 << 16;

/// States of a pool for its readers: the low bits of `changes`.
enum class reader_phase : unsigned {
  refused = 0,  ///< the last opener has not permitted readers
  opening = 1,
  open = 2,
  closed = 3,  ///< cleanly
};
inline constexpr std::uint64_t phase_bits = 7;
[[nodiscard]] constexpr reader_phase phase_of(std::uint64_t changes) noexcept {
  return static_cast<reader_phase>(changes & phase_bits);
}

// The word of a slot: 0 while its reader is in no operation. In an operation: the epoch, a number
// by which two operations differ, and the lowest bit.
inline constexpr std::uint64_t reader_active = 1;
/// The writer has ended the operation: its result is not valid.
inline constexpr std::uint64_t reader_evicted = 2;
inline constexpr unsigned reader_epoch_shift = 16;

[[nodiscard]] constexpr bool is_active(std::uint64_t word) noexcept {
  return (word & reader_active) != 0;
}
[[nodiscard]] constexpr std::uint64_t epoch_of(std::uint64_t word) noexcept {
  return word >> reader_epoch_shift;
}
[[nodiscard]] constexpr std::uint64_t announcement(std::uint64_t epoch,
                                                   std::uint16_t number) noexcept {
  return epoch << reader_epoch_shift | (std::uint64_t{number} << 1 & 0xfffe) | reader_active;
}

// The word of a slot for transactions: 0, or the offset in the pool of the replica that the reader
// reads, which is the beginning of a page, a number by which two operations differ, and a state.
enum class replica_state : unsigned {
  announced = 1,  ///< the reader compares the durable word, and has read nothing
  read = 2,       ///< until the reader withdraws it, or dies
  refused = 3,    ///< by a writer that has taken the announced replica
};
inline constexpr std::uint64_t replica_state_bits = 3;
inline constexpr std::uint64_t replica_number_bits = pool_format::page_bytes - 4;

[[nodiscard]] constexpr std::uint64_t replica_offset_of(std::uint64_t word) noexcept {
  return word & ~std::uint64_t{pool_format::page_bytes - 1};
}
[[nodiscard]] constexpr replica_state replica_state_of(std::uint64_t word) noexcept {
  return static_cast<replica_state>(word & replica_state_bits);
}
[[nodiscard]] constexpr std::uint64_t in_state(std::uint64_t word, replica_state state) noexcept {
  return (word & ~replica_state_bits) | static_cast<std::uint64_t>(state);
}
[[nodiscard]] constexpr std::uint64_t replica_announcement(std::uint64_t offset,
                                                           std::uint64_t number) noexcept {
  return in_state(offset | (number << 2 & replica_number_bits), replica_state::announced);
}

/// The slot of one thread of a reader. Its process holds a lock on the first byte.
struct alignas(pool_format::line_bytes) reader_slot {
  std::atomic<std::uint64_t> word;
  std::atomic<std::uint64_t> replica;
  std::atomic<std::uint64_t> roots;  ///< that the operation reads
  std::uint64_t reserved[5];
};
static_assert(sizeof(reader_slot) == pool_format::line_bytes &&
              offsetof(reader_slot, replica) == 8);
static_assert(offsetof(reader_slot, roots) == 16);

// The roots of a slot. Each half is 0 or one more than the number of a root: the low half that of
// the operation, the high half that of the operations inside of it.
inline constexpr unsigned inner_root_shift = 32;
/// The high half if the operations inside read several other roots.
inline constexpr std::uint64_t several_roots = 0xffffffff;

[[nodiscard]] constexpr std::uint64_t only_root(std::uint32_t root) noexcept {
  return std::uint64_t{root} + 1;
}
/// Returns true if an operation with these roots may read `root`. Without a root it may read any.
[[nodiscard]] constexpr bool may_read(std::uint64_t roots, std::uint32_t root) noexcept {
  const std::uint64_t outer = roots & several_roots;
  const std::uint64_t inner = roots >> inner_root_shift;
  return outer == 0 || outer == only_root(root) || inner == only_root(root) ||
         inner == several_roots;
}
[[nodiscard]] constexpr std::uint64_t with_inner_root(std::uint64_t roots,
                                                      std::uint32_t root) noexcept {
  if (may_read(roots, root)) return roots;
  const bool is_first = roots >> inner_root_shift == 0;
  return roots | (is_first ? only_root(root) : several_roots) << inner_root_shift;
}

/// The beginning of the pages; the slots follow.
struct reader_page {
  // Fixed, or changed only in the phase `opening`.
  std::uint64_t magic_word;
  std::uint32_t version;
  std::atomic<std::uint32_t> slot_count;  ///< that readers may take
  std::array<std::uint8_t, 16> uuid;      ///< of the pool
  pool_format::boot_id boot;              ///< during which the last opener opened the pool
  std::uint64_t device;                   ///< of the pool's file; comparable during one boot
  std::uint64_t inode;
  // Changed by the writer.
  std::atomic<std::uint64_t> changes;  ///< phase, and a count of openings and of dropped roots
  std::atomic<std::uint64_t> epoch;
  std::atomic<std::uint64_t> pool_bytes;
  std::atomic<std::uint64_t> state_generation;  ///< of the pool's state slots
  std::atomic<std::uint64_t> used_slots;        ///< no slot from here on was taken
  std::atomic<std::uint64_t> domain_kind;       ///< of the writer's instructions
  std::atomic<std::uint64_t> space_bytes;       ///< of addresses that the writer has reserved
  std::atomic<std::uint64_t> base_address;
  std::byte reserved[pool_format::page_bytes - 128];
  std::atomic<std::uint64_t> readable[most_readable_roots / 64];  ///< a bit per root
};
inline constexpr std::size_t reader_slots_offset = 12288;
static_assert(sizeof(reader_page) == reader_slots_offset);
static_assert(offsetof(reader_page, uuid) == 16);
static_assert(offsetof(reader_page, boot) == 32);
static_assert(offsetof(reader_page, device) == 48);
static_assert(offsetof(reader_page, changes) == 64);
static_assert(offsetof(reader_page, used_slots) == 96);
static_assert(offsetof(reader_page, readable) == 4096);

[[nodiscard]] constexpr std::size_t reader_file_bytes(std::uint32_t slots) noexcept {
  const std::size_t bytes = reader_slots_offset + slots * sizeof(reader_slot);
  return (bytes + pool_format::page_bytes - 1) / pool_format::page_bytes * pool_format::page_bytes;
}

[[nodiscard]] inline reader_slot& slot_of(reader_page& page, std::uint32_t slot) noexcept {
  auto* const first =
      reinterpret_cast<reader_slot*>(reinterpret_cast<std::byte*>(&page) + reader_slots_offset);
  return first[slot];
}

/// The shared pages, and the locks of their slots.
class reader_place {
 public:
  virtual ~reader_place() = default;
  reader_place(const reader_place&) = delete;
  reader_place& operator=(const reader_place&) = delete;

  [[nodiscard]] reader_page& page() const noexcept { return *page_; }
  /// Returns the number of slots that exist.
  [[nodiscard]] std::uint32_t slots() const noexcept { return slots_; }
  /// Returns true if a reader holds the slot. If that cannot be determined, returns true.
  [[nodiscard]] virtual bool is_held(std::uint32_t slot) const noexcept = 0;
  /// Takes a slot. Returns false if it is held elsewhere.
  [[nodiscard]] virtual bool take(std::uint32_t slot) noexcept = 0;
  virtual void give_back(std::uint32_t slot) noexcept = 0;

 protected:
  reader_place() = default;
  reader_page* page_ = nullptr;
  std::uint32_t slots_ = 0;
};

}  // namespace outlast::pool_detail
