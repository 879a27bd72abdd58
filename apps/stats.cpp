// outlast stats FILE: shows the space of a pool by its roots and regions: what is in use, what is
// free, and what retains the end of the file.
// It only reads, and takes no lock. Exit status: 0, or 1 if the file is damaged, or 2 if it cannot
// be read.
#include <apps/commands.hpp>
#include <outlast/base/error.hpp>
#include <outlast/pool/check.hpp>
#include <outlast/pool/format.hpp>
#include <outlast/pool/usage.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

namespace outlast::apps {
namespace {

using stats_json = nlohmann::ordered_json;

stats_json or_null(const std::optional<std::uint64_t>& number) {
  return number ? stats_json(*number) : stats_json(nullptr);
}

stats_json stats_of_owners(const pool_usage& used, bool regions) {
  stats_json list = stats_json::array();
  for (const owner_usage& each : used.owners) {
    if (each.is_region != regions) continue;
    list.push_back({{"index", each.index},
                    {"name", each.name},
                    {"state", each.state},
                    {"held_bytes", each.held_bytes},
                    {"live_bytes", or_null(each.live_bytes)},
                    {"retained_bytes", or_null(each.retained_bytes())},
                    {"small_block_bytes", each.small_block_bytes},
                    {"runs", each.runs},
                    {"end_offset", each.end_offset}});
  }
  return list;
}

stats_json stats_of_tables(const pool_usage& used) {
  stats_json list = stats_json::array();
  for (const table_usage& each : used.tables) {
    list.push_back({{"name", each.name},
                    {"chunks", each.chunks},
                    {"entries", each.entries},
                    {"bytes", each.bytes}});
  }
  return list;
}

stats_json stats_of_space(const file_usage& of) {
  const pool_usage& used = of.pool;
  return {
      {"file_bytes", of.file_bytes},         {"stored_bytes", of.stored_bytes},
      {"pool_bytes", used.pool_bytes},       {"table_bytes", used.table_bytes},
      {"root_bytes", used.root_bytes},       {"region_bytes", used.region_bytes},
      {"unowned_bytes", used.unowned_bytes}, {"free_bytes", used.free_bytes},
      {"live_bytes", used.live_bytes},       {"retained_bytes", used.retained_bytes},
      {"unknown_bytes", used.unknown_bytes}, {"free_stored_bytes", or_null(of.free_stored_bytes)},
      {"free_runs", used.free_runs},         {"largest_free_bytes", used.largest_free_bytes},
      {"cut_bytes", used.cut_bytes}};
}

stats_json stats_of(const std::string& path, const pool_format::file_view& view) {
  stats_json all{{"file", path}};
  if (const std::string wrong = view.problem(); !wrong.empty()) {
    all["problem"] = wrong;
    return all;
  }
  const pool_format::parsed_header header = *pool_format::read_header(view.bytes()).header;
  const file_usage used = view.usage();
  all["format_version"] = header.fixed.format_version;
  all["mark"] = header.dirty() ? "dirty" : "clean";
  all["open_in_process"] = view.holder();
  all["space"] = stats_of_space(used);
  all["tail"] = {{"kind", used.pool.tail.kind},
                 {"index", used.pool.tail.index},
                 {"name", used.pool.tail.name},
                 {"end_offset", used.pool.tail.end_offset},
                 {"cut_without_it_bytes", used.pool.tail.cut_without_it_bytes}};
  all["tables"] = stats_of_tables(used.pool);
  all["roots"] = stats_of_owners(used.pool, false);
  all["regions"] = stats_of_owners(used.pool, true);
  return all;
}

std::string text_of_value(const std::string& key, const stats_json& value) {
  if (value.is_null()) return key == "free_stored_bytes" ? "unknown" : "unknown until recovered";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// Prints each entry of a list as a line: its name, and then the other values.
void print_stats_list(const std::string& title, const stats_json& list) {
  std::cout << title << (list.empty() ? ": none\n" : ":\n");
  for (const stats_json& entry : list) {
    std::cout << "  " << entry.at("name").get<std::string>() << ": ";
    const char* before = "";
    for (const auto& [key, value] : entry.items()) {
      if (key == "name") continue;
      std::cout << before << key << ' ' << text_of_value(key, value);
      before = ", ";
    }
    std::cout << '\n';
  }
}

void print_stats(const stats_json& all) {
  std::cout << all.at("file").get<std::string>() << '\n';
  for (const auto& [key, value] : all.items()) {
    if (value.is_structured() || key == "file") continue;
    std::cout << "  " << key << ": " << text_of_value(key, value) << '\n';
  }
  for (const char* const part : {"space", "tail"}) {
    if (!all.contains(part)) return;
    std::cout << part << ":\n";
    for (const auto& [key, value] : all.at(part).items()) {
      std::cout << "  " << key << ": " << text_of_value(key, value) << '\n';
    }
  }
  for (const char* const part : {"tables", "roots", "regions"})
    print_stats_list(part, all.at(part));
}

struct stats_arguments {
  std::string file;
  bool json = false;
};

void run_stats(const stats_arguments& given) {
  const pool_format::file_view view(given.file);
  const stats_json all = stats_of(given.file, view);
  if (given.json) {
    std::cout << all.dump() << '\n';
  } else {
    print_stats(all);
  }
  if (all.contains("problem")) exit_with(1);
}

}  // namespace

void add_stats(CLI::App& tool) {
  CLI::App* const added =
      tool.add_subcommand("stats", "Show live, free and retained bytes of a pool file by root");
  const auto given = std::make_shared<stats_arguments>();
  added->add_option("file", given->file, "The pool file")->required();
  added->add_flag("--json", given->json, "Print one JSON object");
  added->callback([given] { or_status_2([&] { run_stats(*given); }, given->json); });
}

}  // namespace outlast::apps
