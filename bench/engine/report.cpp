#include <bench/engine/report.hpp>

#include <bench/engine/machine.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <ostream>

namespace outlast::bench {
namespace {

double rounded(double value) { return std::round(value * 1e4) / 1e4; }

bool same_group(const record& a, const record& b) {
  return a.names.structure == b.names.structure && a.size == b.size && a.threads == b.threads &&
         a.update_percent == b.update_percent && a.workload == b.workload;
}

bool speaks_of(const goal& wanted, const record& measured) {
  return wanted.structure == measured.names.structure && wanted.size == measured.size &&
         wanted.update_percent == measured.update_percent &&
         wanted.domain == measured.names.domain &&
         std::find(wanted.policies.begin(), wanted.policies.end(), measured.names.policy) !=
             wanted.policies.end();
}

}  // namespace

std::string to_json(const record& measured) {
  const nlohmann::ordered_json line = {
      {"figure", measured.figure},
      {"structure", measured.names.structure},
      {"policy", measured.names.policy},
      {"domain", measured.names.domain},
      {"threads", measured.threads},
      {"size", measured.size},
      {"update_percent", measured.update_percent},
      {"workload", measured.workload},
      {"mops", rounded(measured.mops)},
      {"ratio_to_transient", rounded(measured.ratio_to_transient)},
      {"flushes_per_op", rounded(measured.flushes_per_op)},
      {"fences_per_op", rounded(measured.fences_per_op)},
      {"repetitions", measured.repetitions},
      {"spread", rounded(measured.spread)},
      {"ratio_spread", rounded(measured.ratio_spread)},
      {"seconds", measured.seconds},
      {"quick", measured.quick},
      {"commit", build_commit()},
      {"build", build_description()},
      {"machine", machine_description()},
  };
  return line.dump();
}

void print_heading(std::ostream& out, const experiment& what) {
  out << what.figure << ": " << what.title << '\n'
      << std::left << std::setw(34) << "  policy" << std::setw(10) << "domain" << std::right
      << std::setw(10) << "Mops/s" << std::setw(9) << "spread" << std::setw(9) << "ratio"
      << std::setw(9) << "spread" << std::setw(12) << "flushes/op" << std::setw(11) << "fences/op"
      << '\n';
}

void print_row(std::ostream& out, const record& measured, const record* previous) {
  if (previous == nullptr || !same_group(measured, *previous)) {
    out << measured.names.structure << ", " << measured.size << " keys, " << measured.update_percent
        << " % updates, " << measured.workload << ", " << measured.threads
        << (measured.threads == 1 ? " thread\n" : " threads\n");
  }
  const auto flags = out.flags();
  out << std::left << std::setw(34) << "  " + measured.names.policy << std::setw(10)
      << measured.names.domain << std::right << std::fixed << std::setprecision(3) << std::setw(10)
      << measured.mops << std::setw(9) << measured.spread << std::setw(9)
      << measured.ratio_to_transient << std::setw(9) << measured.ratio_spread << std::setw(12)
      << measured.flushes_per_op << std::setw(11) << measured.fences_per_op << std::endl;
  out.flags(flags);
  out << std::setprecision(6);
}

std::vector<verdict> judge(const experiment& what, const std::vector<record>& measured) {
  std::vector<verdict> verdicts;
  for (const goal& wanted : what.goals) {
    for (const record& one : measured) {
      if (!speaks_of(wanted, one)) continue;
      verdicts.push_back({&wanted, one.names.policy, one.threads, one.ratio_to_transient});
    }
  }
  return verdicts;
}

void print_verdicts(std::ostream& out, const experiment& what,
                    const std::vector<record>& measured) {
  out << "Expected: " << what.expected;
  if (!what.expected.ends_with('\n')) out << '\n';
  for (const verdict& one : judge(what, measured)) {
    out << (one.reached() ? "reached  " : "MISSED   ") << one.wanted->structure << " of "
        << one.wanted->size << ", " << one.wanted->update_percent << " % updates, " << one.policy
        << " over " << one.wanted->domain << ", " << one.threads << " thread(s): " << one.measured
        << " of transient, wanted " << one.wanted->at_least << '\n';
  }
  out << '\n';
}

}  // namespace outlast::bench
