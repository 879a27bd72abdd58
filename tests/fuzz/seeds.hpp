// Small pools made by the library itself, for spoiling.
#pragma once

#include <outlast/lockfree/harris_list.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/pool/pool.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace outlast::fuzz {

using list = lockfree::harris_list<std::uint64_t, std::uint64_t>;
using table = lockfree::hash_table<std::uint64_t, std::uint64_t>;

inline constexpr const char* list_name = "list";
inline constexpr const char* table_name = "table";

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
  bool has_twins;  ///< the pool reserves address space for volatile twins
  std::vector<std::byte> image;
};

/// Memory at a fixed address, zero-filled, for as long as the object lives.
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

}  // namespace outlast::fuzz
