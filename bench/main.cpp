// outlast-bench: measures experiments and micro benchmarks. `outlast bench` starts it.
#include <bench/engine/experiment.hpp>
#include <bench/engine/machine.hpp>
#include <bench/engine/report.hpp>
#include <bench/engine/runner.hpp>
#include <bench/micro/micro.hpp>
#include <bench/options.hpp>

#include <nlohmann/json.hpp>
#include <outlast/base/error.hpp>

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <sstream>

namespace outlast::bench {
namespace {

/// A measuring run: refuses, or only exercises the code, in builds that must not record.
class session {
 public:
  explicit session(const options& chosen) : chosen_(chosen), refusal_(recording_refusal()) {
    if (refusal_.empty()) return;
    if (!chosen.quick) throw error(errc::refused, "", "nothing is measured: " + refusal_);
    std::cerr << "not recorded: " << refusal_ << '\n';
  }

  void run() {
    for (const std::string& file : chosen_.files) run_file(file);
    for (const std::string& name : chosen_.micros) run_micro(name);
  }

 private:
  [[nodiscard]] bool records() const noexcept { return refusal_.empty(); }

  void run_file(const std::string& file) {
    const experiment full = load_experiment(file, known_);
    if (!full.micros.empty()) return run_micros(file, full);
    const experiment what = adjusted(chosen_.quick ? quick_version(full) : full, chosen_);
    if (records() && !chosen_.json) print_heading(std::cout, what);
    std::vector<record> measured;
    run_experiment(what, known_, {chosen_.pool_directory, chosen_.quick, chosen_.seed},
                   [&](const record& one) {
                     show(one, measured);
                     measured.push_back(one);
                   });
    if (records() && !chosen_.json) print_verdicts(std::cout, what, measured);
  }

  void show(const record& one, const std::vector<record>& before) const {
    if (!records()) return;
    if (chosen_.json) {
      std::cout << to_json(one) << std::endl;
    } else {
      print_row(std::cout, one, before.empty() ? nullptr : &before.back());
    }
  }

  void run_micros(const std::string& file, const experiment& what) {
    for (const std::string& name : what.micros) {
      if (find_micro(name) == nullptr) {
        throw error(errc::bad_argument, file, "there is no micro benchmark '" + name + "'");
      }
    }
    if (records() && !chosen_.json) std::cout << what.figure << ": " << what.title << '\n';
    for (const std::string& name : what.micros) run_micro(name);
  }

  static const micro_benchmark* find_micro(const std::string& name) {
    const auto& all = micro_benchmarks();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const micro_benchmark& one) { return one.name == name; });
    return found == all.end() ? nullptr : &*found;
  }

  void run_micro(const std::string& name) {
    const micro_benchmark* const found = find_micro(name);
    if (records() && !chosen_.json) std::cout << name << ": " << found->what << '\n';
    found->run({chosen_.pool_directory, chosen_.disk_directory, chosen_.quick, chosen_.seconds,
                chosen_.repetitions, chosen_.threads},
               [&](const micro_figure& figure) { show(figure); });
    if (records() && !chosen_.json) std::cout << '\n';
  }

  void show(const micro_figure& figure) const {
    if (!records()) return;
    if (chosen_.json) {
      std::cout << micro_json(figure).dump() << std::endl;
    } else {
      std::cout << "  " << std::left << std::setw(64) << figure.subject << std::right << std::fixed
                << std::setprecision(2) << std::setw(12) << figure.value << ' ' << std::left
                << std::setw(12) << figure.unit << std::right << "spread " << figure.spread
                << judgement(figure) << std::endl;
    }
  }

  static std::string judgement(const micro_figure& figure) {
    if (!figure.goal) return "";
    const micro_goal& goal = *figure.goal;
    std::ostringstream text;
    text << (goal.reached_by(figure.value) ? "  reached" : "  MISSED") << ", wanted at "
         << (goal.at_least ? "least " : "most ") << goal.bound;
    return text.str();
  }

  static nlohmann::ordered_json micro_json(const micro_figure& figure) {
    const auto bound = [&](bool least) -> nlohmann::ordered_json {
      if (!figure.goal || figure.goal->at_least != least) return nullptr;
      return figure.goal->bound;
    };
    return {{"micro", figure.benchmark},
            {"subject", figure.subject},
            {"value", figure.value},
            {"unit", figure.unit},
            {"repetitions", figure.repetitions},
            {"spread", figure.spread},
            {"wanted_at_least", bound(true)},
            {"wanted_at_most", bound(false)},
            {"commit", build_commit()},
            {"build", build_description()},
            {"machine", machine_description()}};
  }

  const options& chosen_;
  std::string refusal_;
  registry known_ = all_combinations();
};

void list_combinations() {
  const registry known = all_combinations();
  for (const registration& entry : known.all()) {
    std::cout << entry.names.structure << "  " << entry.names.policy << "  " << entry.names.domain
              << (entry.make ? "\n" : "  (not in this build)\n");
  }
  for (const micro_benchmark& one : micro_benchmarks()) {
    std::cout << "--micro " << one.name << ": " << one.what << '\n';
  }
}

}  // namespace
}  // namespace outlast::bench

int main(int argc, char** argv) {
  try {
    const outlast::bench::parsed_options parsed = outlast::bench::parse_options(argc, argv);
    if (!parsed.chosen) return parsed.status;
    if (parsed.chosen->list) {
      outlast::bench::list_combinations();
    } else {
      outlast::bench::session(*parsed.chosen).run();
    }
    return 0;
  } catch (const std::exception& failure) {
    std::cerr << "outlast bench: " << failure.what() << '\n';
    return 1;
  }
}
