// Prints the demo's results as a table or as JSON.
#include <apps/demo/report.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

namespace outlast::apps::demo {
namespace {

using row = std::vector<std::string>;

/// Returns `value` with `digits` decimals, or a dash if it was not measured.
std::string number(double value, int digits) {
  if (value < 0) return "-";
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

std::string grouped(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ' ');
  return digits;
}

row row_of(const outcome& result) {
  return {result.who.policy,
          std::string(result.who.domain),
          grouped(result.kills),
          grouped(result.acknowledged),
          grouped(result.checked.lost + result.checked.wrong),
          number(result.recovery_ms, 1) + " ms",
          number(result.measured.mops, 2),
          number(result.measured.ratio_to_transient, 2),
          number(result.measured.flushes_per_op, 3),
          number(result.measured.fences_per_op, 3)};
}

void print_rows(std::ostream& out, const std::vector<row>& rows) {
  constexpr std::size_t left_aligned = 2;
  for (const row& cells : rows) {
    for (std::size_t column = 0; column < cells.size(); ++column) {
      std::size_t width = 0;
      for (const row& other : rows) width = std::max(width, other[column].size());
      out << (column == 0 ? "" : "  ") << (column < left_aligned ? std::left : std::right)
          << std::setw(static_cast<int>(width)) << cells[column];
    }
    out << '\n';
  }
}

nlohmann::ordered_json optional_number(double value) {
  return value < 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(value);
}

}  // namespace

void print_table(std::ostream& out, std::span<const outcome> outcomes) {
  std::vector<row> rows{{"policy", "domain", "kills", "acknowledged", "lost", "recovery",
                         "Mwords/s", "of transient", "flushes/word", "fences/word"}};
  for (const outcome& result : outcomes) rows.push_back(row_of(result));
  print_rows(out, rows);
  out << "lost: acknowledged updates that were missing or wrong after a kill or at the end.\n"
         "recovery: median time from opening the pool to a usable table.\n"
         "of transient: throughput as a fraction of that of the same table without durability.\n"
         "flushes, fences: counted under domain adr, for every row.\n";
}

void print_json(std::ostream& out, const outcome& result, std::uint32_t threads) {
  const nlohmann::ordered_json object{
      {"policy", result.who.policy},
      {"domain", result.who.domain},
      {"threads", threads},
      {"kills", result.kills},
      {"acknowledged", result.acknowledged},
      {"lost", result.checked.lost},
      {"wrong", result.checked.wrong},
      {"recovery_ms", result.recovery_ms},
      {"mops", result.measured.mops},
      {"ratio_to_transient", result.measured.ratio_to_transient},
      {"flushes_per_op", optional_number(result.measured.flushes_per_op)},
      {"fences_per_op", optional_number(result.measured.fences_per_op)},
      {"counted_domain", "adr"},
  };
  out << object.dump() << std::endl;
}

}  // namespace outlast::apps::demo
