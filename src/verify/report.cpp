#include <outlast/verify/report.hpp>

#include <sstream>

namespace outlast::verify {

std::string to_text(const failure& found) {
  std::ostringstream out;
  out << found.what << '\n';
  out << "  scenario " << found.seed << ", execution " << found.execution << '\n';
  out << "  schedule: " << to_text(found.decisions) << '\n';
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
      << " checked, " << done.nested_checked << " of them nested, " << done.sites << " sites, "
      << done.seconds << " s: " << (done.found ? "FAILED" : "no violation");
  return out.str();
}

}  // namespace outlast::verify
