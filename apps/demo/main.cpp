// outlast demo: kills a program repeatedly while it writes, and shows that it loses nothing.
// A child process counts the words of a text in a durable hash table: word -> (count, last
// position). The parent kills it at random times, starts it again on the same pool in a new
// process, and compares the surviving table with the acknowledged words. At the end it compares the
// whole table with an exact count that uses ordinary containers.
#include <apps/demo/corpus.hpp>
#include <apps/demo/report.hpp>
#include <apps/demo/subject.hpp>
#include <apps/demo/supervisor.hpp>
#include <apps/program.hpp>
#include <outlast/hw/flush.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <unistd.h>

namespace outlast::apps {
namespace {

namespace fs = std::filesystem;

constexpr int exit_lost = 1;
constexpr int exit_error = 2;
constexpr int exit_interrupted = 130;
constexpr std::size_t max_text_bytes = 4 * 1024 * 1024;

volatile std::sig_atomic_t interrupt_seen = 0;

/// The options of the command line.
struct demo_options {
  std::vector<std::string> files;
  std::vector<std::string> policies;
  std::string pool_dir;
  std::string fault = "none";
  std::uint64_t kills = 100;
  std::uint32_t threads = 0;
  bool json = false;
  bool no_measure = false;
};

/// A temporary directory for pools. The destructor removes it with its contents unless keep() was
/// called.
class pool_folder {
 public:
  explicit pool_folder(const std::string& parent) {
    const fs::path base = parent.empty() ? fs::temp_directory_path() : fs::path(parent);
    if (!fs::is_directory(base)) {
      throw std::runtime_error(base.string() +
                               ": no such folder; --pool-dir must name an existing one");
    }
    path_ = fs::absolute(base) / ("outlast-demo-" + std::to_string(::getpid()));
    std::error_code code;
    fs::create_directory(path_, code);
    if (code) {
      throw std::runtime_error(base.string() + ": pools cannot be created here: " + code.message());
    }
  }
  ~pool_folder() {
    std::error_code ignored;
    if (!kept_) fs::remove_all(path_, ignored);
  }
  pool_folder(const pool_folder&) = delete;
  pool_folder& operator=(const pool_folder&) = delete;

  [[nodiscard]] const fs::path& path() const noexcept { return path_; }
  void keep() noexcept { kept_ = true; }

 private:
  fs::path path_;
  bool kept_ = false;
};

std::string all_choices() {
  std::string names;
  for (const demo::subject& each : demo::all_subjects()) {
    names += (names.empty() ? "" : ", ") + std::string(each.choice);
  }
  return names;
}

bool can_run(const demo::subject& each) {
  return !each.flushes || hw::best_flush_instruction() != hw::flush_instruction::none;
}

std::uint32_t subject_named(const std::string& name) {
  const auto subjects = demo::all_subjects();
  for (std::uint32_t i = 0; i < subjects.size(); ++i) {
    if (subjects[i].choice != name) continue;
    if (can_run(subjects[i])) return i;
    throw std::runtime_error("policy '" + name +
                             "': this CPU has no instruction that flushes to persistent memory");
  }
  throw std::runtime_error("unknown policy '" + name + "'; there are " + all_choices());
}

/// Returns the requested policies, or all that this machine can run if none is named.
std::vector<std::uint32_t> chosen_subjects(const std::vector<std::string>& names) {
  std::vector<std::uint32_t> chosen;
  for (const std::string& name : names) chosen.push_back(subject_named(name));
  if (!names.empty()) return chosen;
  const auto subjects = demo::all_subjects();
  for (std::uint32_t i = 0; i < subjects.size(); ++i) {
    if (can_run(subjects[i])) chosen.push_back(i);
  }
  return chosen;
}

std::uint32_t chosen_threads(std::uint32_t asked) {
  if (asked > 0) return asked;
  return std::clamp(std::thread::hardware_concurrency(), 1U, 4U);
}

demo::sabotage fault_named(const std::string& name) {
  if (name == "lose") return demo::sabotage::lose;
  if (name == "repeat") return demo::sabotage::repeat;
  return demo::sabotage::none;
}

demo::corpus corpus_for(const std::vector<std::string>& files) {
  if (files.empty()) return demo::read_default_corpus(max_text_bytes);
  return demo::read_corpus({files.begin(), files.end()}, max_text_bytes);
}

void stop_on_interrupt() {
  for (const int number : {SIGINT, SIGTERM}) {
    std::signal(number, [](int) { interrupt_seen = 1; });
  }
}

std::vector<demo::outcome> run_all(const demo_options& options, const demo::settings& how,
                                   std::string_view text) {
  const std::vector<std::uint32_t> chosen = chosen_subjects(options.policies);
  const std::size_t steps_each = options.kills + (how.measure ? 1 : 0);
  progress shown(chosen.size() * steps_each);
  demo::supervisor parent(how, text, shown);
  std::vector<demo::outcome> outcomes;
  for (const std::uint32_t subject : chosen) {
    const demo::subject& who = demo::all_subjects()[subject];
    shown.begin(who.policy + " on " + std::string(who.domain));
    outcomes.push_back(parent.run(subject));
    shown.skip_to(outcomes.size() * steps_each);
    if (!options.json) continue;
    shown.clear();
    demo::print_json(std::cout, outcomes.back(), how.threads);
  }
  return outcomes;
}

/// A child that fails by itself leaves a pool that is worth an examination.
std::vector<demo::outcome> run_or_keep(const demo_options& options, const demo::settings& how,
                                       std::string_view text, pool_folder& folder) {
  try {
    return run_all(options, how, text);
  } catch (const demo::child_failure& failure) {
    folder.keep();
    throw std::runtime_error(std::string(failure.what()) + "; the pools are kept in " +
                             folder.path().string());
  }
}

/// Prints the losses, if there are any. Returns the exit status.
int check(const std::vector<demo::outcome>& outcomes, pool_folder& folder) {
  int status = 0;
  for (const demo::outcome& result : outcomes) {
    if (result.checked.clean()) continue;
    std::cerr << "outlast demo: " << result.who.policy << " on " << result.who.domain << ": "
              << result.checked.lost << " acknowledged updates lost, " << result.checked.wrong
              << " entries wrong; for example " << result.checked.example << '\n';
    status = exit_lost;
  }
  if (status != 0) {
    folder.keep();
    std::cerr << "outlast demo: the pools are kept in " << folder.path().string() << '\n';
  }
  return status;
}

int run_demo(const demo_options& options) {
  (void)chosen_subjects(options.policies);  // a wrong name is reported before any other output
  const demo::corpus corpus = corpus_for(options.files);
  pool_folder folder(options.pool_dir);
  stop_on_interrupt();
  demo::settings how{.kills = options.kills,
                     .threads = chosen_threads(options.threads),
                     .folder = folder.path(),
                     .fault = fault_named(options.fault),
                     .measure = !options.no_measure,
                     .interrupted = [] { return interrupt_seen != 0; }};
  if (!options.json) {
    std::cout << "Counting the words of " << corpus.files << " files (" << corpus.text.size() / 1024
              << " KiB, repeatedly) with " << how.threads << " threads in a durable hash table; "
              << options.kills << " kills for each policy.\n"
              << std::flush;
  }
  const std::vector<demo::outcome> outcomes = run_or_keep(options, how, corpus.text, folder);
  if (!options.json) demo::print_table(std::cout, outcomes);
  return check(outcomes, folder);
}

int run_and_report(const demo_options& options) {
  try {
    return run_demo(options);
  } catch (const demo::interruption&) {
    return exit_interrupted;
  } catch (const std::exception& failure) {
    std::cerr << "outlast demo: " << failure.what() << '\n';
    return exit_error;
  }
}

void add_options(CLI::App& program, demo_options& options) {
  program.add_option("files", options.files,
                     "Texts to ingest (default: the dictionary, package descriptions and licences "
                     "of this system); the first 4 MiB are used");
  program.add_option("--kills", options.kills, "Kills for each policy")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000}))
      ->capture_default_str();
  program
      .add_option("--policies", options.policies,
                  "Policies and domains (default: all): " + all_choices())
      ->delimiter(',')
      ->allow_extra_args(false);  // a text may follow
  program
      .add_option("--threads", options.threads, "Ingesting threads (default: one per CPU, <= 4)")
      ->check(CLI::Range(1U, demo::max_threads));
  program.add_option(
      "--pool-dir", options.pool_dir,
      "Where pools are created and removed (default: the folder for temporary files)");
  program.add_flag("--json", options.json, "Print one JSON object per policy on a line");
  // For the tests of the demo itself.
  program.add_option("--sabotage", options.fault)
      ->check(CLI::IsMember({"none", "lose", "repeat"}))
      ->group("");
  program.add_flag("--no-measure", options.no_measure)->group("");
}

/// The demo starts itself again: `outlast-demo demo-child DESCRIPTOR`.
bool is_child(int argc, char** argv) {
  return argc == 3 && std::string_view(argv[1]) == demo::child_command;
}

}  // namespace
}  // namespace outlast::apps

int main(int argc, char** argv) {
  using namespace outlast::apps;
  if (is_child(argc, argv)) return demo::run_child(std::atoi(argv[2]));
  CLI::App program{"Kills a program repeatedly while it writes, and shows that it loses nothing",
                   "outlast demo"};
  demo_options options;
  add_options(program, options);
  program.callback([&] { exit_with(run_and_report(options)); });
  return run_program(program, argc, argv);
}
