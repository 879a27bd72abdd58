#include <tests/files/kept_change.hpp>
#include <tests/files/system_calls.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace outlast::test::files {
namespace {

namespace fs = std::filesystem;

std::string parent_of(const std::string& path) {
  const fs::path trimmed = path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
  return trimmed.parent_path().string();
}

bool exists(const std::string& path) { return identity_of(path).has_value(); }

/// Another name for the file, by which it stays. "" if there is none.
std::string keep(const std::string& path, const std::string& kept) {
  static unsigned number = 0;
  const std::string name = kept + "/" + std::to_string(::getpid()) + "-" + std::to_string(number++);
  return system_calls::link(path.c_str(), name.c_str()) == 0 ? name : std::string();
}

}  // namespace

std::optional<identity> identity_of(const std::string& path) {
  struct stat status{};
  if (system_calls::stat(path.c_str(), &status) != 0) return std::nullopt;
  return identity{status.st_dev, status.st_ino};
}

std::optional<identity> identity_of(int descriptor) {
  struct stat status{};
  if (system_calls::fstat(descriptor, &status) != 0) return std::nullopt;
  return identity{status.st_dev, status.st_ino};
}

kept_change kept_change::of_new_name(const std::string& path) {
  kept_change made;
  made.cover_ = identity_of(parent_of(path));
  const auto mine = std::make_shared<std::optional<identity>>();
  made.done_ = [=] { *mine = identity_of(path); };
  made.take_back_ = [=] {
    if (mine->has_value() && identity_of(path) == *mine) system_calls::unlink(path.c_str());
  };
  return made;
}

kept_change kept_change::of_removal(const std::string& path, const std::string& kept) {
  kept_change made;
  made.cover_ = identity_of(parent_of(path));
  const std::string saved = keep(path, kept);
  made.take_back_ = [=] {
    if (!saved.empty() && !exists(path)) system_calls::link(saved.c_str(), path.c_str());
  };
  return made;
}

kept_change kept_change::of_rename(const std::string& from, const std::string& to,
                                   const std::string& kept) {
  kept_change made;
  made.cover_ = identity_of(parent_of(to));
  const std::string moved = keep(from, kept);
  const std::string replaced = keep(to, kept);
  made.take_back_ = [=] {
    if (moved.empty()) return;
    if (identity_of(to) == identity_of(moved)) {
      system_calls::unlink(to.c_str());
      if (!replaced.empty()) system_calls::link(replaced.c_str(), to.c_str());
    }
    if (!exists(from)) system_calls::link(moved.c_str(), from.c_str());
  };
  return made;
}

kept_change kept_change::of_new_directory(const std::string& path) {
  kept_change made;
  made.cover_ = identity_of(parent_of(path));
  made.take_back_ = [=] { fs::remove_all(path); };
  return made;
}

kept_change kept_change::of_removed_directory(const std::string& path) {
  kept_change made;
  made.cover_ = identity_of(parent_of(path));
  made.take_back_ = [=] { system_calls::mkdir(path.c_str(), 0755); };
  return made;
}

kept_change kept_change::of_data(int descriptor, std::uint64_t offset, std::size_t size) {
  kept_change made;
  made.cover_ = identity_of(descriptor);
  // A descriptor that reads and writes, whatever the caller's does; it lasts as long as the
  // process.
  const std::string self = "/proc/self/fd/" + std::to_string(descriptor);
  made.file_ = system_calls::open(self.c_str(), O_RDWR | O_CLOEXEC, 0);
  if (made.file_ < 0) return made;
  struct stat status{};
  system_calls::fstat(made.file_, &status);
  made.offset_ = offset;
  made.length_ = static_cast<std::uint64_t>(status.st_size);
  made.old_.resize(size);  // zeros: what was beyond the file's end
  if (size != 0) {
    static_cast<void>(
        !system_calls::pread(made.file_, made.old_.data(), size, static_cast<off_t>(offset)));
  }
  return made;
}

void kept_change::done() {
  if (done_) done_();
}

void kept_change::note_write(const identity& file, std::uint64_t offset, std::size_t size) {
  if (file_ >= 0 && cover_ == file) later_.emplace_back(offset, offset + size);
}

void kept_change::take_back() {
  if (take_back_) take_back_();
  if (file_ >= 0) restore_data();
}

std::vector<kept_change::piece> kept_change::pieces_to_restore(std::uint64_t begin,
                                                               std::uint64_t end) const {
  std::vector<piece> left{{begin, end}};
  for (const auto& [from, to] : later_) {
    std::vector<piece> rest;
    for (const auto& [first, last] : left) {
      if (first < std::min(last, from)) rest.emplace_back(first, std::min(last, from));
      if (std::max(first, to) < last) rest.emplace_back(std::max(first, to), last);
    }
    left = std::move(rest);
  }
  return left;
}

void kept_change::restore_data() const {
  for (const auto& [first, last] : pieces_to_restore(offset_, offset_ + old_.size())) {
    static_cast<void>(!system_calls::pwrite(file_, old_.data() + (first - offset_), last - first,
                                            static_cast<off_t>(first)));
  }
  // What was written later reached the device, and its length with it.
  std::uint64_t length = length_;
  for (const auto& [from, to] : later_) length = std::max(length, to);
  struct stat status{};
  system_calls::fstat(file_, &status);
  if (static_cast<std::uint64_t>(status.st_size) > length) {
    static_cast<void>(!system_calls::ftruncate(file_, static_cast<off_t>(length)));
  }
}

}  // namespace outlast::test::files
