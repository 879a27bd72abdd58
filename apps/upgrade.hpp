// Bringing a pool's file to the newest format, one version after the other.
#pragma once

#include <outlast/pool/format.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace outlast::apps {

/// How a file of format `from` becomes one of format `from + 1`. `run` is re-entrant: cut off by a
/// crash, it is run again, for the version in the header is the last thing that it writes.
struct upgrade_step {
  std::uint32_t from;
  std::function<void(const std::string& file)> run;
};

/// Every step there is. Format 1 is the first and the newest: none.
[[nodiscard]] std::span<const upgrade_step> all_upgrade_steps() noexcept;

/// The version that the first page of a pool says. The first 64 bytes and the rule of the checksum
/// are the same in every version. Throws error{not_a_pool, foreign_machine, header_damaged}.
[[nodiscard]] std::uint32_t version_of(std::span<const std::byte> first_page,
                                       const std::string& file);

/// Runs the steps from `version` to `newest`, each once and in order; returns the versions that it
/// left behind. Throws error{newer_version} if the file is newer, error{refused} if a step is
/// missing: nothing was done then.
std::vector<std::uint32_t> upgrade(const std::string& file, std::uint32_t version,
                                   std::uint32_t newest, std::span<const upgrade_step> steps);

}  // namespace outlast::apps
