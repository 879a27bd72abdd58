#include <tests/files/operation.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>

#include <sys/stat.h>

namespace outlast::test::files {

namespace fs = std::filesystem;

void put_foreign_file(const std::string& path) { std::ofstream(path) << "theirs"; }

std::string judge_foreign_file(const std::string& path) {
  std::ifstream in(path);
  const std::string content{std::istreambuf_iterator<char>(in), {}};
  return content == "theirs" ? "" : "the file of somebody else's, " + path + ", was changed";
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> all;
  std::error_code none;
  for (const auto& each : fs::directory_iterator(directory, none)) {
    all.push_back(each.path().filename().string());
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::string judge_names(const std::string& directory, const std::vector<std::string>& wanted,
                        const std::vector<std::string>& also) {
  const std::vector<std::string> there = names_in(directory);
  const auto has = [](const std::vector<std::string>& in, const std::string& name) {
    return std::find(in.begin(), in.end(), name) != in.end();
  };
  for (const std::string& each : there) {
    if (!has(wanted, each) && !has(also, each)) return "'" + each + "' is left in " + directory;
  }
  for (const std::string& each : wanted) {
    if (!has(there, each)) return "'" + each + "' is missing in " + directory;
  }
  return {};
}

std::string judge_privacy(const std::string& directory, const std::string& part) {
  std::error_code none;
  for (const auto& each : fs::recursive_directory_iterator(directory, none)) {
    const std::string name = each.path().filename().string();
    struct stat status{};
    if (name.find(part) == std::string::npos || ::stat(each.path().c_str(), &status) != 0) continue;
    if (S_ISREG(status.st_mode) && (status.st_mode & 0077) != 0) {
      return "'" + name + "' is open to others, and what it belongs to is its owner's alone";
    }
  }
  return {};
}

}  // namespace outlast::test::files
