// Small pools made by the library itself, for spoiling.
#pragma once

#include <outlast/epoch/hash_map.hpp>
#include <outlast/epoch/ordered_map.hpp>
#include <outlast/epoch/queue.hpp>
#include <outlast/lockfree/harris_list.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/sets/link_free_hash.hpp>
#include <outlast/sets/soft_list.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::fuzz {

using list = lockfree::harris_list<std::uint64_t, std::uint64_t>;
using table = lockfree::hash_table<std::uint64_t, std::uint64_t>;
using records = sets::link_free_hash<std::uint64_t, std::uint64_t>;

/// Numbers as text, which lies beside the records that name it.
class texts : public sets::soft_list<std::uint64_t, std::string> {
  using base_type = sets::soft_list<std::uint64_t, std::string>;

 public:
  using mapped_type = std::uint64_t;
  using base_type::base_type;

  bool insert(std::uint64_t key, std::uint64_t value) {
    return base_type::insert(key, text_of(value));
  }
  bool put(std::uint64_t key, std::uint64_t value) { return base_type::put(key, text_of(value)); }
  bool update(std::uint64_t key, std::uint64_t value) {
    return base_type::update(key, text_of(value));
  }
  [[nodiscard]] std::optional<std::uint64_t> get(std::uint64_t key) const {
    const std::optional<std::string> found = base_type::get(key);
    return found ? std::optional(value_of(*found)) : std::nullopt;
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    base_type::for_each(
        [&](std::uint64_t key, std::string_view held) { visit(key, value_of(held)); });
  }

 private:
  static std::string text_of(std::uint64_t value) {
    return std::string(80, '.') + std::to_string(value);
  }
  static std::uint64_t value_of(std::string_view text) {
    std::uint64_t value = 0;
    for (const char c : text) {
      if (c >= '0' && c <= '9') value = value * 10 + static_cast<std::uint64_t>(c - '0');
    }
    return value;
  }
};

// Buffered structures.
using counts = epoch::hash_map<std::uint64_t, std::uint64_t>;
using ranges = epoch::ordered_map<std::uint64_t, std::uint64_t>;
using jobs = epoch::queue<std::uint64_t>;

inline constexpr const char* list_name = "list";
inline constexpr const char* table_name = "table";
inline constexpr const char* records_name = "records";
inline constexpr const char* texts_name = "texts";
inline constexpr const char* counts_name = "counts";
inline constexpr const char* ranges_name = "ranges";
inline constexpr const char* jobs_name = "jobs";

/// Stops the clock of a pool but for those who call tick(): what happens depends on nothing else.
inline void stop_ticking(pool& of) {
  epoch::clock_options by_hand;
  by_hand.epoch_length = std::chrono::microseconds{0};
  epoch::clock_of(of).configure(by_hand);
}

/// The bytes of each seed, as a file and in memory.
inline constexpr std::size_t seed_bytes = 24 * pool_format::page_bytes;
/// Where the seeds were made, and so where their pointers lead.
inline constexpr std::uintptr_t home_address = 0x5521'0000'0000;
/// Where pools are opened that have to be moved.
inline constexpr std::uintptr_t other_address = 0x5522'0000'0000;
/// The boot during which the seeds that were not closed were open.
inline constexpr pool_format::boot_id seed_boot = {1, 2, 3};

/// One good pool.
struct seed {
  std::string_view name;
  bool has_shadow;  ///< the pool reserves address space for shadow copies
  bool has_epochs;  ///< it has buffered structures
  std::vector<std::byte> image;
};

/// Zero-filled memory at a fixed address, during the lifetime of the object.
class mapping {
 public:
  mapping(std::uintptr_t address, std::size_t bytes);
  ~mapping();
  mapping(const mapping&) = delete;
  mapping& operator=(const mapping&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }

 private:
  std::byte* data_;
  std::size_t bytes_;
};

/// All seeds, the same bytes in every process. Made on first use.
[[nodiscard]] const std::vector<seed>& seeds();

/// How inputs name seeds in one byte. Inputs whose byte is byte_naming() of a seed keep their
/// meaning when seeds are added.
inline constexpr std::size_t first_seeds = 8;
inline constexpr std::uint8_t later_seeds_from = 0xf0;
[[nodiscard]] inline std::size_t seed_named_by(std::uint8_t byte) {
  if (byte < later_seeds_from) return byte % first_seeds;
  return first_seeds + (byte - later_seeds_from) % (seeds().size() - first_seeds);
}
[[nodiscard]] inline std::uint8_t byte_naming(std::size_t seed) noexcept {
  return static_cast<std::uint8_t>(seed < first_seeds ? seed
                                                      : seed - first_seeds + later_seeds_from);
}

}  // namespace outlast::fuzz
