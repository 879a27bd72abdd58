// Reads the text that the demo ingests.
#include <apps/demo/corpus.hpp>
#include <apps/demo/words.hpp>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace outlast::apps::demo {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& file, const std::string& why) {
  throw std::runtime_error("corpus file " + file.string() + ": " + why);
}

std::string read_file(const fs::path& file, std::size_t max_bytes) {
  std::error_code code;
  const fs::file_status status = fs::status(file, code);
  if (!fs::exists(status)) refuse(file, "no such file");
  if (fs::is_directory(status)) refuse(file, "is a directory; name the files in it");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) refuse(file, "cannot be read: " + std::generic_category().message(errno));
  std::string text(max_bytes, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(max_bytes));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

void append(corpus& to, const fs::path& file, std::size_t max_bytes) {
  const std::string text = read_file(file, max_bytes - to.text.size());
  if (text.empty()) return;
  to.text += text;
  if (to.text.size() < max_bytes) to.text += '\n';  // no word extends into the next file
  ++to.files;
}

/// Returns the files below `folder` whose name `passes` accepts, in an order that does not depend
/// on the file system.
template <class Wanted>
std::vector<fs::path> files_below(const fs::path& folder, Wanted&& wanted) {
  std::vector<fs::path> found;
  std::error_code code;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied,
                                         code);
  for (; !code && entry != fs::recursive_directory_iterator(); entry.increment(code)) {
    if (entry->is_regular_file(code) && !entry->is_symlink(code) && wanted(entry->path())) {
      found.push_back(entry->path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool is_package_list(const fs::path& file) { return file.string().ends_with("_Packages"); }
bool is_perl_manual(const fs::path& file) { return file.extension() == ".pod"; }
bool is_copyright(const fs::path& file) { return file.filename() == "copyright"; }
bool is_anything(const fs::path&) { return true; }

std::vector<fs::path> default_files() {
  std::vector<fs::path> files{"/usr/share/dict/words", "/var/lib/dpkg/status",
                              "/var/lib/dpkg/available"};
  const auto add = [&files](const std::vector<fs::path>& more) {
    files.insert(files.end(), more.begin(), more.end());
  };
  add(files_below("/usr/share/common-licenses", is_anything));
  add(files_below("/var/lib/apt/lists", is_package_list));
  add(files_below("/usr/share/perl", is_perl_manual));
  add(files_below("/usr/share/doc", is_copyright));
  return files;
}

}  // namespace

corpus read_corpus(const std::vector<fs::path>& files, std::size_t max_bytes) {
  corpus result;
  for (const fs::path& file : files) {
    // Every file is opened, even if the text is full, because a wrong name must be an error.
    append(result, file, max_bytes);
  }
  if (!word_scanner(result.text).next()) {
    throw std::runtime_error("the corpus holds no word (a maximal run of the letters A-Z, a-z): " +
                             files.front().string() + (files.size() > 1 ? ", ..." : ""));
  }
  return result;
}

corpus read_default_corpus(std::size_t max_bytes) {
  corpus result;
  for (const fs::path& file : default_files()) {
    std::error_code code;
    if (result.text.size() < max_bytes && fs::is_regular_file(file, code)) {
      append(result, file, max_bytes);
    }
  }
  if (!word_scanner(result.text).next()) {
    throw std::runtime_error(
        "no corpus: neither /usr/share/dict/words (package wamerican) nor /var/lib/dpkg/status can "
        "be read; name text files, as in `outlast demo FILE...`");
  }
  return result;
}

}  // namespace outlast::apps::demo
