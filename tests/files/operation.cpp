#include <tests/files/operation.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>

#include <sys/stat.h>

namespace outlast::test::files {

namespace fs = std::filesystem;

void put_foreign_file(const std::string& path) { std::ofstream(path) << "theirs"; }

std::string check_foreign_file(const std::string& path) {
  std::ifstream in(path);
  const std::string content{std::istreambuf_iterator<char>(in), {}};
  return content == "theirs" ? "" : "the foreign file " + path + " was changed";
}

namespace {
std::string names_of_foreign(const std::string& root) { return root + ".foreign"; }
}  // namespace

std::string moved_to(const std::string& root) { return root + ".moved"; }

void move_away(const std::string& root) {
  const fs::path from = moved_to(root);
  fs::rename(root, from);
  fs::create_directory(root);
  std::ofstream made(names_of_foreign(root));
  for (const auto& each : fs::recursive_directory_iterator(from)) {
    const fs::path to = root / each.path().lexically_relative(from);
    if (each.is_directory()) {
      fs::create_directory(to);
    } else {
      put_foreign_file(to.string());
      made << to.string() << '\n';
    }
  }
}

std::string check_foreign_files(const std::string& root) {
  std::ifstream made(names_of_foreign(root));
  for (std::string path; std::getline(made, path);) {
    std::string wrong = check_foreign_file(path);
    if (!wrong.empty()) return wrong;
  }
  return {};
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

std::string check_names(const std::string& directory, const std::vector<std::string>& wanted,
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

std::string check_privacy(const std::string& directory, const std::string& part) {
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
