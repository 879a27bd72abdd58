// Writes a new pool over memory with any content: an image in memory, or a DAX device.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/pool/tables.hpp>

#include <cstddef>

namespace outlast::pool_detail {

/// Writes an empty pool with this first page and these growth words over `base`, where its header
/// and tables fit. Data pages keep their contents, which no code reads before it writes. Durable at
/// return. A crash during the call leaves bytes that do not begin with the magic. `is_zeros`: the
/// memory holds zeros; then the tables are not written. Requires: no other thread uses the memory,
/// and its contents are not needed.
template <domain::persistence_domain D>
void write_fresh_pool(std::byte* base, const pool_format::header_page& page,
                      const pool_format::growth_words& words, bool is_zeros = false) {
  constexpr std::size_t magic_bytes = sizeof page.fixed.magic_word;
  const std::uint64_t unfinished = pool_format::magic_of_unfinished;
  D::write(base, &unfinished, magic_bytes);
  domain::persist<D>(base, magic_bytes);
  const std::uint64_t end = is_zeros ? pool_format::page_bytes : page.fixed.first_data_offset;
  D::zero(base + pool_format::page_bytes, end - pool_format::page_bytes);
  D::write(base + magic_bytes, reinterpret_cast<const std::byte*>(&page) + magic_bytes,
           sizeof page - magic_bytes);
  if (page.fixed.format_version != pool_format::version_1) {
    std::byte* const at = base + page.fixed.line_table_offset - pool_format::page_bytes;
    D::write(at, &words, sizeof words);
    domain::flush<D>(at, sizeof words);
  }
  // (P1) persisted-before (P2): bytes that begin with the magic are a complete pool.
  domain::persist<D>(base, end);
  // (P2) the magic is written.
  D::write(base, &page, magic_bytes);
  domain::persist<D>(base, magic_bytes);
}

}  // namespace outlast::pool_detail
