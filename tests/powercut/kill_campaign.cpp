// A campaign of kills: harness.hpp, as long as one likes, several processes at a time.
//
//   kill_campaign --kills 10000              so many, over all structures and policies
//   kill_campaign --structure hash_table --kills 500 --copies 10 --jobs 1
//
// Ends with one line of JSON; exit status 1 if anything was lost, 2 if it could not be tried.
#include <tests/powercut/arguments.hpp>
#include <tests/powercut/kill_subjects.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iomanip>
#include <iostream>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace outlast::test::powercut {

std::vector<definition> definitions() {
  std::vector<definition> all = list_definitions();
  for (definition& each : skiplist_definitions()) all.push_back(std::move(each));
  for (definition& each : sequence_definitions()) all.push_back(std::move(each));
  for (definition& each : set_definitions()) all.push_back(std::move(each));
  for (definition& each : epoch_definitions()) all.push_back(std::move(each));
  for (definition& each : transaction_definitions()) all.push_back(std::move(each));
  for (definition& each : table_definitions()) all.push_back(std::move(each));
  for (definition& each : tree_definitions()) all.push_back(std::move(each));
  for (definition& each : store_definitions()) all.push_back(std::move(each));
  return all;
}

namespace {

using clock = std::chrono::steady_clock;

/// One structure under one policy.
struct row {
  definition what;
  result outcome;
  double seconds = 0;
};

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

std::string json(const result& of, double seconds) {
  std::ostringstream text;
  text << "\"kills\":" << of.kills << ",\"kills_at_work\":" << of.kills_at_work
       << ",\"copies\":" << of.copies << ",\"acknowledged\":" << of.operations
       << ",\"lost\":" << (of.complaint.empty() ? 0 : 1) << ",\"seconds\":" << std::fixed
       << std::setprecision(1) << seconds;
  return text.str();
}

class campaign {
 public:
  campaign(std::vector<definition> chosen, std::uint64_t kills, std::uint64_t copies)
      : kills_of_each_((kills + chosen.size() - 1) / chosen.size()), copies_(copies) {
    for (definition& each : chosen) rows_.push_back({std::move(each), {}});
  }

  /// Runs `jobs` rows at a time. Returns the exit status.
  int run(std::uint64_t jobs) {
    const clock::time_point start = clock::now();
    {
      std::vector<std::jthread> workers;
      for (std::uint64_t i = 0; i < jobs; ++i) workers.emplace_back([this] { work(); });
    }
    return report(seconds_since(start));
  }

 private:
  void work() {
    for (std::size_t mine = next_++; mine < rows_.size(); mine = next_++) kill(rows_[mine]);
  }

  void kill(row& mine) {
    const clock::time_point start = clock::now();
    const std::uint64_t step = std::max<std::uint64_t>(kills_of_each_ / 5, 1);
    plan how;
    how.kills = static_cast<std::uint32_t>(kills_of_each_);
    how.copies = static_cast<std::uint32_t>(copies_);
    how.longest_run_ms = 3;
    how.keeps_evidence = true;
    how.progress = [&](const result& so_far) {
      if (so_far.kills % step == 0) say(mine, so_far);
    };
    mine.outcome = kill_again_and_again(mine.what.name, how);
    mine.seconds = seconds_since(start);
    if (!mine.outcome.complaint.empty()) say(mine, mine.outcome);
  }

  void say(const row& about, const result& so_far) {
    const std::lock_guard lock(output_);
    std::cout << about.what.structure << " " << about.what.policy << ": " << so_far.kills << " of "
              << kills_of_each_ << " kills, " << so_far.copies << " copies, " << so_far.operations
              << " acknowledged, "
              << (so_far.complaint.empty() ? "0 lost" : "LOST: " + so_far.complaint) << std::endl;
  }

  [[nodiscard]] int report(double seconds) const {
    result sum;
    std::string parts;
    for (const row& each : rows_) {
      sum.kills += each.outcome.kills;
      sum.kills_at_work += each.outcome.kills_at_work;
      sum.copies += each.outcome.copies;
      sum.operations += each.outcome.operations;
      if (!each.outcome.complaint.empty()) sum.complaint = each.outcome.complaint;
      parts += (parts.empty() ? "" : ",") + std::string("{\"structure\":\"") + each.what.structure +
               "\",\"policy\":\"" + each.what.policy + "\"," + json(each.outcome, each.seconds) +
               "}";
    }
    std::cout << "{" << json(sum, seconds) << ",\"combinations\":[" << parts << "]}" << std::endl;
    return sum.complaint.empty() ? 0 : 1;
  }

  std::uint64_t kills_of_each_;
  std::uint64_t copies_;
  std::vector<row> rows_;
  std::atomic<std::size_t> next_{0};
  std::mutex output_;
};

int run(const arguments& given) {
  std::vector<definition> chosen = definitions();
  const std::string& wanted = given.text("--structure");
  std::erase_if(chosen, [&](const auto& each) { return wanted != "all" && each.name != wanted; });
  if (chosen.empty()) throw std::invalid_argument("there is no structure " + wanted);
  return campaign(std::move(chosen), given.number("--kills"), given.number("--copies"))
      .run(given.number("--jobs"));
}

}  // namespace
}  // namespace outlast::test::powercut

int main(int argc, char** argv) {
  using namespace outlast::test::powercut;
  if (const auto status = run_as_child(argc, argv)) return *status;
  try {
    return run(arguments(
        argc, argv,
        {{"--kills", "10000"}, {"--copies", "2"}, {"--jobs", "2"}, {"--structure", "all"}}));
  } catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 2;
  }
}
