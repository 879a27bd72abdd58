// outlast inspect FILE, outlast check FILE: show the contents of a pool file, and check its
// structure.
// Both only read, take no lock, and report as much as possible of dirty, damaged and foreign files.
// Exit status: 0, intact; 1, damaged; 2, not checked.
#include <apps/commands.hpp>
#include <outlast/base/error.hpp>
#include <outlast/pool/check.hpp>
#include <outlast/pool/file/machine.hpp>
#include <outlast/pool/format.hpp>
#include <outlast/pool/pages/page_line.hpp>
#include <outlast/pool/region.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace outlast::apps {
namespace {

using nlohmann::ordered_json;
using namespace pool_format;

constexpr auto relaxed = std::memory_order_relaxed;

std::string hexadecimal(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string state_name(std::uint64_t state) {
  if (state == entry_creating) return "creating";
  if (state == entry_live) return "live";
  if (state == entry_dropping) return "dropping";
  return "damaged";
}

/// The space of an owner.
struct owned {
  std::uint64_t pages = 0;
  std::uint64_t small_bytes = 0;   ///< the runs of small blocks
  std::uint64_t blocks_bytes = 0;  ///< the blocks in use in them, after a clean close
};

/// Pages per kind and per owner, and the free pages between runs.
struct usage {
  std::uint64_t pages[4] = {};
  std::uint64_t free_runs = 0;
  std::uint64_t largest_free_pages = 0;
  std::map<std::uint32_t, owned> of_owner;

  void add_free(std::uint64_t free_pages) {
    if (free_pages == 0) return;
    pages[0] += free_pages;
    ++free_runs;
    largest_free_pages = std::max(largest_free_pages, free_pages);
  }
};

/// The tables of a pool in a file.
class table_view {
 public:
  explicit table_view(const file_view& view) : bytes_(view.bytes()), tables_(view.tables()) {}

  [[nodiscard]] const page_line& line(std::uint32_t page) const {
    return *reinterpret_cast<const page_line*>(bytes_.data() + tables_.descriptor_offset(page));
  }
  /// Calls `visit(entry, number)` for each entry of a table.
  template <class Entry, class Visit>
  void for_each(const std::vector<table_chunk>& chunks, Visit&& visit) const {
    for (const table_chunk& chunk : chunks) {
      const auto* const entries = reinterpret_cast<const Entry*>(bytes_.data() + chunk.offset);
      for (std::uint32_t i = 0; i < chunk.count; ++i) visit(entries[i], chunk.first + i);
    }
  }
  [[nodiscard]] const pool_tables& tables() const noexcept { return tables_; }

 private:
  std::span<const std::byte> bytes_;
  pool_tables tables_;
};

/// Returns the bytes of the blocks in use in a run of small blocks, as the last close recorded
/// them.
std::uint64_t blocks_in_use(const table_view& lines, std::uint32_t first, std::uint32_t end) {
  std::uint64_t blocks = 0;
  for (std::uint32_t page = first; page < end; ++page) {
    for (const auto& word : lines.line(page).occupied) {
      blocks += static_cast<std::uint64_t>(std::popcount(word.load(relaxed)));
    }
  }
  return blocks * lines.line(first).block_size;
}

usage count_pages(const file_view& view, const parsed_header& header) {
  usage result;
  const table_view lines(view);
  const std::uint32_t end = view.used_pages();
  auto page = static_cast<std::uint32_t>(header.fixed.first_data_offset / page_bytes);
  std::uint64_t free_pages = 0;
  while (page < end) {
    const run_word run = run_word::unpack(lines.line(page).word.load(relaxed));
    const bool sound = run.kind != run_kind::free && run.pages != 0 &&
                       (header.fixed.format_version >= 2 || !run.has_long_owner());
    if (!sound) {
      ++free_pages;
      ++page;
      continue;
    }
    result.add_free(std::exchange(free_pages, 0));
    const std::uint32_t next = page + std::min(run.pages, end - page);
    owned& of = result.of_owner[run.owner];
    result.pages[static_cast<std::size_t>(run.kind)] += run.pages;
    of.pages += run.pages;
    if (run.kind == run_kind::small) {
      of.small_bytes += (next - page) * page_bytes;
      of.blocks_bytes += blocks_in_use(lines, page, next);
    }
    page = next;
  }
  result.add_free(free_pages + header.file_bytes() / page_bytes - page);
  return result;
}

ordered_json describe_header(const parsed_header& header) {
  const static_header& fixed = header.fixed;
  const state_slot& state = header.state;
  const auto kind = static_cast<domain::kind>(state.domain_kind);
  return {{"format_version", fixed.format_version},
          {"uuid", to_string(fixed.uuid)},
          {"creator", text_of(fixed.creator)},
          {"size_bytes", state.size_bytes},
          {"capacity_bytes", fixed.capacity_bytes},
          {"base_address", hexadecimal(state.base_address)},
          {"volatile_twin_distance", fixed.shadow_distance_in_memory},
          {"mark", header.dirty() ? "dirty" : "clean"},
          {"dirty_under_domain", header.dirty() ? pool_detail::name_of(kind) : ""},
          {"generation", state.generation},
          {"features",
           {fixed.incompatible_features, fixed.read_only_compatible_features,
            fixed.compatible_features}}};
}

/// Returns the share of `whole`, with three digits.
double share(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return 0;
  return std::round(1000 * static_cast<double>(part) / static_cast<double>(whole)) / 1000;
}

ordered_json describe_roots(const file_view& view, const usage& used) {
  ordered_json roots = ordered_json::array();
  const table_view view_of(view);
  view_of.for_each<root_entry>(
      view_of.tables().roots, [&](const root_entry& entry, std::uint32_t i) {
        const std::uint64_t state = entry.state.load(relaxed);
        if (state == entry_free) return;
        const auto found = used.of_owner.find(i);
        const owned of = found == used.of_owner.end() ? owned{} : found->second;
        const bool is_known = entry.occupancy_valid.load(relaxed) == occupancy_saved;
        roots.push_back({{"index", i},
                         {"name", text_of(entry.identity.name)},
                         {"type", text_of(entry.identity.type_name)},
                         {"fingerprint", hexadecimal(entry.identity.fingerprint)},
                         {"state", intact(entry.identity) ? state_name(state) : "damaged"},
                         {"closed_cleanly", is_known},
                         {"object_offset", entry.object_offset.load(relaxed)},
                         {"bytes", of.pages * page_bytes}});
        // With a recorded occupancy, the space between the blocks in use is free for this root.
        if (is_known && of.small_bytes != 0) {
          roots.back()["small_blocks_in_use_bytes"] = of.blocks_bytes;
          roots.back()["small_blocks_filled"] = share(of.blocks_bytes, of.small_bytes);
        }
      });
  return roots;
}

ordered_json describe_regions(const file_view& view) {
  ordered_json regions = ordered_json::array();
  const table_view view_of(view);
  view_of.for_each<region_entry>(
      view_of.tables().regions, [&](const region_entry& entry, std::uint32_t i) {
        const region_identity& region = entry.identity;
        const std::uint64_t state = entry.state.load(relaxed);
        if (state == entry_free) return;
        regions.push_back({{"index", i},
                           {"name", text_of(region.name)},
                           {"kind", name_of(static_cast<region_kind>(region.kind))},
                           {"state", intact(region) ? state_name(state) : "damaged"},
                           {"offset", region.offset},
                           {"bytes", region.bytes},
                           {"replicas", region.replicas}});
      });
  return regions;
}

ordered_json describe_usage(const file_view& view, const parsed_header& header, const usage& used) {
  const std::uint64_t all = header.file_bytes() - header.fixed.first_data_offset;
  const std::uint64_t taken = (used.pages[1] + used.pages[2] + used.pages[3]) * page_bytes;
  return {{"file_bytes", view.bytes().size()},
          {"stored_bytes", view.stored_bytes()},
          {"data_bytes", all},
          {"used_bytes", taken},
          {"small_block_bytes", used.pages[1] * page_bytes},
          {"large_block_bytes", used.pages[2] * page_bytes},
          {"region_bytes", used.pages[3] * page_bytes},
          {"free_bytes", used.pages[0] * page_bytes},
          {"free_runs", used.free_runs},
          {"largest_free_bytes", used.largest_free_pages * page_bytes},
          {"fragmentation", share(used.pages[0] - used.largest_free_pages, used.pages[0])}};
}

/// Returns null if the pool was closed, or if the opener recorded nothing.
ordered_json describe_file(const file_view& view) {
  const std::optional<file_identity> recorded = view.opened_in();
  if (!recorded) return nullptr;
  return {{"device", hexadecimal(recorded->device)},
          {"inode", recorded->inode},
          {"born_ns", recorded->born},
          {"this_file", !view.torn_by_copying()}};
}

ordered_json describe_findings(const std::vector<finding>& findings) {
  ordered_json list = ordered_json::array();
  for (const finding& one : findings) {
    list.push_back({{"level", name_of(one.level)}, {"finding", one.sentence}});
  }
  return list;
}

ordered_json describe(const std::string& path, const file_view& view) {
  ordered_json all{{"file", path}};
  const header_reading reading = read_header(view.bytes());
  if (reading.problem) {
    all["problem"] = reading.problem->sentence;
    return all;
  }
  parsed_header header = *reading.header;
  raise_size(header, view.tables());
  all.update(describe_header(header));
  all["guarantee"] = view.guarantee();
  all["open_in_process"] = view.holder();
  all["opened_in_file"] = describe_file(view);
  if (std::string wrong = view.problem(); !wrong.empty()) {
    all["problem"] = std::move(wrong);
    return all;
  }
  const usage used = count_pages(view, header);
  all["usage"] = describe_usage(view, header, used);
  all["roots"] = describe_roots(view, used);
  all["regions"] = describe_regions(view);
  return all;
}

void print_value(const std::string& key, const ordered_json& value) {
  std::cout << "  " << key << ": " << (value.is_string() ? value.get<std::string>() : value.dump())
            << '\n';
}

void print_list(const std::string& title, const ordered_json& list) {
  std::cout << title << (list.empty() ? ": none\n" : ":\n");
  for (const ordered_json& entry : list) {
    std::cout << "  " << entry.at("index") << "  " << entry.at("name").get<std::string>() << "  ";
    for (const auto& [key, value] : entry.items()) {
      if (key == "index" || key == "name") continue;
      std::cout << ' ' << key << '='
                << (value.is_string() ? value.get<std::string>() : value.dump());
    }
    std::cout << '\n';
  }
}

void print_for_people(const ordered_json& all) {
  std::cout << all.at("file").get<std::string>() << '\n';
  for (const auto& [key, value] : all.items()) {
    if (!value.is_structured() && key != "file") print_value(key, value);
  }
  if (all.contains("opened_in_file") && all.at("opened_in_file").is_object()) {
    print_value("opened_in_file", all.at("opened_in_file"));
  }
  if (!all.contains("usage")) return;
  std::cout << "usage:\n";
  for (const auto& [key, value] : all.at("usage").items()) print_value(key, value);
  print_list("roots", all.at("roots"));
  print_list("regions", all.at("regions"));
}

struct inspect_arguments {
  std::string file;
  bool json = false;
};

void run_inspect(const inspect_arguments& given) {
  const file_view view(given.file);
  const ordered_json all = describe(given.file, view);
  if (given.json) {
    std::cout << all.dump() << '\n';
  } else {
    print_for_people(all);
  }
  if (all.contains("problem")) exit_with(1);
}

void run_check(const inspect_arguments& given) {
  const std::vector<finding> findings = check_file(given.file);
  const bool sound = !has_errors(findings);
  if (given.json) {
    std::cout << ordered_json{{"file", given.file},
                              {"sound", sound},
                              {"findings", describe_findings(findings)}}
                     .dump()
              << '\n';
  } else {
    for (const finding& one : findings) {
      std::cout << given.file << ": " << name_of(one.level) << ": " << one.sentence << '\n';
    }
    if (sound) std::cout << given.file << ": sound\n";
  }
  if (!sound) exit_with(1);
}

CLI::App* add_command(CLI::App& tool, const char* name, const char* purpose,
                      void (*run)(const inspect_arguments&)) {
  CLI::App* const command = tool.add_subcommand(name, purpose);
  const auto given = std::make_shared<inspect_arguments>();
  command->add_option("file", given->file, "The pool file")->required();
  command->add_flag("--json", given->json, "Print one JSON object");
  return command->callback([given, run] { or_status_2([&] { run(*given); }, given->json); });
}

}  // namespace

void add_inspect(CLI::App& tool) {
  add_command(tool, "inspect", "Show header, usage, roots and regions of a pool file", run_inspect);
}

void add_check(CLI::App& tool) {
  add_command(tool, "check",
              "Check the structure of a pool file; exit status 1: damaged, 2: not checked",
              run_check);
}

}  // namespace outlast::apps
