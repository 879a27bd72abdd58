#include <bench/db_bench/flags.hpp>

#include <bench/db_bench/driver.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>

#include <unistd.h>

namespace outlast::bench {
namespace {

constexpr const char* default_benchmarks =
    "fillseq,fillsync,fillrandom,overwrite,readrandom,readseq,readreverse,compact,readrandom,"
    "readseq,readreverse,fill100K";

std::vector<std::string> engine_names() {
  std::vector<std::string> names;
  for (const engine& one : engines()) names.emplace_back(one.name);
  return names;
}

std::string manual() {
  std::string text = "\nBenchmarks, of N = --num and R = --reads, in each of --threads threads:\n";
  const auto add = [&](std::string_view name, std::string_view what) {
    text.append("  ").append(name);
    text.append(name.size() < 18 ? 18 - name.size() : 1, ' ').append(what).append("\n");
  };
  for (const benchmark& one : benchmarks()) add(one.name, one.what);
  for (const errand& one : errands()) add(one.name, one.what);
  return text +
         "\nThose that write all keys (fill..., ycsbload) begin with an empty store, and are\n"
         "skipped with --use_existing_db. A report is `NAME : MICROSECONDS micros/op;`: the time\n"
         "that an operation takes its thread; then MB/s of keys and values, all threads together.";
}

void add_workload_flags(CLI::App& tool, store_settings& settings) {
  tool.add_option("--benchmarks", settings.benchmarks, "What to run, in this order; see below")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Validator(
          [](std::string& name) {
            return is_known(name) ? std::string() : "there is no benchmark '" + name + "'";
          },
          "NAME,..."))
      ->default_str(default_benchmarks);
  tool.add_option("--num", settings.keys, "Keys in the store, and operations of most benchmarks")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32))
      ->capture_default_str();
  tool.add_option("--reads", settings.reads, "Reads of each thread; negative: --num")
      ->capture_default_str();
  tool.add_option(
          "--duration", settings.duration_s,
          "Seconds after which a benchmark ends, finished or not, unless it fills the store; 0: "
          "never")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  tool.add_option("--threads", settings.threads, "Threads that do the same at the same time")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  tool.add_option("--value_size", settings.value_bytes, "Bytes of a value")
      ->check(CLI::Range(std::size_t{0}, std::size_t{1} << 30))
      ->capture_default_str();
  tool.add_option("--key_prefix", settings.key_prefix_bytes, "Bytes before the 16 digits of keys")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  tool.add_option("--compression_ratio", settings.compression_ratio,
                  "What a compressor makes of values, as a part of them")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  tool.add_flag("--sync", settings.sync, "Each write is durable at return");
  tool.add_option("--seed", settings.seed, "Of the keys and operations drawn")
      ->capture_default_str();
}

void add_store_flags(CLI::App& tool, store_settings& settings) {
  tool.add_option("--engine", settings.engine,
                  "The store: ours, or another one that this build has; null: none, to see what "
                  "the loop takes")
      ->check(CLI::IsMember(engine_names()))
      ->capture_default_str();
  tool.add_option("--db", settings.directory,
                  "The store's directory, which it may make; what a store of this engine has there "
                  "is removed first, unless --use_existing_db. Default: in the system's directory "
                  "for temporary files");
  tool.add_flag("--use_existing_db", settings.use_existing, "Keep what is there");
  tool.add_option("--replicas", settings.replicas, "Of ours: copies of the data, at most")
      ->check(CLI::Range(2, 64))
      ->capture_default_str();
  tool.add_option("--window_us", settings.window_us,
                  "Of ours: microseconds that a write without --sync may wait for a disk; "
                  "negative: its default")
      ->capture_default_str();
  tool.add_option("--capacity", settings.capacity_bytes,
                  "Of ours and of LMDB: bytes that it can ever hold, as 8GiB; 0: its default; 64 "
                  "GiB for LMDB")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
}

void add_peer_flags(CLI::App& tool, store_settings& settings) {
  const char* const group = "LevelDB and RocksDB (accepted without effect by others)";
  const auto add = [&](const char* name, auto& value, const char* what) {
    tool.add_option(name, value, what)->group(group)->capture_default_str();
  };
  add("--write_buffer_size", settings.write_buffer_bytes, "Bytes; 0: the library's default");
  add("--max_file_size", settings.max_file_bytes, "Bytes; 0: the library's default");
  add("--block_size", settings.block_bytes, "Bytes; 0: the library's default");
  add("--cache_size", settings.cache_bytes, "Bytes; negative: the library's default");
  add("--open_files", settings.open_files, "0: the library's default");
  add("--bloom_bits", settings.bloom_bits, "Of each key; negative: no filter");
  add("--compression", settings.compression, "0: none; 1: the library's default");
  tool.add_flag("--reuse_logs", settings.reuse_logs, "LevelDB alone")->group(group);
}

void add_report_flags(CLI::App& tool, store_settings& settings) {
  tool.add_flag("--histogram", settings.histogram,
                "How long single operations took; asks the clock at each, which takes some 25 ns");
  tool.add_flag("--json", settings.json,
                "One JSON object for each benchmark a line: with quantiles if --histogram, memory, "
                "sizes, machine, compiler and commit");
}

/// One for each user: /tmp is everybody's.
std::string default_directory(std::string_view engine) {
  return std::filesystem::temp_directory_path() / ("db_bench-" + std::to_string(::getuid())) /
         engine;
}

}  // namespace

parsed_flags parse_flags(int argc, char** argv) {
  CLI::App tool{"Measures stores of keys and values: ours, and others by the same loop",
                "db_bench"};
  store_settings settings;
  add_workload_flags(tool, settings);
  add_store_flags(tool, settings);
  add_report_flags(tool, settings);
  add_peer_flags(tool, settings);
  tool.add_flag_callback(
      "--engines",
      [] {
        for (const std::string& name : engine_names()) std::cout << name << '\n';
        throw CLI::Success();
      },
      "List the stores of this build, and run nothing");
  tool.footer(manual);
  try {
    tool.parse(argc, argv);
  } catch (const CLI::ParseError& end) {
    return {std::nullopt, tool.exit(end)};
  }
  if (settings.benchmarks.empty()) {
    settings.benchmarks = CLI::detail::split(default_benchmarks, ',');
  }
  if (settings.directory.empty()) settings.directory = default_directory(settings.engine);
  return {settings, 0};
}

}  // namespace outlast::bench
