// A table of entries of the pool, in chunks that double it.
#pragma once

#include <outlast/pool/tables.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace outlast::pool_impl {

/// The entries of roots or regions. Used by the pool only, under its mutex.
template <class Entry>
class entry_table {
 public:
  entry_table(std::byte* base, pool_format::doubling by,
              const std::vector<pool_format::table_chunk>& chunks)
      : by_(by) {
    for (const pool_format::table_chunk& chunk : chunks) {
      add(reinterpret_cast<Entry*>(base + chunk.offset), chunk.count);
    }
  }

  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] unsigned chunks() const noexcept { return used_; }
  [[nodiscard]] pool_format::doubling by() const noexcept { return by_; }
  [[nodiscard]] Entry& operator[](std::uint32_t index) const noexcept {
    const unsigned chunk = by_.chunk_of(index);
    return chunks_[chunk][index - by_.first_of(chunk)];
  }
  void add(Entry* first, std::uint32_t count) noexcept {
    chunks_[used_++] = first;
    count_ += count;
  }

 private:
  pool_format::doubling by_;
  std::array<Entry*, pool_format::max_chunks> chunks_{};
  unsigned used_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace outlast::pool_impl
