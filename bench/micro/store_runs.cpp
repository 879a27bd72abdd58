#include <bench/micro/store_runs.hpp>

#include <bench/adapters/temporary_pool.hpp>
#include <bench/engine/statistics.hpp>
#include <bench/micro/interleaved.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <linux/magic.h>
#include <spawn.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

namespace outlast::bench {
namespace {

/// Beside this program, where it is built; where it is installed, db_bench has our name before its.
std::string program() {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const auto built = folder / "db_bench";
  return (std::filesystem::exists(built) ? built : folder / "outlast-db_bench").string();
}

[[noreturn]] void fail(const std::vector<std::string>& command, const std::string& how) {
  std::string text;
  for (const std::string& word : command) text += word + ' ';
  throw std::runtime_error(text + how);
}

/// A program whose output is read to its end.
class child {
 public:
  explicit child(std::vector<std::string> command) : command_(std::move(command)) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail(command_, "has no pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::vector<char*> words;
    for (std::string& word : command_) words.push_back(word.data());
    words.push_back(nullptr);
    const int code = ::posix_spawn(&process_, words[0], &actions, nullptr, words.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    output_ = ends[0];
    if (code != 0) {
      ::close(output_);
      fail(command_, "does not start: " + std::generic_category().message(code) +
                         "; `make bench-store` builds it");
    }
  }
  child(const child&) = delete;
  child& operator=(const child&) = delete;

  /// Throws unless it ended well, or was killed.
  std::string wait() {
    std::string all;
    std::array<char, 4096> some{};
    for (ssize_t got = 0; (got = ::read(output_, some.data(), some.size())) > 0;) {
      all.append(some.data(), static_cast<std::size_t>(got));
    }
    ::close(output_);
    int status = 0;
    ::waitpid(process_, &status, 0);
    const bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (!was_killed && (!WIFEXITED(status) || WEXITSTATUS(status) != 0)) {
      fail(command_, "failed");
    }
    return all;
  }

 private:
  std::vector<std::string> command_;
  pid_t process_ = 0;
  int output_ = -1;
};

store_result result_of(const nlohmann::json& line) {
  store_result result;
  result.operations_per_second = line.at("ops_per_second");
  result.seconds = line.at("seconds");
  if (!line.at("p99_9_us").is_null()) result.p99_9_us = line.at("p99_9_us");
  if (!line.at("max_us").is_null()) result.max_us = line.at("max_us");
  result.found = line.at("found");
  result.sought = line.at("sought");
  result.file_bytes = line.at("file_bytes");
  result.data_bytes = line.at("data_bytes");
  result.vm_hwm_kib = line.at("vm_hwm_kib");
  result.rss_anon_kib = line.at("rss_anon_kib");
  return result;
}

}  // namespace

store_directory::store_directory(const std::filesystem::path& in) : path_(unused_path(in)) {}

store_directory::~store_directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> known_engines() {
  std::istringstream lines(child({program(), "--engines"}).wait());
  std::vector<std::string> names;
  for (std::string name; std::getline(lines, name);) names.push_back(name);
  return names;
}

store_results run_db_bench(std::vector<std::string> flags) {
  flags.insert(flags.begin(), program());
  flags.emplace_back("--json");
  std::istringstream lines(child(flags).wait());
  store_results results;
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json said = nlohmann::json::parse(line);
    results[said.at("benchmark")] = result_of(said);
  }
  return results;
}

std::string medium_name(const std::filesystem::path& directory) {
  struct statfs status{};
  const bool known = ::statfs(directory.c_str(), &status) == 0;
  return known && static_cast<std::uint64_t>(status.f_type) == TMPFS_MAGIC ? "tmpfs" : "disk";
}

void store_table::add(const std::string& row, const std::string& unit, const std::string& series,
                      double value) {
  auto at = std::find_if(rows_.begin(), rows_.end(), [&](const auto& r) { return r.name == row; });
  if (at == rows_.end()) at = rows_.insert(at, {row, unit, {}});
  auto& all = at->series;
  auto one = std::find_if(all.begin(), all.end(), [&](const auto& s) { return s.first == series; });
  if (one == all.end()) one = all.insert(one, {series, {}});
  one->second.push_back(value);
}

void store_table::report(const micro_sink& sink, const std::string& benchmark,
                         const std::string& first, const std::vector<store_goal>& goals) const {
  const auto goal_of = [&](const std::string& row, const std::string& series,
                           const std::string& against) -> std::optional<micro_goal> {
    for (const store_goal& goal : goals) {
      if (goal.row == row && goal.series == series && goal.against == against) return goal.wanted;
    }
    return std::nullopt;
  };
  for (const row_of_series& row : rows_) {
    const std::vector<double>* ours = nullptr;
    for (const auto& [series, values] : row.series) {
      if (series == first) ours = &values;
      report_values(
          sink,
          {benchmark, row.name + ": " + series, 0, row.unit, 0, 0, goal_of(row.name, series, "")},
          values);
    }
    if (row.unit != rate_unit) continue;
    for (const auto& [series, values] : row.series) {
      if (series == first || ours == nullptr || ours->size() != values.size()) continue;
      report_values(sink,
                    {benchmark, row.name + ": " + first + " / " + series, 0, "ratio", 0, 0,
                     goal_of(row.name, first, series)},
                    pairwise_ratios(*ours, values));
    }
  }
}

}  // namespace outlast::bench
