#include <bench/db_bench/outcome.hpp>

#include <bench/db_bench/generate.hpp>
#include <bench/db_bench/store.hpp>
#include <bench/engine/machine.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <system_error>

#include <sys/stat.h>

namespace outlast::bench {
namespace {

constexpr double mib = 1024.0 * 1024.0;

std::string fixed(double value, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

std::string date() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::ostringstream text;
  text << std::put_time(&parts, "%F %T UTC");
  return text.str();
}

/// What follows the microseconds.
std::string remarks(const outcome& of) {
  std::string text;
  if (of.bytes > 0 && of.seconds > 0) {
    const std::string rate = fixed(static_cast<double>(of.bytes) / mib / of.seconds, 1);
    text += std::string(rate.size() < 6 ? 6 - rate.size() : 0, ' ') + rate + " MB/s";
  }
  if (of.sought > 0) {
    text += (text.empty() ? "(" : " (") + std::to_string(of.found) + " of " +
            std::to_string(of.sought) + " found)";
  }
  return text;
}

double rounded(double value) { return std::round(value * 1e4) / 1e4; }

}  // namespace

memory_use memory_use::of_this_process() {
  memory_use use;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t kib = 0;
    if (!(words >> name >> kib)) continue;
    if (name == "VmRSS:") use.now_kib = kib;
    if (name == "VmHWM:") use.max_kib = kib;
    if (name == "RssAnon:") use.anonymous_kib = kib;
  }
  return use;
}

std::uint64_t bytes_in(const std::string& directory) {
  constexpr std::uint64_t unit = 512;  // of st_blocks
  std::uint64_t sum = 0;
  std::error_code gone;  // a store may remove files meanwhile
  for (std::filesystem::directory_iterator at(directory, gone), end; !gone && at != end;
       at.increment(gone)) {
    struct stat status{};
    if (::stat(at->path().c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      sum += static_cast<std::uint64_t>(status.st_blocks) * unit;
    }
  }
  return sum;
}

void print_heading(std::ostream& out, const store_settings& settings, const engine& which) {
  const std::size_t key_bytes = settings.key_prefix_bytes + key_digits;
  const auto value_bytes = static_cast<double>(settings.value_bytes);
  const double compressed = value_bytes * settings.compression_ratio;
  const auto entries = static_cast<double>(settings.keys);
  const double raw = entries * (static_cast<double>(key_bytes) + value_bytes) / mib;
  const double file = entries * (static_cast<double>(key_bytes) + compressed) / mib;
  out << "Engine:     " << which.version << "\nDate:       " << date()
      << "\nMachine:    " << machine_description() << "\nBuild:      " << build_description()
      << ", commit " << build_commit() << "\nKeys:       " << key_bytes
      << " bytes each\nValues:     " << settings.value_bytes << " bytes each ("
      << fixed(compressed, 0) << " bytes after compression)\nEntries:    " << settings.keys
      << "\nRawSize:    " << fixed(raw, 1) << " MB (estimated)\nFileSize:   " << fixed(file, 1)
      << " MB (estimated)\n";
  const std::string refusal = recording_refusal();
  if (!refusal.empty()) out << "WARNING: " << refusal << '\n';
  out << std::string(48, '-') << '\n' << std::flush;
}

void print_outcome(std::ostream& out, const outcome& of) {
  const std::string more = remarks(of);
  out << std::left << std::setw(12) << of.benchmark << std::right << " : " << std::setw(11)
      << fixed(of.micros_per_operation(), 3) << " micros/op;" << (more.empty() ? "" : " ") << more
      << '\n';
  if (of.each.count() > 0) {
    out << "Microseconds per op:\n";
    of.each.print(out);
  }
  out << std::flush;
}

std::string to_json(const outcome& of, const store_settings& settings, const engine& which) {
  const memory_use memory = memory_use::of_this_process();
  const auto quantile = [&](double q) -> nlohmann::ordered_json {
    if (of.each.count() == 0) return nullptr;
    return rounded(of.each.quantile_us(q));
  };
  const std::string refusal = recording_refusal();
  const nlohmann::ordered_json line = {
      {"benchmark", of.benchmark},
      {"engine", which.name},
      {"version", which.version},
      {"sync", of.sync},
      {"threads", of.threads},
      {"num", settings.keys},
      {"value_size", settings.value_bytes},
      {"operations", of.operations},
      {"seconds", of.seconds},
      {"micros_per_op", rounded(of.micros_per_operation())},
      {"ops_per_second", rounded(of.operations_per_second())},
      {"bytes", of.bytes},
      {"found", of.found},
      {"sought", of.sought},
      {"operations_beside", of.operations_beside},
      {"p50_us", quantile(0.5)},
      {"p99_us", quantile(0.99)},
      {"p99_9_us", quantile(0.999)},
      {"max_us", quantile(1)},
      {"file_bytes", of.file_bytes},
      {"data_bytes", of.data_bytes},
      {"vm_rss_kib", memory.now_kib},
      {"vm_hwm_kib", memory.max_kib},
      {"rss_anon_kib", memory.anonymous_kib},
      {"commit", build_commit()},
      {"build", build_description()},
      {"machine", machine_description()},
      {"no_measurement",
       refusal.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(refusal)},
  };
  return line.dump();
}

}  // namespace outlast::bench
