#include <apps/server/log.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace outlast::apps {

std::FILE* log::open(const std::string& path) { return std::fopen(path.c_str(), "ae"); }

log::log(std::string path) : path_(std::move(path)), file_(stderr) {
  if (path_.empty()) return;
  file_ = open(path_);
  if (file_ == nullptr) {
    throw std::runtime_error("the log " + path_ +
                             " cannot be opened: " + std::generic_category().message(errno));
  }
}

log::~log() {
  if (file_ != stderr) std::fclose(file_);
}

void log::add(const std::string& line) noexcept {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  const std::lock_guard lock(mutex_);
  std::fprintf(file_, "%s %s\n", text.data(), line.c_str());
  std::fflush(file_);
}

std::string log::reopen() {
  if (path_.empty()) return {};
  std::FILE* const fresh = open(path_);
  if (fresh == nullptr) {
    return "the log " + path_ + " cannot be opened: " + std::generic_category().message(errno);
  }
  const std::lock_guard lock(mutex_);
  std::fclose(file_);
  file_ = fresh;
  return {};
}

}  // namespace outlast::apps
