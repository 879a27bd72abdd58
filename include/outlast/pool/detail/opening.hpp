// Opening and creating pool files: everything that does not depend on the domain.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/format.hpp>
#include <outlast/pool/journal/redo_log.hpp>
#include <outlast/pool/pool_options.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace outlast::pool_detail {

/// A pool file, locked and mapped; nothing in it has changed yet, but for what a log brought.
struct opened_pool {
  mapped_file file;
  pool_format::parsed_header header;
  bool torn;  ///< by a machine crash, or by copying, and what opens it all the same was asked for
  std::unique_ptr<redo_log> log = nullptr;  ///< of domain::logged_file
  unfinished_pool created = {};             ///< of a pool that is being created, until it is kept
};

/// Sizes that a pool with these options gets. Throws error{bad_argument, too_small}.
struct pool_sizes {
  std::uint64_t size_bytes;
  std::uint64_t capacity_bytes;
  std::uint64_t shadow_distance;

  [[nodiscard]] std::uint64_t reserve_bytes() const noexcept {
    return shadow_distance == 0 ? capacity_bytes : shadow_distance + capacity_bytes;
  }
};
[[nodiscard]] pool_sizes sizes_for(const pool_options& options, const std::string& path);

/// A complete first page of a clean pool.
[[nodiscard]] pool_format::header_page make_header(const pool_sizes& sizes,
                                                   const std::array<std::uint8_t, 16>& uuid,
                                                   std::uintptr_t base);

/// Creates, locks and maps. Never replaces a file. `logged`: under domain::logged_file.
[[nodiscard]] opened_pool create_pool_file(const std::string& path, const pool_options& options,
                                           bool logged = false);

/// Opens, locks, judges and maps. Whatever is refused is refused before anything changes, but that
/// a log which another opener left is brought into the file first.
[[nodiscard]] opened_pool open_pool_file(const std::string& path, const pool_options& options,
                                         bool logged = false);

/// The size up to which a pool of `size_bytes` grows when it is opened; 0 if it stays as it is.
[[nodiscard]] std::uint64_t size_to_grow_to(const pool_options& options, std::uint64_t size_bytes);

/// Throws error{refused} where pools of this domain, the type's own, cannot be: those of `file` and
/// `logged_file` on a DAX device, which has nothing to sync and no room for a log.
void require_place_for(domain::kind own, const std::string& path);

/// Throws error{not_a_pool, header_damaged, ...} unless `bytes` begin with a good header.
[[nodiscard]] pool_format::parsed_header validate_header(std::span<const std::byte> bytes,
                                                         const std::string& path);

/// No page from here on is in use, found by looking only at the parts of the line table that the
/// file system has stored; `page_count` if it cannot tell. For pools that were not closed.
[[nodiscard]] std::uint32_t used_pages(int fd, const std::byte* image,
                                       const pool_format::parsed_header& header);

/// The instructions that a pool whose type leaves the choice (`native`) uses on this mapping.
[[nodiscard]] domain::kind choose_instructions(const pool_options& options, domain::kind mapping,
                                               const std::string& path);

/// Throws error{bad_argument} if the options force another domain than a pool of this type has.
void require_same_domain(const pool_options& options, domain::kind own, const std::string& path);

/// Tells the domains that keep books which pools are open; undone by the destructor.
class domain_registration {
 public:
  domain_registration() = default;
  /// `native`: the pool's type is domain::native or built on it. `log`: of a pool in a file under
  /// domain::logged_file; null for others.
  domain_registration(bool native, domain::kind instructions, const void* base, std::size_t bytes,
                      const std::string& path, redo_log* log);
  ~domain_registration();
  domain_registration(const domain_registration&) = delete;
  domain_registration& operator=(const domain_registration&) = delete;

 private:
  bool native_ = false;
  domain::kind kind_ = domain::kind::process;
  const void* base_ = nullptr;
  bool logged_ = false;
  int process_ = 0;  // in another one, a forked child, the range may be that of a pool of its own
};

}  // namespace outlast::pool_detail
