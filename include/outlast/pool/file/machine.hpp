// What this machine promises about a mapping, and who it is.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/pool/format.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace outlast::pool_detail {

/// The identity of the running kernel: another one after every boot. Zeros where it cannot be read.
[[nodiscard]] pool_format::boot_id current_boot_id();

/// The machine may have run on since a mark with this boot id was written: the id is this boot's,
/// or one of the two is unknown.
[[nodiscard]] bool may_be_this_boot(const pool_format::boot_id& recorded);

/// 16 random bytes from the kernel.
[[nodiscard]] std::array<std::uint8_t, 16> random_uuid();

/// What a MAP_SYNC mapping of `fd` survives on, by the persistence domain that sysfs reports for
/// its device: cache_persistent or adr. Where sysfs says nothing, libpmem2 is asked if it is
/// installed; adr, which is right on both, is the answer otherwise. Of a DAX device without a file
/// system, which may be ordinary memory: process unless sysfs says that it is persistent.
[[nodiscard]] domain::kind persistence_of_device(int fd);

/// The number of power failures that the device of `fd` did not survive properly, where libpmem2 is
/// installed and can tell.
[[nodiscard]] std::optional<std::uint64_t> unsafe_shutdowns(int fd);

/// `process`, `adr`, `cache_persistent`, `file` or `logged_file`; nullopt for other names.
[[nodiscard]] std::optional<domain::kind> kind_named(std::string_view name) noexcept;
[[nodiscard]] std::string_view name_of(domain::kind kind) noexcept;

/// The kind that the environment variable OUTLAST_DOMAIN forces. Throws error{bad_argument} for an
/// unknown name.
[[nodiscard]] std::optional<domain::kind> forced_by_environment();

/// What really survives when instructions of one kind work on a mapping of another.
[[nodiscard]] domain::kind effective_kind(domain::kind mapping, domain::kind instructions) noexcept;

/// Throws error{refused} if this CPU lacks the instructions that `instructions` needs.
void require_instructions(domain::kind instructions, const std::string& path);

/// One sentence for people: what survives what.
[[nodiscard]] std::string guarantee_sentence(domain::kind effective, domain::kind mapping,
                                             domain::kind instructions, const std::string& path,
                                             bool volatile_file_system);

/// The same for a file that is not open as a pool, by what a mapping of it would be.
[[nodiscard]] std::string guarantee_of_file(int fd, const std::string& path);

/// The file lies on a file system in memory.
[[nodiscard]] bool in_memory_file_system(int fd);

/// Whether the file system is one of which two things are known: its answers to SEEK_DATA count
/// pages that are dirty in the cache, and its inodes keep their numbers. FUSE and network file
/// systems are none.
[[nodiscard]] bool known_file_system(int fd);

}  // namespace outlast::pool_detail
