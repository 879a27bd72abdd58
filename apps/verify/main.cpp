// outlast verify: explores interleavings, crashes and evictions of the durable structures.
#include <apps/program.hpp>
#include <apps/progress.hpp>
#include <outlast/verify/explorer/explorer.hpp>
#include <outlast/verify/explorer/replay.hpp>
#include <tests/catalogue/catalogue.hpp>
#include <tests/catalogue/redundancies.hpp>

#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace outlast::apps {
namespace {

struct settings {
  std::string structure;
  std::string policy;
  std::string strategy = "pct";
  std::string model = "portable";
  std::string schedule;
  double seconds = 2;
  std::optional<std::uint64_t> seed;
  std::uint64_t executions = 0;
  std::string without;
  std::optional<std::uint64_t> execution;
  unsigned nested = 1;
  unsigned preemptions = 2;
  unsigned keys = 0;
  unsigned operations = 0;
  unsigned park = 0;
  std::uint32_t operation_steps = 0;
  bool mutants = false;
  std::string mutant;
  std::vector<std::string> files;
  bool json = false;
  bool list = false;
  bool sites = false;
  bool os_threads = false;
};

/// The result of one combination.
struct result {
  verify::report explored;
  std::vector<verify::mutant> mutants;
  std::vector<std::string> sites;
  verify::site_coverage coverage;
};

/// The persistence sites of this program, and which of them any combination has passed.
struct survey {
  std::vector<verify::program_site> all = verify::program_sites();
  verify::site_coverage total{all};
};

const std::map<std::string, verify::strategy_kind> strategies = {
    {"random", verify::strategy_kind::random},
    {"pct", verify::strategy_kind::pct},
    {"exhaustive", verify::strategy_kind::exhaustive}};

/// The default settings of a replay, for those that its text does not contain.
std::string command_for(const settings& asked, const verify::catalogue_entry& entry) {
  std::string command =
      "outlast verify --structure " + entry.structure + " --policy '" + entry.policy + "'";
  if (asked.keys != 0) command += " --keys " + std::to_string(asked.keys);
  if (asked.operations != 0) command += " --operations " + std::to_string(asked.operations);
  if (asked.nested != settings{}.nested) command += " --nested " + std::to_string(asked.nested);
  return command;
}

verify::options options_for(const settings& asked, const verify::catalogue_entry& entry) {
  verify::options how;
  how.seed = asked.seed.value_or(asked.strategy == "exhaustive" ? 0 : 1);
  how.seconds = asked.seconds;
  how.max_executions = asked.executions;
  how.strategy = strategies.at(asked.strategy);
  how.preemptions = asked.preemptions;
  how.parked_one_in = asked.park;
  how.operation_steps = asked.operation_steps;
  if (asked.os_threads) how.threads = verify::threading::os_threads;
  how.within = entry.within;
  if (asked.keys != 0) how.within.keys = asked.keys;
  if (asked.operations != 0) how.within.operations = asked.operations;
  if (how.strategy == verify::strategy_kind::exhaustive) {
    how.within.threads = 2;
    if (asked.keys == 0) how.within.keys = 2;
    how.eviction_cap = 4096;
  }
  how.model = verify::memory_model_from_text(asked.model);
  how.nested = asked.nested;
  how.replay_command = command_for(asked, entry);
  return how;
}

/// Returns the mutation with this name, among those of the places that a short run passes.
verify::mutation mutation_of(const std::string& name, verify::subject& tested,
                             const verify::options& how) {
  if (const auto found = verify::find_mutation(tested, how, name)) return *found;
  throw CLI::ValidationError("--mutant", "no run passes '" + name + "': see --sites");
}

bool wanted(const settings& asked, const verify::place& at) {
  const std::string name = to_text(at);
  return asked.files.empty() ||
         std::any_of(asked.files.begin(), asked.files.end(),
                     [&](const auto& file) { return name.starts_with(file); });
}

result explore(const settings& asked, const verify::catalogue_entry& entry, survey& sites) {
  const auto tested = entry.make();
  verify::options how = options_for(asked, entry);
  if (!asked.mutant.empty()) how.mutated = mutation_of(asked.mutant, *tested, how);
  result done{{}, {}, {}, coverage_of(entry, sites.all)};
  std::vector<verify::place> places;
  {
    verify::explorer explorer(*tested, how);
    if (asked.execution) {
      verify::coordinates where{how.seed, *asked.execution, std::nullopt,
                                verify::operations_from_text(asked.without)};
      if (!asked.schedule.empty()) where.decisions = verify::schedule_from_text(asked.schedule);
      done.explored = explorer.replay(where);
    } else {
      done.explored = explorer.run();
    }
    places = explorer.sites().passed();
    done.coverage.add(explorer.sites());
    sites.total.add(explorer.sites());
    if (asked.sites) {
      for (const verify::place& at : places) done.sites.push_back(verify::to_text(at));
    }
  }
  if (asked.mutants && !done.explored.found) {
    std::erase_if(places, [&](const verify::place& at) { return !wanted(asked, at); });
    done.mutants = verify::try_mutants(*tested, how, places);
  }
  return done;
}

std::size_t killed(const std::vector<verify::mutant>& mutants) {
  return static_cast<std::size_t>(
      std::count_if(mutants.begin(), mutants.end(), [](const auto& m) { return m.killed; }));
}

/// Returns the number of surviving mutants with a written proof.
std::size_t proved(const std::vector<verify::mutant>& mutants) {
  return static_cast<std::size_t>(std::count_if(mutants.begin(), mutants.end(), [](const auto& m) {
    return !m.killed && verify::redundancy_of(m.made) != nullptr;
  }));
}

std::vector<std::string> texts_of(const std::vector<verify::program_site>& sites) {
  std::vector<std::string> texts;
  for (const verify::program_site& each : sites) texts.push_back(each.text());
  return texts;
}

double median_to_kill(const std::vector<verify::mutant>& mutants) {
  std::vector<double> seconds;
  for (const verify::mutant& m : mutants) {
    if (m.killed) seconds.push_back(m.seconds);
  }
  if (seconds.empty()) return 0;
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

void print_json(const result& done, bool with_sites) {
  nlohmann::json line;
  line["structure"] = done.explored.structure;
  line["policy"] = done.explored.policy;
  line["domain_mode"] = done.explored.model;
  line["scenarios"] = done.explored.scenarios;
  line["executions"] = done.explored.executions;
  line["crash_images"] = done.explored.crash_images;
  line["images_checked"] = done.explored.images_checked;
  line["nested_checked"] = done.explored.nested_checked;
  line["kills_checked"] = done.explored.kills_checked;
  line["sampled_points"] = done.explored.sampled_points;
  line["exhausted"] = done.explored.exhausted;
  line["violations"] = done.explored.found ? 1 : 0;
  line["sites"] = done.coverage.known();
  line["sites_reached"] = done.coverage.reached();
  line["mutants"] = done.mutants.size();
  line["mutants_killed"] = killed(done.mutants);
  line["mutants_proved_equivalent"] = proved(done.mutants);
  line["mutants_unproved"] = done.mutants.size() - killed(done.mutants) - proved(done.mutants);
  auto survivors = nlohmann::json::array();
  for (const auto& m : done.mutants) {
    if (!m.killed) survivors.push_back(verify::to_text(m.made));
  }
  line["survivors"] = survivors;
  line["median_seconds_to_kill"] = median_to_kill(done.mutants);
  if (with_sites) line["site_names"] = done.sites;
  if (with_sites) line["sites_unreached"] = texts_of(done.coverage.unreached());
  line["seconds"] = done.explored.seconds;
  if (done.explored.found) line["replay"] = done.explored.found->replay;
  std::cout << line.dump() << std::endl;
}

void print_sites(const result& done) {
  for (const std::string& site : done.sites) std::cout << "  passes " << site << '\n';
  for (const std::string& site : texts_of(done.coverage.unreached())) {
    std::cout << "  does not reach " << site << '\n';
  }
  std::cout << "  reaches " << done.coverage.reached() << " of " << done.coverage.known()
            << " sites\n";
}

void print_total(const verify::site_coverage& total) {
  std::cout << total.reached() << " of " << total.known() << " sites reached; not reached:";
  for (const std::string& site : texts_of(total.unreached())) std::cout << ' ' << site;
  std::cout << std::endl;
}

void print_text(const result& done, bool with_sites) {
  std::cout << verify::to_text(done.explored) << '\n';
  if (done.explored.found) std::cout << verify::to_text(*done.explored.found);
  for (const auto& m : done.mutants) {
    std::cout << "  " << verify::to_text(m.made) << ": "
              << (m.killed ? "killed after " : "SURVIVED ") << m.executions << " executions, "
              << m.seconds << " s\n";
    const verify::redundancy* const known = verify::redundancy_of(m.made);
    if (known == nullptr) continue;
    std::cout << (m.killed ? "    ALTHOUGH it is listed as redundant: " : "    redundant: ")
              << known->because << '\n';
  }
  if (with_sites) print_sites(done);
  if (!done.mutants.empty()) {
    std::cout << "  " << killed(done.mutants) << " of " << done.mutants.size()
              << " mutants killed, in the median within " << median_to_kill(done.mutants) << " s; "
              << proved(done.mutants) << " are redundant, the others unproved\n";
  }
  std::cout.flush();
}

bool selected(const settings& asked, const verify::catalogue_entry& entry) {
  const auto matches = [](const std::string& wish, const std::string& name) {
    return wish.empty() || wish == name;
  };
  return matches(asked.structure, entry.structure) && matches(asked.policy, entry.policy);
}

/// Returns true if the strategy applies. A single thread has no interleavings, and if it stops, no
/// thread continues. The same holds for threads that wait for each other, and an exhaustive search
/// of their waiting does not end.
bool applicable(const settings& asked, const verify::catalogue_entry& entry) {
  const bool is_special = entry.within.threads == 1 || entry.blocks;
  return !is_special || (asked.strategy != "exhaustive" && asked.park == 0);
}

void print_entry(const settings& asked, const verify::catalogue_entry& entry) {
  if (asked.json) {
    const nlohmann::ordered_json line{{"structure", entry.structure}, {"policy", entry.policy}};
    std::cout << line.dump() << '\n';
  } else {
    std::cout << entry.structure << ' ' << entry.policy << '\n';
  }
}

/// A bar on the terminal of the results, if there are several; otherwise none.
class bar {
 public:
  explicit bar(const settings& asked) {
    const std::vector<verify::catalogue_entry>& all = verify::catalogue();
    const auto count = static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [&](const auto& entry) { return selected(asked, entry); }));
    if (asked.list || count < 2 || ::isatty(STDERR_FILENO) != 1) return;
    shown_.emplace(count);
    shown_->begin("verify");
  }
  /// Removes the bar, so that results can be printed.
  void clear() {
    if (shown_) shown_->clear();
  }
  void step(const verify::catalogue_entry& entry) {
    if (shown_) shown_->step(entry.structure + ' ' + entry.policy);
  }

 private:
  std::optional<progress> shown_;
};

void run(const settings& asked) {
  bool any = false;
  bool violated = false;
  survey sites;
  bar progress(asked);
  for (const verify::catalogue_entry& entry : verify::catalogue()) {
    if (!selected(asked, entry)) continue;
    any = true;
    if (asked.list) {
      print_entry(asked, entry);
      continue;
    }
    if (!applicable(asked, entry)) {
      std::cerr << entry.structure << ' ' << entry.policy
                << ": left out, because it has locks or one thread\n";
      continue;
    }
    const result done = explore(asked, entry, sites);
    violated = violated || done.explored.found;
    progress.clear();
    asked.json ? print_json(done, asked.sites) : print_text(done, asked.sites);
    progress.step(entry);
  }
  progress.clear();
  if (asked.sites && !asked.json && !asked.list) print_total(sites.total);
  if (!any)
    throw CLI::ValidationError("verify",
                               "no structure and policy match; --list prints all combinations");
  if (violated) exit_with(1);
}

void add_options(CLI::App& program, settings& asked) {
  program.add_option("--structure", asked.structure, "Only this structure");
  program.add_option("--policy", asked.policy, "Only this policy");
  program.add_option("--strategy", asked.strategy, "How threads are interleaved")
      ->check(CLI::IsMember({"random", "pct", "exhaustive"}));
  program.add_option("--model", asked.model,
                     "portable or x86, +store_buffers; or cache_persistent; +weak_same_line");
  program.add_option("--seconds", asked.seconds, "Time for each combination, and for each mutant");
  program.add_option("--executions", asked.executions,
                     "Maximum number of executions for each combination");
  program.add_option("--seed", asked.seed, "The first scenario");
  program.add_option("--execution", asked.execution, "Replay this execution of the scenario");
  program.add_option("--schedule", asked.schedule, "Replay these decisions in it");
  program.add_option("--without", asked.without, "Leave out these operations of the scenario");
  program.add_option("--preemptions", asked.preemptions, "Bound of an exhaustive exploration");
  program.add_option("--keys", asked.keys, "Number of keys that operations use");
  program.add_option("--operations", asked.operations, "Number of operations of each thread");
  program.add_option("--park", asked.park, "One execution in this many stops a thread for good");
  program.add_option("--operation-steps", asked.operation_steps,
                     "An operation that takes more accesses fails");
  program.add_option("--nested", asked.nested, "Crashes in and after recovery, within one another");
  program.add_flag("--mutants", asked.mutants, "Switch off each flush and fence in turn");
  program.add_option("--files", asked.files, "Mutants of these headers only")->delimiter(',');
  program.add_option("--mutant", asked.mutant, "Explore with this mutant, as --mutants names it");
  program.add_flag("--sites", asked.sites,
                   "Name the flushes and fences passed, and the sites not reached");
  program.add_flag("--os-threads", asked.os_threads, "Threads of the operating system, not fibers");
  program.add_flag("--json", asked.json, "One object per combination a line");
  program.add_flag("--list", asked.list, "Name the combinations and do nothing");
}

}  // namespace
}  // namespace outlast::apps

int main(int argc, char** argv) {
  using namespace outlast::apps;
  CLI::App program{"Explores interleavings, crashes and evictions of the structures",
                   "outlast verify"};
  settings asked;
  add_options(program, asked);
  program.callback([&] { run(asked); });
  return run_program(program, argc, argv);
}
