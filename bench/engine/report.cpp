#include <bench/engine/report.hpp>

#include <bench/engine/machine.hpp>
#include <bench/engine/statistics.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <optional>
#include <ostream>

namespace outlast::bench {
namespace {

double rounded(double value) { return std::round(value * 1e4) / 1e4; }

bool same_group(const record& a, const record& b) {
  return a.names.structure == b.names.structure && a.size == b.size && a.threads == b.threads &&
         a.update_percent == b.update_percent && a.workload == b.workload &&
         a.added_fence_ns == b.added_fence_ns;
}

template <class T>
bool contains(const std::vector<T>& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// `actual` is what is wanted, or nothing particular is.
template <class T>
bool fits(const std::optional<T>& wanted, const T& actual) {
  return !wanted || *wanted == actual;
}

bool speaks_of(const goal& wanted, const record& measured) {
  return fits(wanted.structure, measured.names.structure) && fits(wanted.size, measured.size) &&
         fits(wanted.update_percent, measured.update_percent) &&
         (wanted.threads.empty() || contains(wanted.threads, measured.threads)) &&
         wanted.domain == measured.names.domain && contains(wanted.policies, measured.names.policy);
}

/// The ratio that `wanted` is about; nothing if its other side was not measured.
std::optional<double> ratio_for(const goal& wanted, const record& one,
                                const std::vector<record>& measured) {
  if (wanted.against.empty()) return one.ratio_to_transient;
  for (const record& other : measured) {
    if (!same_group(one, other) || other.names.policy != wanted.against) continue;
    if (other.names.domain != one.names.domain) continue;
    return median(pairwise_ratios(one.repeated_mops, other.repeated_mops));
  }
  return std::nullopt;
}

nlohmann::ordered_json rounded_or_null(const std::optional<double>& value) {
  if (!value) return nullptr;
  return rounded(*value);
}

void print_count(std::ostream& out, int width, const std::optional<double>& count) {
  out << std::setw(width);
  if (count) {
    out << *count;
  } else {
    out << '-';
  }
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
      {"added_fence_ns", measured.added_fence_ns},
      {"twin_on_media", measured.shadow_on_media},
      {"mops", rounded(measured.mops)},
      {"ratio_to_transient", rounded(measured.ratio_to_transient)},
      {"flushes_per_op", rounded_or_null(measured.flushes_per_op)},
      {"fences_per_op", rounded_or_null(measured.fences_per_op)},
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
  out << what.figure << ": " << what.title;
  if (what.flush_instruction) out << ", flushed by " << name_of(*what.flush_instruction);
  out << '\n'
      << std::left << std::setw(34) << "  policy" << std::setw(10) << "domain" << std::right
      << std::setw(10) << "Mops/s" << std::setw(9) << "spread" << std::setw(9) << "ratio"
      << std::setw(9) << "spread" << std::setw(12) << "flushes/op" << std::setw(11) << "fences/op"
      << '\n';
}

void print_row(std::ostream& out, const record& measured, const record* previous) {
  if (previous == nullptr || !same_group(measured, *previous)) {
    out << measured.names.structure << ", " << measured.size << " keys, " << measured.update_percent
        << " % updates, " << measured.workload << ", " << measured.threads
        << (measured.threads == 1 ? " thread" : " threads");
    if (measured.added_fence_ns > 0) {
      out << ", fences " << measured.added_fence_ns << " ns slower where slowed";
    }
    if (measured.shadow_on_media) out << ", second replicas on the media";
    out << '\n';
  }
  const auto flags = out.flags();
  out << std::left << std::setw(34) << "  " + measured.names.policy << std::setw(10)
      << measured.names.domain << std::right << std::fixed << std::setprecision(3) << std::setw(10)
      << measured.mops << std::setw(9) << measured.spread << std::setw(9)
      << measured.ratio_to_transient << std::setw(9) << measured.ratio_spread;
  print_count(out, 12, measured.flushes_per_op);
  print_count(out, 11, measured.fences_per_op);
  out << std::endl;
  out.flags(flags);
  out << std::setprecision(6);
}

std::vector<verdict> judge(const experiment& what, const std::vector<record>& measured) {
  std::vector<verdict> verdicts;
  for (const goal& wanted : what.goals) {
    for (const record& one : measured) {
      if (!speaks_of(wanted, one)) continue;
      const std::optional<double> ratio = ratio_for(wanted, one, measured);
      if (ratio) verdicts.push_back({&wanted, &one, *ratio});
    }
  }
  return verdicts;
}

void print_verdicts(std::ostream& out, const experiment& what,
                    const std::vector<record>& measured) {
  out << "Expected: " << what.expected;
  if (!what.expected.ends_with('\n')) out << '\n';
  for (const verdict& one : judge(what, measured)) {
    const record& at = *one.at;
    const std::string& against = one.wanted->against;
    out << (one.reached() ? "reached  " : "MISSED   ") << at.names.structure << " of " << at.size
        << ", " << at.update_percent << " % updates, " << at.names.policy << " over "
        << at.names.domain << ", " << at.threads << " thread(s): " << one.measured << " of "
        << (against.empty() ? std::string(twin_policy) : against) << ", wanted "
        << one.wanted->at_least << '\n';
  }
  out << '\n';
}

}  // namespace outlast::bench
