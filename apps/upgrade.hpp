// Converts the file of a pool to the newest format, one version at a time.
#pragma once

#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/format.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace outlast::apps {

/// The conversion from format `from` to format `from + 1`. `run` can be repeated after a crash,
/// because it writes the version in the header last.
struct upgrade_step {
  std::uint32_t from;
  std::function<void(const std::string& file)> run;
};

/// Returns all steps, for the pool in this locked file, which no pool object has opened.
[[nodiscard]] std::vector<upgrade_step> all_upgrade_steps(const pool_detail::mapped_file& pool);

/// Returns the version in the first page of a pool. The first 64 bytes and the rule of the checksum
/// are the same in every version. Throws error{not_a_pool, foreign_machine, header_damaged}.
[[nodiscard]] std::uint32_t version_of(std::span<const std::byte> first_page,
                                       const std::string& file);

/// Runs the steps from `version` to `newest`, each once and in order. Returns the versions before
/// each step. Throws without effect: error{newer_version} if the file is newer, error{refused} if a
/// step is missing.
std::vector<std::uint32_t> upgrade(const std::string& file, std::uint32_t version,
                                   std::uint32_t newest, std::span<const upgrade_step> steps);

}  // namespace outlast::apps
