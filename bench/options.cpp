#include <bench/options.hpp>

#include <bench/micro/micro.hpp>

#include <CLI/CLI.hpp>

#include <unistd.h>

namespace outlast::bench {
namespace {

std::vector<std::string> micro_names() {
  std::vector<std::string> names;
  for (const micro_benchmark& one : micro_benchmarks()) names.emplace_back(one.name);
  return names;
}

void add_options(CLI::App& tool, options& chosen) {
  tool.add_option("FILE", chosen.files, "Experiments: TOML files as in bench/figures");
  tool.add_option("--micro", chosen.micros, "Micro benchmarks: costs that explain the figures")
      ->allow_extra_args(false)
      ->check(CLI::IsMember(micro_names()));
  tool.add_flag("--quick", chosen.quick,
                "Seconds instead of minutes: short runs, few repetitions, no size above 100,000. "
                "Builds with sanitizers or without optimisation run this only, and record nothing");
  tool.add_flag("--json", chosen.json, "One JSON object per measured point a line");
  tool.add_flag("--list", chosen.list, "List what can be measured, and measure nothing");
  tool.add_option("--pool-dir,--memory_dir", chosen.pool_directory,
                  "Where pools are created, and removed after. Default: /dev/shm, else $TMPDIR")
      ->check(CLI::ExistingDirectory);
  tool.add_option("--disk-dir,--disk_dir", chosen.disk_directory,
                  "Where stores are created that shall lie on a disk, and removed after. Default: "
                  "the system's directory for temporary files")
      ->check(CLI::ExistingDirectory);
  tool.add_option(
          "--seconds", chosen.seconds,
          "Duration of one timed run, whatever the file says; of epochs micro benchmarks too")
      ->check(CLI::PositiveNumber);
  tool.add_option("--repetitions", chosen.repetitions, "Whatever the file says")
      ->check(CLI::PositiveNumber);
  tool.add_option("--threads", chosen.threads, "Numbers of threads, whatever the file says")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 4096));
  tool.add_option("--seed", chosen.seed, "Of the keys and operations drawn");
}

}  // namespace

parsed_options parse_options(int argc, char** argv) {
  CLI::App tool{
      "Measures experiments: throughput, its ratio to the transient twin, and exact counts "
      "of flushes and fences",
      "outlast bench"};
  options chosen;
  add_options(tool, chosen);
  try {
    tool.parse(argc, argv);
    if (chosen.files.empty() && chosen.micros.empty() && !chosen.list) {
      throw CLI::RequiredError("an experiment FILE, --micro or --list");
    }
  } catch (const CLI::ParseError& end) {
    return {std::nullopt, tool.exit(end)};
  }
  if (chosen.pool_directory.empty()) chosen.pool_directory = default_pool_directory();
  if (chosen.disk_directory.empty()) {
    chosen.disk_directory = std::filesystem::temp_directory_path();
  }
  return {chosen, 0};
}

std::filesystem::path default_pool_directory() {
  if (access("/dev/shm", W_OK) == 0) return "/dev/shm";
  return std::filesystem::temp_directory_path();
}

experiment adjusted(experiment what, const options& chosen) {
  if (chosen.seconds > 0) what.seconds = chosen.seconds;
  if (chosen.repetitions > 0) what.repetitions = chosen.repetitions;
  if (!chosen.threads.empty()) what.threads = chosen.threads;
  return what;
}

}  // namespace outlast::bench
