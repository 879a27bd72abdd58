// Opening and creating pool files: everything that does not depend on the domain.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/domain/file.hpp>
#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/format.hpp>
#include <outlast/pool/journal/redo_log.hpp>
#include <outlast/pool/pool_options.hpp>
#include <outlast/pool/tables.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace outlast::pool_detail {

/// The address space of an open pool, from its base on.
struct pool_space {
  std::uint64_t bytes;      ///< that are reserved
  std::uint64_t max_bytes;  ///< to which the reserved range can be extended
};

/// A pool file, locked and mapped. It is unchanged, except that a log's batches were brought in.
struct opened_pool {
  mapped_file file;
  pool_format::parsed_header header;
  bool torn;  ///< by a machine crash or by copying, and an option permits to open it
  pool_format::pool_tables tables = {};
  pool_space space = {};                    ///< address space
  std::unique_ptr<redo_log> log = nullptr;  ///< of domain::logged_file
  unfinished_pool created = {};             ///< of a pool under creation, until it is kept
};

/// The sizes of a pool with these options. Throws error{bad_argument, too_small}.
struct pool_sizes {
  std::uint32_t format_version;
  std::uint64_t size_bytes;      ///< at creation
  std::uint64_t capacity_bytes;  ///< version 1: of the tables; version 2: limit, or 0
  std::uint64_t zone_pages;      ///< version 2
  std::uint64_t shadow_distance;
  std::uint64_t space_bytes;  ///< of addresses, without the shadow copies

  [[nodiscard]] std::uint64_t reserve_bytes() const noexcept {
    return shadow_distance == 0 ? space_bytes : shadow_distance + space_bytes;
  }
};
[[nodiscard]] pool_sizes sizes_for(const pool_options& options, const std::string& path);

/// Address space of a pool that has no limit and is not larger than a quarter of this.
inline constexpr std::uint64_t usual_space_bytes = std::uint64_t{64} << 30;

/// Returns the address space for a pool that needs `least` bytes of it and has this limit, or none
/// (0).
[[nodiscard]] std::uint64_t space_bytes_for(std::uint64_t least, std::uint64_t limit) noexcept;

/// Returns what a user can do if the reserved address space of a pool cannot be extended to
/// `needed` bytes. `base`: of the pool. `used_bytes`: its size if its free end is cut off.
[[nodiscard]] std::string remedy_for_blocked_space(const std::byte* base, std::uint64_t used_bytes,
                                                   std::uint64_t reserved_bytes,
                                                   std::uint64_t needed_bytes);
/// Returns what a user can do if a pool in a file fills `max_bytes` of address space, to which its
/// range can be extended. `shadow_distance`: of the pool.
[[nodiscard]] std::string remedy_for_full_space(std::uint64_t max_bytes,
                                                std::uint64_t shadow_distance);

/// Returns a complete first page of a clean pool. Its size is at most what its first chunk of
/// descriptors covers: the opener grows it.
[[nodiscard]] pool_format::header_page make_header(const pool_sizes& sizes,
                                                   const std::array<std::uint8_t, 16>& uuid,
                                                   std::uintptr_t base);

/// Creates, locks and maps a pool file. Never replaces a file. `logged`: under domain::logged_file.
[[nodiscard]] opened_pool create_pool_file(const std::string& path, const pool_options& options,
                                           bool logged = false);

/// Opens, locks, validates and maps a pool file. Every refusal has no effect on the file, except
/// that the log of an earlier opener may have been brought into it.
[[nodiscard]] opened_pool open_pool_file(const std::string& path, const pool_options& options,
                                         bool logged = false);

/// Returns the size to which a pool of `size_bytes` grows when it is opened; 0 if it stays as it
/// is. `created`: the pool is new.
[[nodiscard]] std::uint64_t size_to_grow_to(const pool_options& options, std::uint64_t size_bytes,
                                            bool created);

/// Writes the growth words of a new pool of version 2 to the buffer, which begins with the page of
/// the words: its first chunks and its limit.
void make_growth_words(const pool_sizes& sizes, const pool_format::header_page& page,
                       pool_format::growth_words& words) noexcept;

/// Throws error{refused} if pools of this domain, that of the type, cannot be at this path. Pools
/// of `file` and `logged_file` cannot be on a DAX device, which has nothing to sync and no room for
/// a log.
void require_place_for(domain::kind own, const std::string& path);

/// Throws error{not_a_pool, header_damaged, ...} unless `bytes` begin with a good header.
[[nodiscard]] pool_format::parsed_header validate_header(std::span<const std::byte> bytes,
                                                         const std::string& path);

/// Returns a page from which on no page is in use. Reads only the parts of the line table that the
/// file system has stored; returns `page_count` if these are unknown. For pools that were not
/// closed. `stored`: nullptr, or gets the first page and the end of each of these parts, in
/// ascending order; remains empty if they are unknown.
[[nodiscard]] std::uint32_t used_pages(
    int fd, const std::byte* image, const pool_format::parsed_header& header,
    const pool_format::pool_tables& tables,
    std::vector<std::pair<std::uint32_t, std::uint32_t>>* stored = nullptr);

/// Returns the tables of a pool. Throws corruption if its growth words are damaged.
[[nodiscard]] pool_format::pool_tables tables_of(const pool_format::parsed_header& header,
                                                 const pool_format::table_reader& read,
                                                 const std::string& path);

/// Returns the instructions of a pool on this mapping whose type leaves the choice (`native`).
[[nodiscard]] domain::kind choose_instructions(const pool_options& options, domain::kind mapping,
                                               const std::string& path);

/// Throws error{bad_argument} if the options force another domain than that of the pool's type.
void require_same_domain(const pool_options& options, domain::kind own, const std::string& path);

/// Registers an open pool with the domains that keep records of open pools. The destructor undoes
/// it.
class domain_registration {
 public:
  domain_registration() = default;
  /// `native`: the pool's type is domain::native or built on it. `log`: of a pool in a file under
  /// domain::logged_file; nullptr for others. `holder`: of the bytes in the range.
  domain_registration(bool native, domain::kind instructions, const void* base, std::size_t bytes,
                      const std::string& path, redo_log* log, domain::file::page_holder holder);
  ~domain_registration();
  /// The range of the pool has `bytes` bytes from now on.
  void extend(std::size_t bytes) noexcept;
  domain_registration(const domain_registration&) = delete;
  domain_registration& operator=(const domain_registration&) = delete;

 private:
  bool native_ = false;
  domain::kind kind_ = domain::kind::process;
  const void* base_ = nullptr;
  bool logged_ = false;
  int process_ = 0;  // in the child of a fork, the range can belong to another pool
};

}  // namespace outlast::pool_detail
