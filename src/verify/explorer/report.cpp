// The text of reports and failures.
#include <outlast/verify/explorer/report.hpp>

#include <outlast/base/error.hpp>

#include <sstream>

namespace outlast::verify {

std::string to_text(const std::vector<operation_place>& places) {
  std::string text;
  for (const operation_place& at : places) {
    if (!text.empty()) text += ' ';
    text += std::to_string(at.thread) + '.' + std::to_string(at.operation);
  }
  return text;
}

std::vector<operation_place> operations_from_text(const std::string& text) {
  std::vector<operation_place> places;
  std::istringstream in(text);
  unsigned thread = 0;
  unsigned operation = 0;
  char dot = 0;
  while (in >> thread >> dot >> operation && dot == '.' && thread < 256 && operation < 256) {
    places.push_back({static_cast<std::uint8_t>(thread), static_cast<std::uint8_t>(operation)});
  }
  if (in.eof() && to_text(places).size() == text.size()) return places;
  throw error(errc::bad_argument, "", "operations read like \"0.2 1.0\", not \"" + text + '"');
}

std::string to_text(const failure& found) {
  std::ostringstream out;
  out << found.what << '\n';
  out << "  scenario " << found.seed << ", execution " << found.execution << '\n';
  out << "  schedule: " << to_text(found.decisions) << '\n';
  if (!found.without.empty()) out << "  without operations: " << to_text(found.without) << '\n';
  out << "  history:\n";
  for (const std::string& line : found.history) out << "    " << line << '\n';
  for (const std::string& crash : found.crashes) out << crash;
  out << "  replay: " << found.replay << '\n';
  return out.str();
}

std::string to_text(const report& done) {
  std::ostringstream out;
  out << done.structure << ' ' << done.policy << ' ' << done.model << ": " << done.executions
      << " executions, " << done.crash_images << " crash images, " << done.images_checked
      << " checked, " << done.nested_checked << " of them nested, " << done.kills_checked
      << " kills, " << done.sites << " sites, " << done.seconds << " s: "
      << (done.found       ? "FAILED"
          : done.exhausted ? "exhausted, no violation"
                           : "no violation");
  return out.str();
}

}  // namespace outlast::verify
