// outlast upgrade POOL: converts a pool of an older format to the newest one.
// Exit status: 0, the pool has the newest format; 2, it does not, and was not changed.
#include <apps/upgrade.hpp>

#include <apps/commands.hpp>
#include <outlast/base/error.hpp>
#include <outlast/pool/detail/upgrade.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <memory>

namespace outlast::apps {
namespace {

using nlohmann::ordered_json;

struct upgrade_arguments {
  std::string file;
  bool json = false;
};

void run_upgrade(const upgrade_arguments& given) {
  // The lock: no process can open the pool during the conversion.
  const auto file = pool_detail::mapped_file::open(given.file);
  const std::uint32_t before = version_of(file.first_page(), given.file);
  const std::vector<std::uint32_t> left =
      upgrade(given.file, before, pool_format::version, all_upgrade_steps(file));
  if (given.json) {
    std::cout << ordered_json{{"file", given.file},
                              {"format_version", pool_format::version},
                              {"before", before},
                              {"newest", pool_format::version},
                              {"changed", !left.empty()}}
                     .dump()
              << '\n';
    return;
  }
  std::cout << given.file << ": ";
  if (left.empty()) {
    std::cout << "format version " << before << ", which is the newest: nothing to do\n";
  } else {
    std::cout << "format version " << before << " became " << pool_format::version << '\n';
  }
}

}  // namespace

std::vector<upgrade_step> all_upgrade_steps(const pool_detail::mapped_file& pool) {
  return {{pool_format::version_1,
           [&pool](const std::string&) { pool_detail::upgrade_unopened(pool); }}};
}

std::uint32_t version_of(std::span<const std::byte> first_page, const std::string& file) {
  pool_format::header_page page{};
  if (first_page.size() < sizeof page) {
    throw error(errc::not_a_pool, file, "the file is too short for a pool");
  }
  std::memcpy(&page, first_page.data(), sizeof page);
  const pool_format::static_header& header = page.fixed;
  if (header.magic_word != pool_format::magic) {
    throw error(errc::not_a_pool, file, "this is not a pool: it begins with other bytes");
  }
  if (header.endian != pool_format::endian_tag) {
    throw error(errc::foreign_machine, file, "the pool is of a machine with another byte order");
  }
  // The step completes an upgrade that was cut off.
  if (header.checksum != pool_format::header_checksum(page) &&
      !pool_format::is_of_interrupted_upgrade(page)) {
    throw error(errc::header_damaged, file,
                "the header is damaged: its checksum does not match, so its version may be "
                "wrong; restore a backup");
  }
  return header.format_version;
}

std::vector<std::uint32_t> upgrade(const std::string& file, std::uint32_t version,
                                   std::uint32_t newest, std::span<const upgrade_step> steps) {
  if (version > newest) {
    throw error(errc::newer_version, file,
                "the pool has format version " + std::to_string(version) +
                    ", and this program supports versions up to " + std::to_string(newest) +
                    "; use a newer Outlast");
  }
  std::vector<const upgrade_step*> way;
  for (std::uint32_t at = version; at < newest; ++at) {
    const auto step = std::find_if(steps.begin(), steps.end(),
                                   [at](const upgrade_step& each) { return each.from == at; });
    if (step == steps.end()) {
      throw error(errc::refused, file,
                  "this program cannot convert format version " + std::to_string(at) +
                      " to version " + std::to_string(at + 1) + "; the pool was not changed");
    }
    way.push_back(&*step);
  }
  std::vector<std::uint32_t> left;
  for (const upgrade_step* const step : way) {
    step->run(file);
    left.push_back(step->from);
  }
  return left;
}

void add_upgrade(CLI::App& tool) {
  CLI::App* const added =
      tool.add_subcommand("upgrade", "Bring a pool file to the newest format version");
  const auto given = std::make_shared<upgrade_arguments>();
  added->add_option("file", given->file, "The pool file")->required();
  added->add_flag("--json", given->json, "Print one JSON object");
  added->callback([given] { or_status_2([&] { run_upgrade(*given); }, given->json); });
}

}  // namespace outlast::apps
