// The promises of this machine for a mapping, and its identity.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/pool/format.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace outlast::pool_detail {

/// Returns the identity of the running kernel, which differs after every boot. Zeros if it cannot
/// be read.
[[nodiscard]] pool_format::boot_id current_boot_id();

/// Returns whether the machine may have kept running since a mark with this boot id was written:
/// the id is that of this boot, or one of the two is unknown.
[[nodiscard]] bool may_be_this_boot(const pool_format::boot_id& recorded);

/// Returns 16 random bytes from the kernel.
[[nodiscard]] std::array<std::uint8_t, 16> random_uuid();

/// Returns the domain of a MAP_SYNC mapping of `fd`, by the persistence domain that sysfs reports
/// for its device: cache_persistent or adr. If sysfs reports nothing, the function uses libpmem2 if
/// it is installed, and otherwise adr, which is correct on both. A DAX device without a file system
/// can be ordinary memory: its domain is process unless sysfs reports persistence.
[[nodiscard]] domain::kind persistence_of_device(int fd);

/// Returns the number of power failures that the device of `fd` did not survive properly, if
/// libpmem2 is installed and can determine it.
[[nodiscard]] std::optional<std::uint64_t> unsafe_shutdowns(int fd);

/// Returns the kind of the name `process`, `adr`, `cache_persistent`, `file` or `logged_file`;
/// nullopt for other names.
[[nodiscard]] std::optional<domain::kind> kind_named(std::string_view name) noexcept;
[[nodiscard]] std::string_view name_of(domain::kind kind) noexcept;

/// Returns the kind that the environment variable OUTLAST_DOMAIN forces. Throws error{bad_argument}
/// for an unknown name.
[[nodiscard]] std::optional<domain::kind> forced_by_environment();

/// Returns the actual promise if instructions of one kind work on a mapping of another.
[[nodiscard]] domain::kind effective_kind(domain::kind mapping, domain::kind instructions) noexcept;

/// Throws error{refused} if this CPU lacks the instructions that `instructions` needs.
void require_instructions(domain::kind instructions, const std::string& path);

/// Returns one sentence for users: which data survives which failure.
[[nodiscard]] std::string guarantee_sentence(domain::kind effective, domain::kind mapping,
                                             domain::kind instructions, const std::string& path,
                                             bool volatile_file_system);

/// Like the above, for a file that is not open as a pool, by the promise of a mapping of it.
[[nodiscard]] std::string guarantee_of_file(int fd, const std::string& path);

/// Returns whether the file is on a file system in memory.
[[nodiscard]] bool in_memory_file_system(int fd);

/// Returns whether the file system is known for two properties: SEEK_DATA counts pages that are
/// dirty in the cache, and inodes keep their numbers. FUSE and network file systems have neither.
[[nodiscard]] bool known_file_system(int fd);

}  // namespace outlast::pool_detail
